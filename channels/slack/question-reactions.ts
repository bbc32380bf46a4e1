/** Reactions of the app that show the state of a question on Slack; people see one at a time. */
import type { AskedQuestion } from '../../src/protocol/delivery.ts';
import { SingleReactions, type StateReactions } from '../../src/protocol/channel-parts.ts';
import { codeOf } from './errors.ts';
import { targetOf } from './message-fields.ts';
import type { SlackApi } from './web-api.ts';

/** The reactions that show the state of a question: ⏳, 👀, ✅ and ❌. */
const REACTIONS: StateReactions = {
  waiting: 'hourglass_flowing_sand',
  working: 'eyes',
  done: 'white_check_mark',
  failed: 'x',
};

/**
 * Creates the object that shows them (`reactions.add`, `reactions.remove`); `monotonicNow` returns milliseconds of a monotonic
 * clock.
 */
export function questionReactions(api: Pick<SlackApi, 'call'>, monotonicNow: () => number): SingleReactions {
  return new SingleReactions({
    reactions: REACTIONS,
    add: (question, name) => call(api, 'reactions.add', { question, name, isSo: 'already_reacted' }),
    takeAway: (question, name) => call(api, 'reactions.remove', { question, name, isSo: 'no_reaction' }),
    monotonicNow,
  });
}

/** `isSo` is the refusal that means that there is nothing left to do. Throws `ChannelError`. */
async function call(
  api: Pick<SlackApi, 'call'>,
  method: 'reactions.add' | 'reactions.remove',
  { question, name, isSo }: { question: AskedQuestion; name: string; isSo: string },
): Promise<void> {
  const { channel } = targetOf(question);
  try {
    await api.call(method, { channel, timestamp: question.messageId, name });
  } catch (error) {
    const code = codeOf(error);
    // A question that its author has deleted no longer needs a reaction.
    if (code !== isSo && code !== 'message_not_found') throw error;
  }
}
