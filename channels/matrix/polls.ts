/** Polls as text: the bot can read one, but does not vote. Pure. */
import { z } from 'zod';
import { oneLine } from '../../src/lib/text.ts';

/** The types of a poll's start event: the one that clients send so far (MSC3381), and the one in the specification. */
export const POLL_TYPES = ['org.matrix.msc3381.poll.start', 'm.poll.start'];

/** Maximum number of options listed; MSC3381 allows no more. */
const MAX_ANSWERS = 20;

/** A text under its old name, or under the one in the specification (`m.text`: the same text in several formats). */
const text = z
  .object({
    'org.matrix.msc1767.text': z.string().optional().catch(undefined),
    'm.text': z
      .array(z.object({ body: z.string() }))
      .optional()
      .catch(undefined),
  })
  .transform((named) => oneLine(named['org.matrix.msc1767.text'] ?? named['m.text']?.[0]?.body ?? ''));

const poll = z.object({ question: text, answers: z.array(text) });
const content = z.object({
  'org.matrix.msc3381.poll.start': poll.optional().catch(undefined),
  'm.poll': poll.optional().catch(undefined),
});

/** A poll's question with its options; undefined for anything that is not a poll. */
export function readPoll(given: unknown): string | undefined {
  const { data } = content.safeParse(given);
  const begun = data?.['m.poll'] ?? data?.['org.matrix.msc3381.poll.start'];
  if (begun === undefined) return undefined;
  return `[poll "${begun.question}": ${begun.answers.slice(0, MAX_ANSWERS).join(' / ')}]`;
}
