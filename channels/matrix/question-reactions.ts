/** Reactions of the bot that show the state of a question on Matrix ("Event annotations and reactions"); people see one at a time. */
import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { AskedQuestion } from '../../src/protocol/delivery.ts';
import {
  MAX_REACTIONS,
  SingleReactions,
  STATE_EMOJIS,
  unlessForbidden,
} from '../../src/protocol/channel-parts.ts';
import { Recent } from '../../src/lib/recent.ts';
import { errcodeOf, type MatrixClient, pathOf, RELATIONS } from './client.ts';
import { checkPlace } from './content.ts';
import { readEvents, readReaction } from './events.ts';
import type { Sending } from './sending.ts';

/** How long the event of a reaction is remembered, in milliseconds; later it is looked up. */
const REMEMBERED_MS = 6 * 3_600_000;

const Page = z.object({ chunk: z.array(z.unknown()) });

/** Creates the object that shows them; `self` is the id of the bot, and throws `ChannelError`. */
export function questionReactions(
  client: MatrixClient,
  sending: Sending,
  self: () => Promise<string>,
  monotonicMs: () => number,
): SingleReactions {
  const reactionIds = new Recent<string>(REMEMBERED_MS, MAX_REACTIONS, monotonicMs);
  const add = async (question: AskedQuestion, emoji: string): Promise<void> => {
    checkPlace(question);
    try {
      const id = await sending.annotate(question, question.messageId, emoji, randomUUID());
      reactionIds.set(keyOf(question, emoji), id);
    } catch (error) {
      if (errcodeOf(error) !== 'M_DUPLICATE_ANNOTATION') throw error;
    }
  };
  const remove = async (question: AskedQuestion, emoji: string): Promise<void> => {
    checkPlace(question);
    const key = keyOf(question, emoji);
    const id = reactionIds.get(key) ?? (await findReaction(client, question, emoji, self));
    if (id !== undefined) await sending.delete({ id }, question);
    reactionIds.delete(key);
  };
  return new SingleReactions({
    reactions: STATE_EMOJIS,
    add: (question, emoji) => unlessForbidden(add(question, emoji)),
    takeAway: (question, emoji) => unlessForbidden(remove(question, emoji)),
    monotonicNow: monotonicMs,
  });
}

/** The bot's reaction to a question, from any process; searches the newest reactions ("Relationships API"). */
async function findReaction(
  client: MatrixClient,
  { chatId, messageId }: AskedQuestion,
  emoji: string,
  self: () => Promise<string>,
): Promise<string | undefined> {
  const path = pathOf(RELATIONS, chatId, 'relations', messageId, 'm.annotation', 'm.reaction');
  const { data } = Page.safeParse(await client.call('GET', path, { query: { limit: '50' } }));
  const userId = await self();
  return readEvents(data?.chunk).find(
    (event) => event.sender === userId && readReaction(event)?.key === emoji,
  )?.event_id;
}

function keyOf({ chatId, messageId }: AskedQuestion, emoji: string): string {
  return `${chatId} ${messageId} ${emoji}`;
}
