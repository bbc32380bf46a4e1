/** One process per home: refused, waited for, killed, reopened, attached to. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { campaignSize } from '../../campaign.ts';
import { liveHolder, lockHome } from '../../../src/store/embedded/home.ts';
import { openStore } from '../../../src/store/open-store.ts';
import { makeEmbeddedHome, silentLog, WHOLE_HOME } from '../../database.ts';

const KILLS = campaignSize(5);
const HOLDER = fileURLToPath(new URL('holder.ts', import.meta.url));

/** Starts a program as the first process of a namespace, the way a container does. */
const NEW_PID_NAMESPACE = ['--pid', '--fork', '--mount-proc', '--kill-child', '--'];

function hasPidNamespaces(): boolean {
  return spawnSync('unshare', [...NEW_PID_NAMESPACE, 'true']).status === 0;
}

describe('home', () => {
  let home: string;
  const children: ChildProcess[] = [];

  beforeEach(async () => {
    home = await makeEmbeddedHome();
  });

  afterEach(async () => {
    for (const child of children.splice(0)) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      const gone = once(child, 'exit');
      child.kill('SIGKILL');
      await gone;
    }
    await rm(home, WHOLE_HOME);
  });

  /** Starts a holder; `lines` is its output so far. */
  function startHolder(...args: string[]) {
    return startProcess(process.execPath, [...process.execArgv, HOLDER, home, ...args]);
  }

  function startProcess(command: string, args: string[]) {
    const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'ignore'] });
    children.push(child);
    const lines: string[] = [];
    createInterface({ input: child.stdout }).on('line', (line) => lines.push(line));
    const says = (line: string) =>
      expect
        .poll(() => lines.some((said) => said.startsWith(line)), { timeout: 20_000, interval: 10 })
        .toBe(true);
    return { child, lines, says };
  }

  async function kill(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
    const gone = once(child, 'exit');
    child.kill(signal);
    await gone;
  }

  it('refuses a second process, and names the first and what to do', async () => {
    const first = startHolder();
    await first.says('open');
    const second = startHolder();
    await second.says(`refused GATEWAY_HOME ${home} is in use by process ${first.child.pid}.`);
    const refused = openStore({ home, log: silentLog, lockWaitMs: 50 });
    await expect(refused).rejects.toMatchObject({ code: 'home_locked' });
  });

  it.skipIf(!hasPidNamespaces())(
    'refuses a process in another container, which cannot see the first',
    async () => {
      const first = startHolder();
      await first.says('open');
      const command = [process.execPath, ...process.execArgv, HOLDER, home];
      const second = startProcess('unshare', [...NEW_PID_NAMESPACE, ...command]);
      await second.says(`refused GATEWAY_HOME ${home} is in use`);
      await kill(first.child, 'SIGKILL');
      const third = startProcess('unshare', [...NEW_PID_NAMESPACE, ...command]);
      await third.says('open');
      const fourth = startHolder();
      await fourth.says(`refused GATEWAY_HOME ${home} is in use`);
      expect(fourth.lines).not.toContain('open');
    },
  );

  it('waits for a holder that is leaving, and takes over; refuses immediately while it stays', async () => {
    const first = await openStore({ home, log: silentLog });
    const began = performance.now();
    await expect(lockHome(home)).rejects.toMatchObject({ code: 'home_locked' });
    expect(performance.now() - began).toBeLessThan(5_000);
    first.leaving();
    const opening = openStore({ home, log: silentLog, lockWaitMs: 20_000 });
    await first.close();
    const store = await opening;
    await store.close();
    expect(await liveHolder(home)).toBeUndefined();
  });

  it('names a holder that announces it is leaving but stays', async () => {
    const stuck = await lockHome(home);
    stuck.leaving();
    await expect(lockHome(home, { waitMs: 250 })).rejects.toMatchObject({ code: 'home_locked' });
    stuck.release();
  });

  it('lets the command line attach to a running gateway, and opens the database itself when none runs', async () => {
    const gateway = await openStore({ home, log: silentLog });
    await gateway.access.addGrant('telegram', 'dm', '7');
    const beside = await openStore({ home, log: silentLog, attach: true });
    expect(await beside.access.hasGrant('telegram', 'dm', '7')).toBe(true);
    await beside.access.addGrant('telegram', 'dm', '8');
    await beside.close();
    expect(await gateway.access.hasGrant('telegram', 'dm', '8')).toBe(true);
    const { instance } = gateway;
    await gateway.close();
    const alone = await openStore({ home, log: silentLog, attach: true });
    expect(await alone.access.grants()).toHaveLength(2);
    expect(alone.instance).toBe(instance);
    await alone.close();
  });

  it(`loses nothing that was acknowledged before any of ${KILLS} kills`, async () => {
    const acknowledged = new Set<string>();
    for (let round = 0; round < KILLS; round += 1) {
      const writer = startHolder('write', String(round * 100_000));
      await expect
        .poll(() => writer.lines.length, { timeout: 20_000, interval: 5 })
        .toBeGreaterThan(20 + round * 7);
      await kill(writer.child, 'SIGKILL');
      for (const line of writer.lines) if (line.startsWith('acknowledged ')) acknowledged.add(line.slice(13));
    }
    const store = await openStore({ home, log: silentLog });
    const kept = new Set<string>();
    for (let before: number | undefined; ;) {
      const page = await store.ledger.messages('telegram:42', { limit: 200, before });
      for (const message of page) kept.add(message.content.slice('text of '.length));
      if (page.length === 0) break;
      before = page[0]?.seq;
    }
    expect(acknowledged.size).toBeGreaterThanOrEqual(20 * KILLS);
    expect([...acknowledged].filter((id) => !kept.has(id))).toEqual([]);
    const node = await store.lanes.register(store.instance, 60_000);
    const [head] = await store.lanes.sweep(node, [{ class: 'in', free: 1 }]);
    expect(head, 'only accepted, not begun: no crash counts against it').toMatchObject({ crashes: 0 });
    await store.close();
  }, 120_000);

  it('gives the home of a dead process to exactly one of several concurrent processes', async () => {
    const first = startHolder();
    await first.says('open');
    await kill(first.child, 'SIGKILL');
    const tries = await Promise.allSettled(Array.from({ length: 8 }, () => lockHome(home, { waitMs: 0 })));
    expect(tries.filter((result) => result.status === 'fulfilled')).toHaveLength(1);
  });

  it('makes the home private, keeps its instance, and reports a home that is not writable', async () => {
    const fresh = path.join(home, 'deep', 'er');
    const lock = await lockHome(fresh);
    expect((await stat(fresh)).mode & 0o777).toBe(0o700);
    lock.release();
    const again = await lockHome(fresh);
    expect(again.instance).toBe(lock.instance);
    again.release();
    const file = path.join(home, 'file');
    await writeFile(file, '');
    await expect(lockHome(path.join(file, 'home'))).rejects.toMatchObject({
      code: 'home_unwritable',
      message: expect.stringContaining('GATEWAY_HOME'),
    });
  });

  it('finds a short path for the socket of a home with a long path', async () => {
    const long = path.join(home, 'x'.repeat(120));
    await mkdir(long);
    await rename(path.join(home, 'pg'), path.join(long, 'pg'));
    const gateway = await openStore({ home: long, log: silentLog });
    const beside = await openStore({ home: long, log: silentLog, attach: true });
    expect(await beside.ledger.counts()).toMatchObject({ sessions: 0 });
    const socketPath = (await liveHolder(long))?.socketPath ?? '';
    expect(socketPath.startsWith(long)).toBe(false);
    await beside.close();
    await gateway.close();
    await expect(stat(path.dirname(socketPath))).rejects.toMatchObject({ code: 'ENOENT' });
  });
});
