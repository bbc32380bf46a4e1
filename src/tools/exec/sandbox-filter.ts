/**
 * System calls that a sandboxed program may not make, as a seccomp filter (classic BPF, seccomp(2)) for bwrap's
 * `--seccomp`. Namespaces stop most of them; the filter also keeps the kernel code behind them out of reach.
 */
import { endianness } from 'node:os';

/** A processor the filter is written for, under Node's name (`process.arch`). */
export type FilteredArch = 'x64' | 'arm64';

const EPERM = 1;

/** Makes libraries fall back to an older way: `clone` for `clone3`, a file in /tmp for `memfd_create`. */
const ENOSYS = 38;

/** Calls that fail with EPERM: `name number-on-x64 number-on-arm64`; `-` if the CPU has no such call. */
const REFUSED = [
  // Other processes' memory and files.
  'ptrace 101 117, process_vm_readv 310 270, process_vm_writev 311 271, process_madvise 440 440',
  'kcmp 312 272, pidfd_getfd 438 438',
  // Mounts and namespaces; for `clone`, its arguments decide.
  'mount 165 40, umount2 166 39, pivot_root 155 41, chroot 161 51, open_tree 428 428',
  'move_mount 429 429, fsopen 430 430, fsconfig 431 431, fsmount 432 432, fspick 433 433',
  'mount_setattr 442 442, unshare 272 97, setns 308 268, name_to_handle_at 303 264',
  'open_by_handle_at 304 265, fanotify_init 300 262',
  // Large and often broken parts of the kernel.
  'bpf 321 280, perf_event_open 298 241, userfaultfd 323 282, io_uring_setup 425 425',
  'io_uring_enter 426 426, io_uring_register 427 427, add_key 248 217, request_key 249 218',
  'keyctl 250 219, vmsplice 278 75, move_pages 279 239, migrate_pages 256 238, modify_ldt 154 -',
  'lookup_dcookie 212 18, quotactl 179 60, quotactl_fd 443 443, uselib 134 -, ustat 136 -',
  'sysfs 139 -, nfsservctl 180 42',
  // The machine itself.
  'kexec_load 246 104, kexec_file_load 320 294, reboot 169 142, init_module 175 105',
  'finit_module 313 273, delete_module 176 106, swapon 167 224, swapoff 168 225, acct 163 89',
  'syslog 103 116, settimeofday 164 170, clock_settime 227 112, clock_adjtime 305 266',
  'sethostname 170 161, setdomainname 171 162, iopl 172 -, ioperm 173 -, vhangup 153 58',
];

/** Calls that fail with ENOSYS: memory that no process limit or tmpfs counts, and flags that no filter can read. */
const MISSING = [
  'clone3 435 435, memfd_create 319 279, memfd_secret 447 447, shmget 29 194, msgget 68 186',
  'semget 64 190',
];

/** True if a filter can be built; elsewhere no program runs. */
export function isFiltered(arch: string): arch is FilteredArch {
  return (arch === 'x64' || arch === 'arm64') && endianness() === 'LE';
}

/** Numbers of `seccomp_data.arch` (linux/audit.h). */
const AUDIT_ARCH: Readonly<Record<FilteredArch, number>> = { x64: 0xc000003e, arm64: 0xc00000b7 };

const EAFNOSUPPORT = 97;

/** CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET. */
const NEW_NAMESPACE = 0x7e020000;
/** A program that hides its memory and files from the gateway cannot be measured. */
const PR_SET_DUMPABLE = 4;
/** Types text into a terminal; TIOCLINUX does as much on a console. */
const TIOCSTI = 0x5412;
const TIOCLINUX = 0x541c;
/** AF_UNIX, AF_INET, AF_INET6, AF_NETLINK: others, such as AF_VSOCK, ignore network namespaces or are rarely reviewed. */
const SOCKET_FAMILIES = [1, 2, 10, 16];

/** One `struct sock_filter`. */
type Instruction = readonly [code: number, jt: number, jf: number, k: number];

const load = (offset: number): Instruction => [0x20, 0, 0, offset];
const jumpIfEqual = (k: number, jt: number, jf: number): Instruction => [0x15, jt, jf, k];
const jumpIfAtLeast = (k: number, jt: number, jf: number): Instruction => [0x35, jt, jf, k];
const jumpIfAnyBit = (k: number, jt: number, jf: number): Instruction => [0x45, jt, jf, k];
const answer = (k: number): Instruction => [0x06, 0, 0, k];

const ALLOW = answer(0x7fff0000);
const KILL = answer(0x80000000);
const fail = (errno: number): Instruction => answer(0x00050000 | errno);

/** Offsets in `struct seccomp_data`; for an argument the lower 32 bits, which are all that these calls use. */
const NR = 0;
const ARCH = 4;
const argument = (n: number): number => 16 + 8 * n;

/** The program, as bwrap reads it. A call of another architecture's table ends the process. */
export function seccompProgram(arch: FilteredArch): Buffer {
  /** Examines an argument of one call; `checks` end in a verdict. */
  const looking = (number: number, at: number, checks: readonly Instruction[]): Instruction[] => [
    jumpIfEqual(number, 0, checks.length + 1),
    load(argument(at)),
    ...checks,
  ];
  const of = (x64: number, arm64: number): number => (arch === 'x64' ? x64 : arm64);
  const program = [
    load(ARCH),
    jumpIfEqual(AUDIT_ARCH[arch], 1, 0),
    KILL,
    load(NR),
    // The x32 table shares the architecture's number with x64.
    ...(arch === 'x64' ? [jumpIfAtLeast(0x40000000, 0, 1), fail(ENOSYS)] : []),
    ...refusedCalls(arch).flatMap(({ number, errno }) => [jumpIfEqual(number, 0, 1), fail(errno)]),
    ...looking(of(56, 220), 0, [jumpIfAnyBit(NEW_NAMESPACE, 0, 1), fail(EPERM), ALLOW]),
    ...looking(of(157, 167), 0, [jumpIfEqual(PR_SET_DUMPABLE, 0, 1), fail(EPERM), ALLOW]),
    ...looking(of(16, 29), 1, [jumpIfEqual(TIOCSTI, 1, 0), jumpIfEqual(TIOCLINUX, 0, 1), fail(EPERM), ALLOW]),
    ...looking(of(41, 198), 0, [
      ...SOCKET_FAMILIES.map((family, at) => jumpIfEqual(family, SOCKET_FAMILIES.length - at, 0)),
      fail(EAFNOSUPPORT),
      ALLOW,
    ]),
    ALLOW,
  ];
  const bytes = Buffer.alloc(program.length * 8);
  for (const [at, [code, jt, jf, k]] of program.entries()) {
    bytes.writeUInt16LE(code, at * 8);
    bytes.writeUInt8(jt, at * 8 + 2);
    bytes.writeUInt8(jf, at * 8 + 3);
    bytes.writeUInt32LE(k, at * 8 + 4);
  }
  return bytes;
}

/** The calls that always fail on a processor, by their number there, and what they fail with. */
export function refusedCalls(arch: FilteredArch): { name: string; number: number; errno: number }[] {
  const failing = (lines: readonly string[], errno: number) =>
    lines.flatMap((line) =>
      line.split(', ').flatMap((call) => {
        const [name = '', x64 = '-', arm64 = '-'] = call.split(' ');
        const number = arch === 'x64' ? x64 : arm64;
        return number === '-' ? [] : [{ name, number: Number(number), errno }];
      }),
    );
  return [...failing(REFUSED, EPERM), ...failing(MISSING, ENOSYS)];
}
