/** What a question says about the folder that a program may use: how many files, and what changed since the last approval. */
import {
  type ApprovalSubject,
  type FolderState,
  MAX_COMPARED_FILES,
  MAX_SHOWN_CHANGES,
} from '../../protocol/agent/approvals.ts';
import type { Say } from '../../protocol/texts/say.ts';
import { visibleText } from '../../lib/text.ts';

/** The files as stored with the request; undefined if they are too many to compare later. */
export function manifestOf({ files }: FolderState): ApprovalSubject['manifest'] {
  return files.size > MAX_COMPARED_FILES ? undefined : [...files];
}

/** The sentences; empty for a folder that is and was empty. `before` is the manifest of the last approval, if there is one. */
export function folderNote(state: FolderState, before: ApprovalSubject['manifest'], say: Say): string {
  const { files, bytes, sha256 } = state;
  if (files.size === 0 && (before ?? []).length === 0) return '';
  const all = say('risk.whole_folder', { count: files.size, bytes, digest: `\`${sha256}\`` });
  if (files.size > MAX_COMPARED_FILES)
    return `${all} ${say('risk.not_compared', { most: MAX_COMPARED_FILES })}`;
  return before === undefined ? all : `${all} ${changesSince(files, new Map(before), say)}`;
}

function changesSince(files: FolderState['files'], before: ReadonlyMap<string, string>, say: Say): string {
  const changed = [...new Set([...files.keys(), ...before.keys()])].filter(
    (name) => files.get(name) !== before.get(name),
  );
  if (changed.length === 0) return say('risk.none_changed');
  const shown = changed.slice(0, MAX_SHOWN_CHANGES).map(quoted).join(', ');
  const count = changed.length;
  const hidden = count - MAX_SHOWN_CHANGES;
  const names = hidden > 0 ? say('risk.and_more', { names: shown, count: hidden }) : shown;
  return say('risk.changed_files', { count, names });
}

/** On one line, between backticks: a name is text of others. */
function quoted(name: string): string {
  return `\`${visibleText(name).replaceAll('`', "'").replaceAll('\n', ' ')}\``;
}
