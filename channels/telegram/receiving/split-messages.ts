/**
 * Messages that Telegram or a sender's app delivers in pieces: the pictures of an album, the parts of a text that was
 * too long for one message, and messages that are forwarded together. The parts become one message once no more parts
 * arrive. Until then the offset stays before the first part, so that Telegram keeps them: no part is held only in
 * memory.
 */
import type { InboundMessage } from '../../../src/protocol/message.ts';

/** Maximum number of parts in an album (Bot API `sendMediaGroup`; the apps allow no more either). */
export const MAX_ALBUM_PARTS = 10;
/** Maximum number of messages forwarded together that become one; an album counts as one message. */
export const MAX_FORWARDS = 10;
/** Maximum number of parts of a text; together they stay below the longest message that the gateway accepts. */
export const MAX_TEXT_PARTS = 24;
/** Longest text of one message, in UTF-16 units; a part of this length was cut at a place without a break. */
export const FULL_TEXT = 4_096;
/** A text of this length may continue in the next message: apps cut a longer one at the best break in its second half. */
export const CUT_FROM = FULL_TEXT / 2;
/** Parts are sent at most this far apart, in milliseconds; Telegram gives times in whole seconds. */
const GAP_MS = 2_000;
/** Maximum number of authors named above a message that joins several forwarded ones. */
const MAX_AUTHORS = 3;

/** A message of one update. */
export interface Received {
  id: number;
  message: InboundMessage;
  /** The same for all parts of an album. */
  album?: string | undefined;
  /** Length of its text as it was sent, in UTF-16 units. */
  textLength?: number | undefined;
  /** It begins with a command of the bot. */
  isCommand?: boolean | undefined;
}

/** Messages that can be published, each with its parts, in the order of their first updates. */
export interface Collected<T extends Received> {
  whole: [T, ...T[]][];
  /** Parts that may get more parts: they arrive again with the next poll. */
  open: T[];
}

type Kind = 'album' | 'forwards' | 'text' | 'single';

interface Group<T extends Received> {
  kind: Kind;
  parts: [T, ...T[]];
}

/** Tells complete messages from those that may still get parts, from one poll to the next. */
export class SplitMessages {
  /** How many parts each open message had at the last poll, by the first update. */
  #open = new Map<number, number>();

  /** Takes the unpublished messages of a poll. One is complete if it is full, its chat moved on, or no part came since the last. */
  collect<T extends Received>(batch: readonly T[]): Collected<T> {
    const whole: [T, ...T[]][] = [];
    const open: T[] = [];
    const counts = new Map<number, number>();
    for (const group of groupsOf(batch)) {
      const { parts } = group;
      const [{ id }] = parts;
      if (isFull(group) || this.#open.get(id) === parts.length || hasGoneOn(batch, parts)) whole.push(parts);
      else {
        open.push(...parts);
        counts.set(id, parts.length);
      }
    }
    this.#open = counts;
    return { whole, open };
  }
}

/** The messages with their parts, in the order of their first updates. */
function groupsOf<T extends Received>(batch: readonly T[]): Group<T>[] {
  const groups: Group<T>[] = [];
  const latest = new Map<string, Group<T>>();
  for (const received of batch) {
    const { chatId, threadId = '', senderId } = received.message;
    const author = `${chatId} ${threadId} ${senderId}`;
    const group = latest.get(author);
    if (group !== undefined && continues(group, received)) group.parts.push(received);
    else {
      const next: Group<T> = { kind: kindOf(received), parts: [received] };
      latest.set(author, next);
      groups.push(next);
    }
  }
  return groups;
}

/** A press, an edit or a reaction: never part of a written message. */
function isAct({ message }: Received): boolean {
  return message.button !== undefined || message.isEdit === true || message.stops !== undefined;
}

function kindOf(received: Received): Kind {
  const { message, album, textLength = 0 } = received;
  if (isAct(received)) return 'single';
  if (message.forwarded === true) return 'forwards';
  if (album !== undefined) return 'album';
  return message.media.length === 0 && textLength >= CUT_FROM ? 'text' : 'single';
}

/** True when the message is the next part of the group, whose sender and chat it shares. */
function continues({ kind, parts }: Group<Received>, next: Received): boolean {
  const last = parts.at(-1) ?? parts[0];
  if (isAct(next) || kind === 'single') return false;
  if (next.album !== undefined && next.album === last.album) return true;
  if (next.message.timestamp - last.message.timestamp > GAP_MS) return false;
  switch (kind) {
    case 'album':
      return false;
    case 'forwards':
      return next.message.forwarded === true && countOf(parts) < MAX_FORWARDS;
    case 'text':
      return isLong(last) && parts.length < MAX_TEXT_PARTS && goesOn(next);
    default:
      return kind satisfies never;
  }
}

/** The number of forwarded messages; an album counts as one. */
function countOf(parts: readonly Received[]): number {
  return new Set(parts.map(({ id, album }) => album ?? id)).size;
}

function isLong({ textLength = 0 }: Received): boolean {
  return textLength >= CUT_FROM;
}

/** True for a text that may be the rest of another: the apps attach no reply and no file to it. */
function goesOn({ message, isCommand }: Received): boolean {
  const { media, forwarded, replyTo } = message;
  return isCommand !== true && media.length === 0 && forwarded !== true && replyTo === undefined;
}

function isFull({ kind, parts }: Group<Received>): boolean {
  const last = parts.at(-1) ?? parts[0];
  switch (kind) {
    case 'single':
      return true;
    case 'album':
      return parts.length >= MAX_ALBUM_PARTS;
    case 'forwards':
      return countOf(parts) >= MAX_FORWARDS && last.album === undefined;
    case 'text':
      return !isLong(last) || parts.length >= MAX_TEXT_PARTS;
    default:
      return kind satisfies never;
  }
}

/** True when something else came in the chat after the last part. */
function hasGoneOn(batch: readonly Received[], parts: readonly [Received, ...Received[]]): boolean {
  const last = parts.at(-1) ?? parts[0];
  return batch.some(({ id, message }) => id > last.id && message.chatId === last.message.chatId);
}

/** The parts as one message, with the id of the first; a person who forwards one part has forwarded them all. */
export function joinParts(parts: readonly [Received, ...Received[]]): InboundMessage {
  const [first, ...rest] = parts;
  if (rest.length === 0) return first.message;
  const messages = parts.map(({ message }) => message);
  const forwarded = messages.filter((message) => message.forwarded === true);
  const authors = new Set(forwarded.map(({ forwardedFrom }) => forwardedFrom));
  return {
    ...first.message,
    content: kindOf(first) === 'text' ? joinTexts(parts) : joinContents(messages, authors.size > 1),
    media: messages.flatMap(({ media }) => media),
    mentioned: messages.some(({ mentioned }) => mentioned),
    ...(forwarded.length > 0 && { forwarded: true, forwardedFrom: namesOf([...authors]) }),
  };
}

/** The text as it was before it was cut; the apps drop the break at which they cut. */
function joinTexts(parts: readonly Received[]): string {
  return parts.reduce((text, { message }, at) => {
    const previous = parts[at - 1];
    if (previous === undefined) return message.content;
    return `${text}${previous.textLength === FULL_TEXT ? '' : '\n'}${message.content}`;
  }, '');
}

function joinContents(messages: readonly InboundMessage[], withAuthors: boolean): string {
  return messages
    .filter(({ content }) => content !== '')
    .map(({ content, forwardedFrom = 'someone else' }) =>
      withAuthors ? `${forwardedFrom}: ${content}` : content,
    )
    .join('\n');
}

function namesOf(authors: readonly (string | undefined)[]): string | undefined {
  if (authors.length <= 1) return authors[0];
  const names = authors.map((author) => author ?? 'someone else');
  const more = names.length - MAX_AUTHORS;
  return names.slice(0, MAX_AUTHORS).join(', ') + (more > 0 ? ` and ${more} others` : '');
}
