/** Why the embedded database did not open, in a sentence that says what to do. */
import { readdirSync } from 'node:fs';
import path from 'node:path';
import { BACKUPS_FOLDER } from '../../protocol/operator/backup.ts';
import { StoreError } from '../../protocol/errors.ts';
import { PARLEY } from '../../protocol/texts/parley.ts';
import type { Account } from './programs.ts';

/** What Postgres says about files that are not what it wrote. */
const DAMAGED =
  /checkpoint|control file|pg_control|corrupt|checksum|could not (open|read|access)|invalid (page|data|record|magic)/i;

const ELSEWHERE = 'Set DATABASE_URL to use a Postgres server instead.';

/**
 * The error for a database in `folder` that did not open. `words` is what its programs or the system said; `account` is
 * who ran them, unless it was this user; `isNew`: it was being made.
 */
export function openFailure(
  folder: string,
  words: string,
  { cause, account, isNew = false }: { cause?: unknown; account: Account | undefined; isNew?: boolean },
): StoreError {
  const home = path.dirname(folder);
  const failed = (text: string): StoreError =>
    new StoreError('embedded_failed', `The embedded database in ${folder} did not open: ${text}`, { cause });
  if (/look up effective user/i.test(words))
    return failed(
      `to make it takes a user with a name, and this one (${process.getuid?.()}) has none in /etc/passwd. Run Parley as a user that has, or set DATABASE_URL.`,
    );
  if (/No space left|Disk quota/i.test(words)) return failed('its disk is full. Free some space.');
  if (account !== undefined && /Permission denied|EACCES|shared librar/i.test(words))
    return failed(
      `Postgres does not run as root, and user ${account.uid}, which runs it instead, may not enter ${home} or the folder of Parley (${words.trim()}). Run Parley as another user, install setpriv (util-linux), or set DATABASE_URL.`,
    );
  if (/shared librar|ENOENT|Exec format|not found \(required by/i.test(words)) {
    const text = `The Postgres among the packages does not run on this machine (${words.trim()}). ${ELSEWHERE}`;
    return new StoreError('embedded_unavailable', text, { cause });
  }
  if (/Unix.domain socket|Unix address/i.test(words))
    return failed(
      `its file system has no sockets. Set GATEWAY_HOME to a folder on a local disk, or DATABASE_URL.`,
    );
  if (/lock file|shared memory block/i.test(words))
    return new StoreError(
      'embedded_failed',
      `The embedded database in ${folder} is in use by another Postgres (${words.trim()}). Stop that one.`,
      // The processes of one that was killed may need a moment to end.
      { cause, retryable: true },
    );
  if (!isNew && DAMAGED.test(words)) return failed(`it is damaged (${words.trim()}). ${restoreText(folder)}`);
  return failed(`${words.trim()}. ${ELSEWHERE}`);
}

/** How to get back what a damaged database held. */
function restoreText(folder: string): string {
  const backups = path.join(path.dirname(folder), BACKUPS_FOLDER);
  const last = namesIn(backups)
    .filter((name) => name.startsWith('parley-'))
    .toSorted()
    .at(-1);
  const file = last === undefined ? 'FILE' : path.join(backups, last);
  const found = last === undefined ? 'There is no daily backup.' : `The last daily backup: ${file}.`;
  return `${found} Move ${folder} away, then run: ${PARLEY} restore ${file}`;
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    // The first daily backup makes the folder.
    return [];
  }
}
