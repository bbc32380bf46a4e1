/** Reactions of the bot that show the state of a question on Matrix ("Event annotations and reactions"); people see one at a time. */
import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { AskedQuestion } from '../../src/protocol/delivery.ts';
import { ChannelError } from '../../src/protocol/errors.ts';
import { MAX_REACTIONS, SingleReactions, type StateReactions } from '../../src/protocol/channel-parts.ts';
import { Recent } from '../../src/lib/recent.ts';
import { type MatrixClient, pathOf, RELATIONS } from './client.ts';
import { checkPlace } from './content.ts';
import { errcodeOf } from './errors.ts';
import { readEvent, readReaction } from './events.ts';
import type { Sending } from './sending.ts';

/** How long the event of a reaction is remembered, in milliseconds; later it is looked up. */
const KNOWN_MS = 6 * 3_600_000;

/** The reactions that show the state of a question. */
const REACTIONS: StateReactions = { waiting: '⏳', working: '👀', done: '✅', failed: '❌' };

const Page = z.object({ chunk: z.array(z.unknown()) });

export interface QuestionReactionsParts {
  client: Pick<MatrixClient, 'call'>;
  sending: Pick<Sending, 'annotate' | 'delete'>;
  /** The id of the bot. Throws `ChannelError`. */
  self: () => Promise<string>;
  monotonicMs: () => number;
}

/** Creates the object that shows them. */
export function questionReactions(parts: QuestionReactionsParts): SingleReactions {
  const calls = new ReactionCalls(parts);
  return new SingleReactions({
    reactions: REACTIONS,
    add: (question, emoji) => unlessForbidden(calls.add(question, emoji)),
    takeAway: (question, emoji) => unlessForbidden(calls.takeAway(question, emoji)),
    monotonicNow: parts.monotonicMs,
  });
}

class ReactionCalls {
  readonly #parts: QuestionReactionsParts;
  /** Event ids by question and emoji. */
  readonly #known: Recent<string>;

  constructor(parts: QuestionReactionsParts) {
    this.#parts = parts;
    this.#known = new Recent(KNOWN_MS, MAX_REACTIONS, parts.monotonicMs);
  }

  async add(question: AskedQuestion, emoji: string): Promise<void> {
    checkPlace(question);
    try {
      const id = await this.#parts.sending.annotate(question, question.messageId, emoji, randomUUID());
      this.#known.set(keyOf(question, emoji), id);
    } catch (error) {
      if (errcodeOf(error) !== 'M_DUPLICATE_ANNOTATION') throw error;
    }
  }

  async takeAway(question: AskedQuestion, emoji: string): Promise<void> {
    checkPlace(question);
    const key = keyOf(question, emoji);
    const id = this.#known.get(key) ?? (await this.#find(question, emoji));
    if (id !== undefined) await this.#parts.sending.delete({ id }, question);
    this.#known.delete(key);
  }

  /** The bot's reaction to a question, from any process; searches the newest reactions ("Relationships API"). */
  async #find({ chatId, messageId }: AskedQuestion, emoji: string): Promise<string | undefined> {
    const { client, self } = this.#parts;
    const path = pathOf(RELATIONS, chatId, 'relations', messageId, 'm.annotation', 'm.reaction');
    const { data } = Page.safeParse(await client.call('GET', path, { query: { limit: '50' } }));
    const own = await self();
    return (data?.chunk ?? [])
      .flatMap((raw) => readEvent(raw) ?? [])
      .find((event) => event.sender === own && readReaction(event)?.key === emoji)?.event_id;
  }
}

/** A missing power level stays missing for a while: the bot leaves the room alone. */
async function unlessForbidden(work: Promise<void>): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (error instanceof ChannelError && error.code === 'blocked')
      throw new ChannelError('rejected', error.message, { cause: error.cause });
    throw error;
  }
}

function keyOf({ chatId, messageId }: AskedQuestion, emoji: string): string {
  return `${chatId} ${messageId} ${emoji}`;
}
