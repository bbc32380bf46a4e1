/** Signs at questions on Matrix: the bot's reactions ("Event annotations and reactions"), of which people see one at a time. */
import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { AskedQuestion } from '../../src/contracts/delivery.ts';
import { ChannelError } from '../../src/contracts/errors.ts';
import { MAX_SIGNS, SingleSigns } from '../../src/contracts/platform/single-signs.ts';
import type { Signs } from '../../src/contracts/platform/single-signs.ts';
import { Recent } from '../../src/lib/recent.ts';
import { pathOf, RELATIONS } from './client.ts';
import type { MatrixClient } from './client.ts';
import { checkPlace } from './content.ts';
import { errcodeOf } from './errors.ts';
import { readEvent, readReaction } from './events.ts';
import type { Sending } from './sending.ts';

/** How long the event of a reaction is remembered, in milliseconds; later it is looked up. */
const KNOWN_MS = 6 * 3_600_000;

/** The reactions that show the state of a question. */
const SIGNS: Signs = { waiting: '⏳', working: '👀', done: '✅', failed: '❌' };

const Page = z.object({ chunk: z.array(z.unknown()) });

export interface QuestionSignsParts {
  client: Pick<MatrixClient, 'call'>;
  sending: Pick<Sending, 'annotate' | 'delete'>;
  /** The id of the bot. Throws `ChannelError`. */
  self: () => Promise<string>;
  monotonicMs: () => number;
}

/** Creates the object that shows them. */
export function questionSigns(parts: QuestionSignsParts): SingleSigns {
  const reactions = new Reactions(parts);
  return new SingleSigns({
    signs: SIGNS,
    add: (question, sign) => unlessForbidden(reactions.add(question, sign)),
    takeAway: (question, sign) => unlessForbidden(reactions.takeAway(question, sign)),
    monotonicNow: parts.monotonicMs,
  });
}

class Reactions {
  readonly #parts: QuestionSignsParts;
  /** Event ids by question and sign. */
  readonly #known: Recent<string>;

  constructor(parts: QuestionSignsParts) {
    this.#parts = parts;
    this.#known = new Recent(KNOWN_MS, MAX_SIGNS, parts.monotonicMs);
  }

  async add(question: AskedQuestion, sign: string): Promise<void> {
    checkPlace(question);
    try {
      const id = await this.#parts.sending.annotate(question, question.messageId, sign, randomUUID());
      this.#known.set(keyOf(question, sign), id);
    } catch (error) {
      if (errcodeOf(error) !== 'M_DUPLICATE_ANNOTATION') throw error;
    }
  }

  async takeAway(question: AskedQuestion, sign: string): Promise<void> {
    checkPlace(question);
    const key = keyOf(question, sign);
    const id = this.#known.get(key) ?? (await this.#find(question, sign));
    if (id !== undefined) await this.#parts.sending.delete({ id }, question);
    this.#known.delete(key);
  }

  /** The bot's reaction to a question, from any process; searches the newest reactions ("Relationships API"). */
  async #find({ chatId, messageId }: AskedQuestion, sign: string): Promise<string | undefined> {
    const { client, self } = this.#parts;
    const path = pathOf(RELATIONS, chatId, 'relations', messageId, 'm.annotation', 'm.reaction');
    const { data } = Page.safeParse(await client.call('GET', path, { query: { limit: '50' } }));
    const own = await self();
    return (data?.chunk ?? [])
      .flatMap((raw) => readEvent(raw) ?? [])
      .find((event) => event.sender === own && readReaction(event)?.key === sign)?.event_id;
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

function keyOf({ chatId, messageId }: AskedQuestion, sign: string): string {
  return `${chatId} ${messageId} ${sign}`;
}
