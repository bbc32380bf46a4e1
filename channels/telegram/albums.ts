/**
 * Albums: Telegram delivers each picture of one as an update of its own. The parts become one message once no more of them
 * come. Until then the offset stays before the first part, so that Telegram keeps them: nothing is held only in memory.
 */
import type { InboundMessage } from '../../src/contracts/message.ts';

/** Most parts of an album (Bot API `sendMediaGroup`; the apps allow no more either). */
export const MAX_ALBUM_PARTS = 10;

/** A message of one update. */
export interface Received {
  /** Of the update. */
  id: number;
  message: InboundMessage;
  /** The same for all parts of an album. */
  album?: string | undefined;
}

/** Messages that may be published, each with its parts, in the order of their first updates. */
export interface Collected<T extends Received> {
  whole: [T, ...T[]][];
  /** Albums that may still get parts: they come again with the next poll. */
  open: T[];
}

/** Tells whole albums from those that may still get parts, from one poll to the next. */
export class Albums {
  /** How many parts each open album had at the last poll. */
  #open = new Map<string, number>();

  /**
   * Takes the unpublished messages of one poll, in the order of their updates. An album is whole when it has all the parts
   * that one can have, when its chat has gone on, or when it has got no part since the last poll.
   */
  collect<T extends Received>(batch: readonly T[]): Collected<T> {
    const whole: [T, ...T[]][] = [];
    const open: T[] = [];
    const counts = new Map<string, number>();
    for (const [key, parts] of Map.groupBy(batch, ({ id, album }) => album ?? id)) {
      const [first, ...rest] = parts;
      if (first === undefined) continue;
      const isWhole =
        typeof key === 'number' ||
        parts.length >= MAX_ALBUM_PARTS ||
        this.#open.get(key) === parts.length ||
        hasGoneOn(batch, parts.at(-1) ?? first);
      if (isWhole) whole.push([first, ...rest]);
      else {
        open.push(...parts);
        counts.set(key, parts.length);
      }
    }
    this.#open = counts;
    return { whole, open };
  }
}

/** True when something else came in the chat after this part. */
function hasGoneOn(batch: readonly Received[], part: Received): boolean {
  const { chatId } = part.message;
  return batch.some(({ id, album, message }) => {
    return id > part.id && album !== part.album && message.chatId === chatId;
  });
}

/** The parts as one message, with the id of the first; whoever forwards one part has forwarded them all. */
export function joinParts([first, ...rest]: readonly [Received, ...Received[]]): InboundMessage {
  if (rest.length === 0) return first.message;
  const parts = [first, ...rest].map(({ message }) => message);
  const forwarded = parts.find((part) => part.forwarded === true);
  return {
    ...first.message,
    content: parts
      .map(({ content }) => content)
      .filter(Boolean)
      .join('\n'),
    media: parts.flatMap(({ media }) => media),
    mentioned: parts.some(({ mentioned }) => mentioned),
    ...(forwarded && { forwarded: true, forwardedFrom: forwarded.forwardedFrom }),
  };
}
