/** Check of the daily backups: whether there is one, how old it is, and why the last attempt failed. */
import type { BackupState } from '../../protocol/operator/backup.ts';
import type { Finding } from '../../protocol/channel.ts';
import { PARLEY } from '../../protocol/texts/parley.ts';

/** A running gateway writes one every day: from this age on, something keeps it from that, in milliseconds. */
export const OLD_BACKUP_MS = 2 * 24 * 3_600_000;

/** What is known about daily backups. */
export interface BackupChecks {
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
    return { subject, level: 'ok', text: `Daily backups are off, as usual with DATABASE_URL; on: ${on}.` };
  if (!isOn) {
    const text = 'Daily backups are off (backup.daily): a broken disk or a mistake loses everything.';
    return { subject, level: 'warning', text, remedy: on };
  }
  const failure = reports.find(({ error }) => error !== undefined)?.error;
  const others = reports.flatMap(({ at }) => (at === undefined ? [] : [new Date(at)]));
  const times = [...(newest === undefined ? [] : [newest.at]), ...others];
  const last = times.toSorted((a, b) => a.getTime() - b.getTime()).at(-1);
  const about =
    last === undefined ? 'There is no daily backup yet' : `The last daily backup is of ${timeOf(last, now)}`;
  const where = newest === undefined || newest.at < (last ?? newest.at) ? '' : `: ${newest.file}`;
  if (failure !== undefined) {
    const remedy = `correct that; the gateway tries again within an hour. By hand: ${PARLEY} backup FILE`;
    return { subject, level: 'warning', text: `${about}. The next one failed: ${failure}`, remedy };
  }
  if (isRunning && last !== undefined && now.getTime() - last.getTime() > OLD_BACKUP_MS)
    return { subject, level: 'warning', text: `${about}.`, remedy: `${PARLEY} logs --level error says why` };
  const next = last === undefined ? '; a gateway writes the first one some minutes after its start' : '';
  return { subject, level: 'ok', text: `${about}${where}${next}.` };
}

/** `2026-11-29 00:04 (3 hours old)`, in the machine's time zone. */
function timeOf(at: Date, now: Date): string {
  const time = new Intl.DateTimeFormat('sv-SE', { dateStyle: 'short', timeStyle: 'short' }).format(at);
  const hours = Math.max(0, Math.round((now.getTime() - at.getTime()) / 3_600_000));
  if (hours < 48) return `${time} (${hours === 1 ? '1 hour' : `${hours} hours`} old)`;
  return `${time} (${Math.floor(hours / 24)} days old)`;
}
