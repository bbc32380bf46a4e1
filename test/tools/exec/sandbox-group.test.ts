/** The control group of a run, in a folder that stands for the kernel's hierarchy. */
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { groupsFolder, MAX_PROCESSES, openRunGroup } from '../../../src/tools/exec/sandbox-group.ts';
import { RUN_LIMITS } from '../../../src/tools/exec/sandbox-watch.ts';
import { execFixture, makeWorkspace, runIn, sandboxOf } from './as-nobody.ts';
import { needs } from '../../runs/needs.ts';

const MIB = 1024 * 1024;
const fixture = execFixture();

/** A folder in which groups can be created; what is written into a group stays readable. */
const delegated = (): Promise<string> => mkdtemp(path.join(fixture.home, 'groups-'));

/** The files of the only group in a folder. */
async function groupIn(folder: string): Promise<Record<string, string>> {
  const [name = ''] = await readdir(folder);
  const files = await readdir(path.join(folder, name));
  const read = async (file: string) => [file, await readFile(path.join(folder, name, file), 'utf8')];
  return Object.fromEntries(await Promise.all(files.map(read)));
}

describe('the folder for groups', () => {
  it.each([
    ['0::/system.slice/parley.service/gateway', '/sys/fs/cgroup/system.slice/parley.service'],
    ['8:pids:/\n0::/user.slice/a\n', '/sys/fs/cgroup/user.slice'],
    ['0::/', undefined],
    ['4:memory:/docker/abc', undefined],
    ['', undefined],
  ])('of a process in %j is %s', (own, folder) => {
    expect(groupsFolder(own)).toBe(folder);
  });
});

describe('the group of a run', () => {
  it('limits memory and processes, and contains the process that starts all others', async () => {
    const folder = await delegated();
    const group = await openRunGroup(folder, 64 * MIB);
    expect(await group?.add(4711)).toBe(true);
    expect(await groupIn(folder)).toEqual({
      'memory.max': String(64 * MIB),
      'memory.swap.max': '0',
      'memory.oom.group': '1',
      'pids.max': String(MAX_PROCESSES + 4),
      'cgroup.procs': '4711',
    });
  });

  it('knows when the kernel killed a program for its memory use', async () => {
    const folder = await delegated();
    const group = await openRunGroup(folder, MIB);
    const [name = ''] = await readdir(folder);
    expect(await group?.wasOutOfMemory()).toBe(false);
    await writeFile(path.join(folder, name, 'memory.events'), 'low 0\nmax 31\noom 1\noom_kill 0\n');
    expect(await group?.wasOutOfMemory()).toBe(false);
    await writeFile(path.join(folder, name, 'memory.events'), 'max 31\noom 1\noom_kill 2\n');
    expect(await group?.wasOutOfMemory()).toBe(true);
  });

  it('is removed once it is empty', async () => {
    const folder = await delegated();
    const made = await openRunGroup(folder, MIB);
    expect(await made?.close()).toBe(false);
    const [name = ''] = await readdir(folder);
    for (const file of await readdir(path.join(folder, name))) await rm(path.join(folder, name, file));
    expect(await made?.close()).toBe(true);
    expect(await readdir(folder)).toEqual([]);
  });

  it('does not exist where creating one is not allowed', async () => {
    const locked = path.join(fixture.home, 'locked');
    await mkdir(locked, { mode: 0o555 });
    for (const folder of [undefined, locked, path.join(fixture.home, 'missing', 'below')]) {
      expect(await openRunGroup(folder, MIB)).toBeUndefined();
    }
  });

  it('leaves the run to the watcher when no process can be added', async () => {
    const folder = await delegated();
    const group = await openRunGroup(folder, MIB);
    const [name = ''] = await readdir(folder);
    await mkdir(path.join(folder, name, 'cgroup.procs'));
    expect(await group?.add(4711)).toBe(false);
  });

  it(
    'contains every run where groups can be created; elsewhere programs run anyway',
    needs('bubblewrap'),
    async () => {
      const folder = await delegated();
      const workspace = await makeWorkspace(fixture);
      const within = sandboxOf(fixture, { groups: folder });
      expect((await runIn(within, workspace, { command: 'echo in' })).content).toBe('in\n(exit 0)');
      const groups = await readdir(folder);
      // One for the sandbox's self-test, and one for the run.
      expect(groups).toHaveLength(2);
      for (const group of groups) {
        expect(await readFile(path.join(folder, group, 'memory.max'), 'utf8')).toBe(
          String(RUN_LIMITS.memoryBytes),
        );
        expect(await readFile(path.join(folder, group, 'cgroup.procs'), 'utf8')).toMatch(/^\d+$/);
      }
      const without = sandboxOf(fixture, { groups: path.join(fixture.home, 'locked') });
      expect((await runIn(without, workspace, { command: 'echo out' })).content).toBe('out\n(exit 0)');
    },
  );
});
