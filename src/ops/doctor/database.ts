/** Checks of the database, of its clock, of the gateways that share it, and of the daily backups. */
import type { Finding } from '../../protocol/channel.ts';
import { failure, ok, warning } from './findings.ts';
import type { DatabaseReport } from '../../protocol/operator/nodes.ts';
import { inMegabytes } from '../../lib/text.ts';
import { PARLEY } from '../../protocol/texts/parley.ts';
import type { BackupState } from '../../protocol/operator/backup.ts';

/** Clock difference between database and machine that is worth reporting, in milliseconds. */
export const MAX_CLOCK_SKEW_MS = 5_000;
/** Names of settings in one line. */
const MAX_NAMES = 12;

/** Findings from a database that answered. `home` is where the embedded one is stored. */
export function databaseFindings(report: DatabaseReport, home: string): Finding[] {
  if (report.state === 'closed') return [folderFinding(report, home)];
  const kind =
    report.kind === 'postgres' ? `Postgres ${report.version}` : `Embedded (Postgres ${report.version})`;
  return [
    versionFinding(report, `${kind}, ${inMegabytes(report.bytes)}`),
    clockFinding(report),
    ...nodeFindings(report.nodes),
    ...eventFindings(report),
  ];
}

function folderFinding(report: DatabaseReport & { state: 'closed' }, home: string): Finding {
  const subject = 'Database';
  if (report.folder === 'unreadable')
    return failure(
      subject,
      `${home}/pg cannot be read by this user (${report.code}).`,
      `sudo chown -R "$(id -un)" ${home}/pg && chmod -R u+rwX ${home}/pg`,
    );
  const { folder, bytes } = report;
  if (folder === 'missing') return ok(subject, 'Embedded; the first start creates it.');
  if (folder === 'complete')
    return ok(subject, `Embedded, ${inMegabytes(bytes)}, closed: it is checked while a gateway runs.`);
  return failure(
    subject,
    `${home}/pg holds files but no complete database.`,
    `${PARLEY} restore FILE --replace; to start over instead: mv ${home}/pg ${home}/pg.broken`,
  );
}

function versionFinding(
  { version, tables }: DatabaseReport & { state: 'open' },
  subjectText: string,
): Finding {
  const subject = 'Database';
  if (Number.parseInt(version, 10) < 15) {
    const remedy = 'point DATABASE_URL at Postgres 15 or newer';
    return failure(subject, `Postgres ${version} is too old.`, remedy);
  }
  if (tables === 'newer')
    return failure(
      subject,
      `${subjectText}: a newer version of Parley has changed its tables.`,
      'install that version, or restore a backup made before the update',
    );
  if (tables === 'unreleased')
    return failure(
      subject,
      `${subjectText}: made by a version from before the first release, which cannot be upgraded.`,
      'point DATABASE_URL at an empty database, or start with another GATEWAY_HOME',
    );
  const state = {
    none: 'empty; the first start makes the tables',
    current: 'its tables are up to date',
    behind: 'the next start brings its tables up to date',
  }[tables];
  return ok(subject, `${subjectText}; ${state}.`);
}

function clockFinding({ clockAheadMs, clockErrorMs }: DatabaseReport & { state: 'open' }): Finding {
  const subject = 'Clock';
  const off = Math.abs(clockAheadMs);
  if (off - clockErrorMs <= MAX_CLOCK_SKEW_MS)
    return ok(subject, 'This machine and the database agree on the time.');
  const direction = clockAheadMs > 0 ? 'ahead of' : 'behind';
  const text = `The clock of the database is ${Math.round(off / 1_000)} s ${direction} this machine's: times are shown wrong.`;
  return warning(subject, text, 'set both clocks by NTP (timedatectl set-ntp true)');
}

function nodeFindings(nodes: (DatabaseReport & { state: 'open' })['nodes']): Finding[] {
  const subject = 'Gateways';
  const [first, ...others] = nodes;
  if (first === undefined) return [];
  if (others.length === 0) return [ok(subject, 'One gateway runs with this database.')];
  const many = `${nodes.length} gateways run with this database`;
  const versions = [...new Set(nodes.map(({ version }) => version))];
  const names = new Set(nodes.flatMap(({ digests }) => Object.keys(digests)));
  const different = [...names].filter((name) =>
    others.some(({ digests }) => digests[name] !== first.digests[name]),
  );
  const findings: Finding[] = [];
  if (versions.length > 1) {
    const remedy = 'update the others and restart them, one after the other';
    const text = `${many} in different versions: ${versions.join(', ')}.`;
    findings.push(warning(subject, text, remedy));
  }
  if (different.length > 0) {
    const nameList = different.slice(0, MAX_NAMES).join(', ');
    const more = different.length > MAX_NAMES ? ` and ${different.length - MAX_NAMES} more` : '';
    const remedy = 'give all of them the same: which one answers is left to chance';
    findings.push(warning(subject, `${many} with different settings: ${nameList}${more}.`, remedy));
  }
  return findings.length > 0 ? findings : [ok(subject, `${many} with the same settings.`)];
}

/** Of what carries live events between gateways. */
function eventFindings({ nodes, lateEvents }: DatabaseReport & { state: 'open' }): Finding[] {
  const subject = 'Live events';
  if (lateEvents > 0) {
    const text = `${lateEvents} of ${nodes.length} gateways lost the connection for live events: what others answer may appear there some seconds late.`;
    const remedy =
      'start NATS, or correct NATS_URL; without NATS_URL, let nothing, such as a firewall, end idle connections to Postgres';
    return [warning(subject, text, remedy)];
  }
  return nodes.length > 1 ? [ok(subject, 'They reach the other gateways in time.')] : [];
}

/** A running gateway writes one every day: from this age on, something keeps it from that, in milliseconds. */
export const OLD_BACKUP_MS = 2 * 24 * 3_600_000;

/** What is known about daily backups. */
interface BackupChecks {
  isOn: boolean;
  kind: 'postgres' | 'embedded';
  /** The newest one in this home. */
  newest: { file: string; at: Date } | undefined;
  /** What the running gateways report. */
  reports: readonly BackupState[];
  isRunning: boolean;
}

/** The finding, at that time. */
export function backupFinding({ isOn, kind, newest, reports, isRunning }: BackupChecks, now: Date): Finding {
  const subject = 'Backup';
  const on = `${PARLEY} config set backup.daily true`;
  if (!isOn && kind === 'postgres')
    return ok(subject, `Daily backups are off, as usual with DATABASE_URL; on: ${on}.`);
  if (!isOn) {
    const text = 'Daily backups are off (backup.daily): a broken disk or a mistake loses everything.';
    return warning(subject, text, on);
  }
  const problem = reports.find(({ error }) => error !== undefined)?.error;
  const others = reports.flatMap(({ at }) => (at === undefined ? [] : [new Date(at)]));
  const times = [...(newest === undefined ? [] : [newest.at]), ...others];
  const last = times.toSorted((a, b) => a.getTime() - b.getTime()).at(-1);
  const about =
    last === undefined
      ? 'There is no daily backup yet'
      : `The last daily backup is from ${timeOf(last, now)}`;
  const where = newest === undefined || newest.at < (last ?? newest.at) ? '' : `: ${newest.file}`;
  if (problem !== undefined) {
    const remedy = `correct that; the gateway tries again within an hour. By hand: ${PARLEY} backup FILE`;
    return warning(subject, `${about}. The next one failed: ${problem}`, remedy);
  }
  if (isRunning && last !== undefined && now.getTime() - last.getTime() > OLD_BACKUP_MS)
    return warning(subject, `${about}.`, `${PARLEY} logs --level error says why`);
  const next = last === undefined ? '; a gateway writes the first one some minutes after its start' : '';
  return ok(subject, `${about}${where}${next}.`);
}

/** `2026-11-29 00:04 (3 hours old)`, in the machine's time zone. */
function timeOf(at: Date, now: Date): string {
  const time = new Intl.DateTimeFormat('sv-SE', { dateStyle: 'short', timeStyle: 'short' }).format(at);
  const hours = Math.max(0, Math.round((now.getTime() - at.getTime()) / 3_600_000));
  if (hours < 48) return `${time} (${hours === 1 ? '1 hour' : `${hours} hours`} old)`;
  return `${time} (${Math.floor(hours / 24)} days old)`;
}
