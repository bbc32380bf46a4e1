/** The active branch of an OpenClaw transcript: its entries are a tree by `parentId`, and the last one ends the branch. */
import { collectTurns, type ForeignMessage, textOf, timeIn } from './chat-turns.ts';
import { MAX_CHAT_CHARS } from './items.ts';

/** Newest entries of a transcript that are held while it is read, and twice as much text as a chat may have. */
const MAX_ENTRIES = 20_000;
const MAX_CHARS = 2 * MAX_CHAT_CHARS;

interface Entry {
  id: string | undefined;
  parentId: string | undefined;
  message: ForeignMessage | undefined;
}

/** Collects the entries of a transcript, oldest first. */
export function collectTranscript() {
  let entries: Entry[] = [];
  let chars = 0;
  let startedAt = new Date(0);
  let older = 0;
  const isTooMuch = (): boolean =>
    entries.length > 1 && (entries.length > 2 * MAX_ENTRIES || chars > 2 * MAX_CHARS);
  // Half at a time: moving the list for every entry would take quadratic time.
  const halve = (): void => {
    const rest = entries.splice(Math.ceil(entries.length / 2));
    older += entries.filter(({ message }) => message?.role === 'user').length;
    entries = rest;
    chars = rest.reduce((sum, { message }) => sum + (message?.text.length ?? 0), 0);
  };
  return {
    add(event: Readonly<Record<string, unknown>>): void {
      if (event['type'] === 'session') {
        startedAt = timeIn(event['timestamp']) ?? startedAt;
        return;
      }
      const entry = entryOf(event);
      entries.push(entry);
      chars += entry.message?.text.length ?? 0;
      while (isTooMuch()) halve();
    },
    end() {
      const turns = collectTurns(startedAt);
      for (const { message } of branchOf(entries)) if (message !== undefined) turns.add(message);
      const { olderTurns, ...rest } = turns.end();
      return { ...rest, olderTurns: olderTurns + older };
    },
  };
}

function entryOf({ type, id, parentId, message, timestamp }: Readonly<Record<string, unknown>>): Entry {
  return {
    id: typeof id === 'string' ? id : undefined,
    parentId: typeof parentId === 'string' ? parentId : undefined,
    message: type === 'message' ? messageOf(message, timestamp) : undefined,
  };
}

function messageOf(message: unknown, timestamp: unknown): ForeignMessage | undefined {
  if (typeof message !== 'object' || message === null) return undefined;
  const { role, content, model }: Record<string, unknown> = { ...message };
  if (role !== 'user' && role !== 'assistant') return undefined;
  const answeredBy = role === 'assistant' && typeof model === 'string' ? model : undefined;
  return { role, text: textOf(content), at: timeIn(timestamp), model: answeredBy };
}

/** From the last entry up to the first; all of them, in their order, when they name no parents. */
function branchOf(entries: readonly Entry[]): Entry[] {
  if (!entries.some(({ parentId }) => parentId !== undefined)) return [...entries];
  const byId = new Map(
    entries.flatMap((entry) => (entry.id === undefined ? [] : [[entry.id, entry] as const])),
  );
  const branch: Entry[] = [];
  let entry = entries.findLast(({ id }) => id !== undefined);
  while (entry !== undefined && branch.length <= entries.length) {
    branch.push(entry);
    entry = entry.parentId === undefined ? undefined : byId.get(entry.parentId);
  }
  return branch.toReversed();
}
