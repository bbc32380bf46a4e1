/** What users in chats see, and when: shared by the rows that ask in chats. */
import { setTimeout as pause } from 'node:timers/promises';
import { type Figure, quantile } from '../figures.ts';

/** A figure before its database is known. */
export type Measured = Omit<Figure, 'on'>;

/** An answer as seen, in milliseconds after the question; `texts` are all its texts, oldest first. */
export interface Seen {
  firstMs: number;
  lastMs: number;
  texts: readonly string[];
}

/** The bot's messages in a place: their texts, and when each was shown (of `performance.now()`). */
export type Look = () => { texts: readonly string[]; shownAt: readonly number[] }[];

const ANSWERED_WITHIN_MS = 180_000;
const LOOK_EVERY_MS = 20;
/** Longer than any interval between two calls: any pending call has arrived by then. */
const QUIET_MS = 3_500;

/** Asks, and waits until the whole answer is on screen. Throws when it is not within three minutes. */
export async function seen(look: Look, text: string, ask: () => unknown): Promise<Seen> {
  const tokens = Number(text.split(' ').at(-1));
  const askedAt = performance.now();
  ask();
  for (;;) {
    const [message] = look();
    if (message?.texts.at(-1)?.endsWith(`word${tokens - 1}`) === true) {
      const { texts, shownAt } = message;
      return { firstMs: shownAt[0]! - askedAt, lastMs: shownAt.at(-1)! - askedAt, texts };
    }
    if (performance.now() - askedAt > ANSWERED_WITHIN_MS)
      throw new Error(`"${text}" was not answered: "${message?.texts.at(-1)?.slice(-40)}"`);
    await pause(LOOK_EVERY_MS);
  }
}

/** A look at a screen that keeps no history: what it shows is recorded at each look. */
export function noted(screen: () => readonly string[]): Look {
  const texts: string[] = [];
  const shownAt: number[] = [];
  return () => {
    const text = screen()[0];
    if (text !== undefined && text !== texts.at(-1)) {
      texts.push(text);
      shownAt.push(performance.now());
    }
    return texts.length === 0 ? [] : [{ texts, shownAt }];
  };
}

/** Asks this many times, evenly spread over a time. */
export async function askedWithin(
  times: number,
  withinMs: number,
  ask: (nth: number) => Promise<Seen>,
): Promise<Seen[]> {
  const asked: Promise<Seen>[] = [];
  for (let nth = 0; nth < times; nth += 1) {
    asked.push(ask(nth));
    await pause(withinMs / times);
  }
  return await Promise.all(asked);
}

/** Resolves once no call can be in flight anymore. */
export async function quiet(): Promise<void> {
  await pause(QUIET_MS);
}

/** When the first texts were seen. */
export function firstOf(all: readonly Seen[]): number[] {
  return all.map(({ firstMs }) => firstMs);
}

/** When the last answer was complete. */
export function lastOf(all: readonly Seen[]): number {
  return Math.max(...all.map(({ lastMs }) => lastMs));
}

/**
 * Looks that showed the same as the look before. `buttons`: the last edit of an answer changes the buttons below it, and may
 * keep its text.
 */
export function sameTexts(all: readonly Seen[], buttons = false): number {
  const looks = all.map(({ texts }) => (buttons ? texts.slice(0, -1) : texts));
  return looks.flatMap((texts) => texts.filter((text, nth) => text === texts[nth - 1])).length;
}

/** Median and 99th percentile, in the format recorded for the first version. */
export function spread(values: readonly number[]): string {
  const [p50, p99] = [0.5, 0.99].map((share) => Math.round(quantile(values, share)).toLocaleString('en'));
  return `${p50} / ${p99}`;
}

/** A figure with its bar; `before` is what the first version took. */
export function figure(what: string, value: number, unit: string, atMost: number, before?: string): Measured {
  return { what, value, unit, bar: { atMost }, ...(before !== undefined && { note: `before: ${before}` }) };
}
