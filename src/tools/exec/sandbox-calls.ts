/** The system calls that always fail in the sandbox, whatever their arguments are. */

/** A processor the filter is written for, under Node's name (`process.arch`). */
export type FilteredArch = 'x64' | 'arm64';

export const EPERM = 1;
/** Makes libraries fall back to an older way: `clone` for `clone3`, a file in /tmp for `memfd_create`. */
export const ENOSYS = 38;

/** `[name, number on x64, number on arm64]`; undefined if the processor has no such call. */
type Call = readonly [name: string, x64: number | undefined, arm64: number | undefined];

/** Calls that fail with EPERM. */
const REFUSED: readonly Call[] = [
  // Other processes' memory and files.
  ['ptrace', 101, 117],
  ['process_vm_readv', 310, 270],
  ['process_vm_writev', 311, 271],
  ['process_madvise', 440, 440],
  ['kcmp', 312, 272],
  ['pidfd_getfd', 438, 438],
  // Mounts and namespaces; for `clone`, its arguments decide.
  ['mount', 165, 40],
  ['umount2', 166, 39],
  ['pivot_root', 155, 41],
  ['chroot', 161, 51],
  ['open_tree', 428, 428],
  ['move_mount', 429, 429],
  ['fsopen', 430, 430],
  ['fsconfig', 431, 431],
  ['fsmount', 432, 432],
  ['fspick', 433, 433],
  ['mount_setattr', 442, 442],
  ['unshare', 272, 97],
  ['setns', 308, 268],
  ['name_to_handle_at', 303, 264],
  ['open_by_handle_at', 304, 265],
  ['fanotify_init', 300, 262],
  // Large and often broken parts of the kernel.
  ['bpf', 321, 280],
  ['perf_event_open', 298, 241],
  ['userfaultfd', 323, 282],
  ['io_uring_setup', 425, 425],
  ['io_uring_enter', 426, 426],
  ['io_uring_register', 427, 427],
  ['add_key', 248, 217],
  ['request_key', 249, 218],
  ['keyctl', 250, 219],
  ['vmsplice', 278, 75],
  ['move_pages', 279, 239],
  ['migrate_pages', 256, 238],
  ['modify_ldt', 154, undefined],
  ['lookup_dcookie', 212, 18],
  ['quotactl', 179, 60],
  ['quotactl_fd', 443, 443],
  ['uselib', 134, undefined],
  ['ustat', 136, undefined],
  ['sysfs', 139, undefined],
  ['nfsservctl', 180, 42],
  // The machine itself.
  ['kexec_load', 246, 104],
  ['kexec_file_load', 320, 294],
  ['reboot', 169, 142],
  ['init_module', 175, 105],
  ['finit_module', 313, 273],
  ['delete_module', 176, 106],
  ['swapon', 167, 224],
  ['swapoff', 168, 225],
  ['acct', 163, 89],
  ['syslog', 103, 116],
  ['settimeofday', 164, 170],
  ['clock_settime', 227, 112],
  ['clock_adjtime', 305, 266],
  ['sethostname', 170, 161],
  ['setdomainname', 171, 162],
  ['iopl', 172, undefined],
  ['ioperm', 173, undefined],
  ['vhangup', 153, 58],
];

/**
 * Calls that fail with ENOSYS: memory that neither a process limit nor a tmpfs counts, and flags no filter can read.
 */
const MISSING: readonly Call[] = [
  ['clone3', 435, 435],
  ['memfd_create', 319, 279],
  ['memfd_secret', 447, 447],
  ['shmget', 29, 194],
  ['msgget', 68, 186],
  ['semget', 64, 190],
];

/** A call that always fails. */
interface RefusedCall {
  name: string;
  /** On the processor that was asked for. */
  number: number;
  /** What it fails with. */
  errno: number;
}

/** The calls that always fail on a processor. */
export function refusedCalls(arch: FilteredArch): RefusedCall[] {
  const failing = (calls: readonly Call[], errno: number): RefusedCall[] =>
    calls.flatMap(([name, x64, arm64]) => {
      const number = arch === 'x64' ? x64 : arm64;
      return number === undefined ? [] : [{ name, number, errno }];
    });
  return [...failing(REFUSED, EPERM), ...failing(MISSING, ENOSYS)];
}
