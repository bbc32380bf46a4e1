/** What an undo brings back and what it leaves, in words. */
import type { GoingBack, Staying, Undo, UndoKind, WordedUndo } from '../../protocol/sessions/undo.ts';
import type { StayReason } from '../../protocol/agent/call-note.ts';
import type { PlainKey, Say } from '../../protocol/texts/say.ts';
import { escapeMarkdown } from '../../lib/markdown/references.ts';
import { clipEnd, oneLine, visibleText } from '../../lib/text.ts';

/** Most things that one list names; further ones are counted. */
const MAX_NAMED = 20;
/** Longest part of a question, and longest name of a thing, in UTF-16 units. */
const MAX_REPEATED = 80;

/** The question, as replies repeat it. */
export function shortQuestion({ content }: Pick<Undo, 'content'>): string {
  return clipEnd(oneLine(content), MAX_REPEATED);
}

/** True for a turn that changed more than the conversation: then people see what goes back before it does. */
export function hasEffects({ goesBack, stays }: Pick<Undo, 'goesBack' | 'stays'>): boolean {
  return goesBack.length + stays.length > 0;
}

/** The sentences; `isOver`: it was done. */
export function describeUndo({ goesBack, stays }: Undo, say: Say, isOver: boolean): string[] {
  const back = listOf([...new Set(goesBack.map((one) => describeGoingBack(one, say, inMarkdown)))], say);
  const rest = listOf([...new Set(stays.map((one) => describeStaying(one, say, inMarkdown)))], say);
  return [
    ...(back === undefined ? [] : [say(isOver ? 'undo.went_back' : 'undo.back', { things: back })]),
    ...(rest === undefined ? [] : [say(isOver ? 'undo.stayed' : 'undo.stays', { things: rest })]),
  ];
}

/** Writes the name of a thing. */
type Write = (name: string, kind: UndoKind) => string;

const inPlain: Write = (name) => name;

/** Names are text of others. */
const inMarkdown: Write = (name, kind) =>
  kind === 'file' ? `\`${name.replaceAll('`', "'")}\`` : escapeMarkdown(name);

/** Each thing in plain words, for a list. */
export function wordUndo({ turnId, content, goesBack, stays }: Undo, say: Say): WordedUndo {
  return {
    turnId,
    content,
    goesBack: goesBack.map((one) => ({ ...one, text: describeGoingBack(one, say, inPlain) })),
    stays: stays.map((one) => ({ ...one, text: describeStaying(one, say, inPlain) })),
  };
}

/** Such as "a.txt (restored)". */
function describeGoingBack(one: GoingBack, say: Say, write: Write): string {
  const thing = thingOf(one, say, write);
  if (one.kind === 'plan') return say('undo.cancelled', { thing });
  return say(one.how === 'restored' ? 'undo.restored' : 'undo.removed', { thing });
}

/** Such as "c.bin (changed since)", or "the message to Ann". */
function describeStaying({ why: reason, text, ...one }: Staying, say: Say, write: Write): string {
  if (text !== undefined)
    return write(clipEnd(oneLine(visibleText(say.text(text))), 2 * MAX_REPEATED), one.kind);
  const thing = thingOf(one, say, write);
  return reason === 'lasting' ? thing : say(REASONS[reason], { thing });
}

const REASONS = {
  changed_since: 'undo.changed_since',
  later_turn: 'undo.later_turn',
  too_large: 'undo.too_large',
  not_plain: 'undo.not_plain',
  given_up: 'undo.given_up',
  not_written: 'undo.not_written',
} as const satisfies Record<Exclude<StayReason, 'lasting'>, string>;

function thingOf({ kind, name }: { kind: UndoKind; name: string }, say: Say, write: Write): string {
  const label = write(clipEnd(oneLine(visibleText(name)), MAX_REPEATED), kind);
  if (kind === 'file') return label;
  const plain = PLAIN[kind];
  if (plain !== undefined) return say(plain);
  switch (kind) {
    case 'note':
      return say('undo.note', { name: label });
    case 'profile':
      return say('undo.profile', { name: label });
    case 'schedule':
      return say('undo.schedule', { name: label });
    case 'memory':
      return say('undo.memory', { name: label });
    default:
      return say('undo.plan', { name: label });
  }
}

const PLAIN: Partial<Record<UndoKind, PlainKey>> = { todo: 'undo.todo', lasting: 'undo.call' };

function listOf(things: readonly string[], say: Say): string | undefined {
  if (things.length === 0) return undefined;
  const names = things.slice(0, MAX_NAMED).join(', ');
  const count = things.length - MAX_NAMED;
  return count > 0 ? say('risk.and_more', { names, count }) : names;
}
