/** What the sandbox shows of the machine, and which system calls it allows. */
import { rm, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { readableFolderOf, readableFolders } from '../../../src/tools/exec/sandbox-run.ts';
import {
  type FilteredArch,
  isFiltered,
  refusedCalls,
  seccompProgram,
} from '../../../src/tools/exec/sandbox-filter.ts';
import { failedProbes } from '../../../src/tools/exec/sandbox.ts';
import { execFixture, runIn, sandboxOf } from './as-nobody.ts';
import { needs } from '../../runs/needs.ts';

const fixture = execFixture();

const exec = async (command: string): Promise<string> =>
  (await runIn(fixture.sandbox, fixture.workspace, { command })).content;

describe('the places of the gateway', () => {
  it.each(['/usr/local/lib/parley/.parley', '/usr/share/parley', '/usr/bin'])(
    'are not below a folder that programs can read: %s',
    async (home) => {
      const sandbox = sandboxOf(fixture, { home });
      await expect(runIn(sandbox, fixture.workspace, { command: 'true' })).rejects.toThrow(
        new RegExp(`${home} lies in /usr/.* move it, and GATEWAY_HOME, to a folder such as /srv/parley`),
      );
    },
  );

  it('are followed through links', async () => {
    const link = path.join(fixture.home, 'link');
    await symlink('/usr/share', link);
    onTestFinished(() => rm(link));
    const sandbox = sandboxOf(fixture, { hidden: [path.join(link, 'not', 'there')] });
    await expect(runIn(sandbox, fixture.workspace, { command: 'true' })).rejects.toThrow('can read');
    expect(readableFolderOf('/usr/sharepoint')).toBeUndefined();
    expect(readableFolderOf('/usr/src/parley')).toBeUndefined();
    expect(readableFolderOf('/usr/local/src/parley')).toBeUndefined();
    expect(readableFolderOf('/srv/parley')).toBeUndefined();
  });

  it('are not shown: only the program folders of /usr are', needs('bubblewrap'), async () => {
    const shown = await exec('ls -d /usr/* /usr/local/*');
    expect(shown).toContain('/usr/bin');
    const folders = (shown.match(/^\/usr\/.*$/gm) ?? []).filter((folder) => folder !== '/usr/local');
    expect(readableFolders()).toEqual(expect.arrayContaining(folders));
    expect(await exec('ls /usr/src /usr/local/src 2>&1')).not.toContain('parley');
  });

  it('stay unknown: no command line inside contains the home', needs('bubblewrap'), async () => {
    expect(await exec("tr '\\0' ' ' < /proc/1/cmdline; cat /proc/*/cmdline")).not.toContain(fixture.home);
  });

  it('fail the self-test when a program can see them', async () => {
    const probes = await passingProbes();
    expect(failedProbes(probes)).toEqual([]);
    const changed = (name: string, value: string): string =>
      probes.replace(new RegExp(`^${name}=.*$`, 'm'), `${name}=${value}`);
    for (const [name, value] of [
      ['homes', '/srv/parley '],
      ['mounts', '/usr/share/x/.canary-1 '],
      ['writable', '/dev'],
      ['shared', '20971520'],
      ['filter', '0'],
      ['command', '/srv/parley/.parley/workspace'],
    ] as const)
      expect(failedProbes(changed(name, value))).toEqual([name]);
  });

  it('are found by the canary, whatever bubblewrap was told to bind', needs('bubblewrap'), async () => {
    // A bubblewrap that also shows the home, in a separate place.
    const leaky = path.join(fixture.home, 'leaky-bwrap');
    const bind = `--ro-bind ${fixture.home} /usr/share/misc`;
    await writeFile(
      leaky,
      `#!/bin/sh\nwhile [ "$1" != -- ]; do a="$a $1"; shift; done\nexec /usr/bin/bwrap $a ${bind} "$@"\n`,
      { mode: 0o700 },
    );
    onTestFinished(() => rm(leaky));
    const sandbox = sandboxOf(fixture, { bwrap: leaky });
    await expect(runIn(sandbox, fixture.workspace, { command: 'true' })).rejects.toThrow(
      /does not hold.*mounts/,
    );
  });
});

/** What the probes print when everything holds. */
async function passingProbes(): Promise<string> {
  const names = failedProbes('');
  const values: Record<string, string> = {
    filter: '2',
    processes: '64',
    shared: '16777216',
    root: 'bin usr work ',
  };
  return names.map((name) => `${name}=${values[name] ?? ''}`).join('\n');
}

describe('the filter of system calls', () => {
  const arch = process.arch;
  const calls = isFiltered(arch) ? refusedCalls(arch) : [];

  it('refuses every call of its list inside the sandbox', needs('bubblewrap'), async () => {
    const script = calls.map(
      ({ name, number }) => `$! = 0; syscall(${number}, 0, 0, 0, 0, 0, 0); print "${name}=", $!+0, "\\n";`,
    );
    await writeFile(path.join(fixture.workspace, 'calls.pl'), script.join('\n'));
    const printed = await exec('perl calls.pl');
    const seen = Object.fromEntries(
      [...printed.matchAll(/^(\w+)=(\d+)$/gm)].map(([, name, errno]) => [name, Number(errno)]),
    );
    expect(Object.keys(seen)).toHaveLength(calls.length);
    expect(calls.filter(({ name, errno }) => seen[name] !== errno)).toEqual([]);
    expect(seen['ptrace']).toBe(1);
    expect(seen['memfd_create']).toBe(38);
    expect(seen['shmget']).toBe(38);
  });

  it.runIf(arch === 'x64')(
    'checks the arguments of the calls that programs need',
    needs('bubblewrap'),
    async () => {
      const attempts: Record<string, string> = {
        vsock: 'syscall(41, 40, 1, 0)',
        inet: 'syscall(41, 2, 1, 0)',
        user_namespace: 'syscall(56, 0x10000011, 0, 0, 0, 0)',
        typing: 'my $c = "x"; syscall(16, 0, 0x5412, $c)',
        hiding: 'syscall(157, 4, 0, 0, 0, 0)',
        naming: 'my $n = "name\\0"; syscall(157, 15, $n, 0, 0, 0)',
        x32: 'syscall(0x40000000 + 39)',
      };
      const script = Object.entries(attempts).map(
        ([name, call]) => `$! = 0; { ${call}; } print "${name}=", $!+0, "\\n";`,
      );
      await writeFile(path.join(fixture.workspace, 'arguments.pl'), script.join('\n'));
      expect((await exec('perl arguments.pl')).trim().split('\n').slice(0, -1)).toEqual([
        'vsock=97',
        'inet=0',
        'user_namespace=1',
        'typing=1',
        'hiding=1',
        'naming=0',
        'x32=38',
      ]);
    },
  );

  it('allows what programs need: threads, pipes, processes, files', needs('bubblewrap'), async () => {
    const script =
      'mkdir d && echo text > d/f && cat d/f | sort | perl -ne "print uc" && (sleep 0 & wait) && rm -r d';
    expect(await exec(script)).toBe('TEXT\n(exit 0)');
  });

  const AUDIT: Record<FilteredArch, number> = { x64: 0xc000003e, arm64: 0xc00000b7 };

  it.each(['x64', 'arm64'] as const)('decides as documented on %s', (on) => {
    const program = seccompProgram(on);
    const decide = (nr: number, args: number[] = [], audit = AUDIT[on]): string =>
      verdict(program, nr, args, audit);
    const passing = refusedCalls(on).filter(({ number, errno }) => decide(number) !== `errno ${errno}`);
    expect(passing).toEqual([]);
    const of = (x64: number, arm64: number): number => (on === 'x64' ? x64 : arm64);
    const [clone, prctl, ioctl, socket] = [of(56, 220), of(157, 167), of(16, 29), of(41, 198)] as const;
    for (const flag of [0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000])
      expect(decide(clone, [flag | 17])).toBe('errno 1');
    expect(decide(clone, [0x1200011])).toBe('allow');
    expect(decide(prctl, [4])).toBe('errno 1');
    expect(decide(prctl, [15])).toBe('allow');
    expect([0x5412, 0x541c, 0x5401].map((request) => decide(ioctl, [0, request]))).toEqual([
      'errno 1',
      'errno 1',
      'allow',
    ]);
    const families = Array.from({ length: 46 }, (_, family) => family);
    expect(families.filter((family) => decide(socket, [family]) === 'allow')).toEqual([1, 2, 10, 16]);
    expect(decide(socket, [40])).toBe('errno 97');
    expect(decide(of(0, 63))).toBe('allow');
    expect(decide(of(0, 63), [], AUDIT[on] + 1)).toBe('kill');
  });
});

/** Runs the program the way the kernel would (classic BPF over `struct seccomp_data`). */
function verdict(program: Buffer, nr: number, args: readonly number[], audit: number): string {
  const data = new Map([
    [0, nr],
    [4, audit],
    ...[0, 1, 2].map((at) => [16 + 8 * at, (args[at] ?? 0) >>> 0] as const),
  ]);
  let loaded = 0;
  for (let at = 0; at * 8 < program.length; at += 1) {
    const [code, jt, jf, k] = [
      program.readUInt16LE(at * 8),
      program.readUInt8(at * 8 + 2),
      program.readUInt8(at * 8 + 3),
      program.readUInt32LE(at * 8 + 4),
    ];
    if (code === 0x20) loaded = data.get(k) ?? Number.NaN;
    else if (code === 0x06) return answerOf(k);
    else if (code === 0x15) at += loaded === k ? jt : jf;
    else if (code === 0x35) at += loaded >= k ? jt : jf;
    else if (code === 0x45) at += (loaded & k) !== 0 ? jt : jf;
    else throw new Error(`an instruction of code ${code}`);
  }
  throw new Error('the program ends without an answer');
}

function answerOf(k: number): string {
  if (k === 0x7fff0000) return 'allow';
  if (k === 0x80000000) return 'kill';
  return k >>> 16 === 5 ? `errno ${k & 0xffff}` : `answer ${k}`;
}
