/**
 * The system calls a program in the sandbox may not make, as a seccomp program (classic BPF, seccomp(2)) for bwrap's
 * `--seccomp`. Namespaces and missing rights already stop most of them; the filter also makes the kernel code behind
 * them unreachable.
 */
import { endianness } from 'node:os';
import { ENOSYS, EPERM, type FilteredArch, refusedCalls } from './sandbox-calls.ts';

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
/**
 * AF_UNIX, AF_INET, AF_INET6, AF_NETLINK: all others, such as AF_VSOCK, ignore network namespaces or are rarely
 * reviewed.
 */
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
