/** What an import did, for people. */
import { escapeControls, oneLine, withItems } from '../../lib/text.ts';

export type ImportedKind = 'chat' | 'memory' | 'schedule' | 'prompt' | 'skill';

const LABELS: Readonly<Record<ImportedKind, readonly [one: string, several: string]>> = {
  chat: ['chat', 'chats'],
  memory: ['memory', 'memories'],
  schedule: ['schedule', 'schedules'],
  prompt: ['prompt file', 'prompt files'],
  skill: ['skill', 'skills'],
};
/** Lines about what was left out, and characters of each. */
const MAX_OMISSIONS = 40;
const LINE_CHARS = 300;

/** Counts what is stored, and what is left out. */
export interface ImportReport {
  /** One thing that is new, or was there already. */
  add(kind: ImportedKind, isNew: boolean): void;
  omit(subject: string, reason: string): void;
  /** How many of a kind are new so far. */
  count(kind: ImportedKind): number;
  text(dryRun: boolean): string;
}

/** An empty report; `title` begins it. */
export function createReport(title: string): ImportReport {
  const fresh = new Map<ImportedKind, number>();
  const present = new Map<ImportedKind, number>();
  const omissions = new Map<string, number>();
  return {
    add(kind, isNew) {
      const counts = isNew ? fresh : present;
      counts.set(kind, (counts.get(kind) ?? 0) + 1);
    },
    omit(subject, reason) {
      const line = escapeControls(oneLine(`${subject}: ${reason}`).slice(0, LINE_CHARS));
      // Further lines are only counted.
      if (omissions.size < 10 * MAX_OMISSIONS || omissions.has(line))
        omissions.set(line, (omissions.get(line) ?? 0) + 1);
    },
    count: (kind) => fresh.get(kind) ?? 0,
    text(dryRun) {
      const kinds = Object.keys(LABELS) as ImportedKind[];
      const lines = kinds.flatMap((kind) => {
        const [count, repeats] = [fresh.get(kind) ?? 0, present.get(kind) ?? 0];
        if (count + repeats === 0) return [];
        const suffix = repeats === 0 ? '' : `, ${repeats} already here`;
        return [`${count} new ${LABELS[kind][count === 1 ? 0 : 1]}${suffix}`];
      });
      const summary = lines.length === 0 ? `${title} Nothing was found to import.` : withItems(title, lines);
      const rest = [...omissions].map(([line, times]) => (times === 1 ? line : `${line} (${times} times)`));
      const more = rest.length - MAX_OMISSIONS;
      const items = more > 0 ? [...rest.slice(0, MAX_OMISSIONS), `and ${more} more of such reasons`] : rest;
      return [
        summary,
        ...(rest.length === 0 ? [] : [withItems('Not imported:', items)]),
        ...(dryRun ? ['This was a dry run: nothing was changed.'] : notesOn(fresh)),
      ].join('\n\n');
    },
  };
}

function notesOn(fresh: ReadonlyMap<ImportedKind, number>): string[] {
  const notes: string[] = [];
  if (fresh.has('chat'))
    notes.push(
      'The chats are on the page. Their text counts as untrusted: calls that reach outside ask first.',
    );
  if (fresh.has('memory'))
    notes.push('The memories are unverified: /memory lists them, /verify confirms one.');
  if (fresh.has('schedule'))
    notes.push('The schedules run from now on: stop the other program, or they run twice.');
  return notes;
}
