/** A question that its sender edits: before its turn it is updated, afterwards the sender may have it asked again. */
import type { MessageBus } from '../../protocol/bus.ts';
import {
  addressOf,
  answeredMessage,
  type InboundMessage,
  type SessionKey,
  userIdOf,
} from '../../protocol/message.ts';
import type { PressHandler, Receipt } from '../../protocol/receive.ts';
import type { Ledger } from '../../protocol/store/ledger.ts';
import type { QuestionStore } from '../../protocol/store/group-chats.ts';
import type { Languages } from '../../protocol/texts/languages.ts';

export interface EditDeps {
  questions: QuestionStore;
  ledger: Pick<Ledger, 'enqueue'>;
  bus: Pick<MessageBus, 'claimingNode' | 'runHeads'>;
  languages: Pick<Languages, 'say'>;
}

const VALUE = /^again:([\w-]{1,64})$/;

/** Applies an edit; its effect is committed when it resolves. Throws only `StoreError`. */
export async function editQuestion(
  { questions, ledger, bus, languages }: EditDeps,
  message: InboundMessage,
  session: SessionKey,
): Promise<Receipt> {
  const { messageId, senderId, content, channel, chatId, threadId } = message;
  if (messageId === undefined || content.trim() === '') return { kind: 'handled' };
  const outcome = await questions.editQuestion(session, { messageId, senderId, content });
  if (outcome.kind !== 'kept') return { kind: 'handled' };
  // The offer, once for each question.
  const say = languages.say(message);
  const buttons = [{ label: say('edited.again'), value: `again:${outcome.turnId}` }];
  const replyTo = answeredMessage(message);
  const offer = { channel, chatId, threadId, content: say('edited.offer'), replyTo, media: [], buttons };
  const delivery = { ref: `edited:${outcome.turnId}`, message: offer };
  bus.runHeads(await ledger.enqueue(addressOf(message), delivery, bus.claimingNode('out')));
  return { kind: 'handled' };
}

/**
 * Makes the handler of the offer's button: the newest text is asked, each version once, when its author or an owner
 * presses.
 */
export function createAskAgain({ questions }: Pick<EditDeps, 'questions'>): PressHandler {
  return async ({ value, address, userId, owner, say }) => {
    const turnId = VALUE.exec(value)?.[1];
    if (turnId === undefined) return undefined;
    const edited = await questions.editedQuestion(turnId);
    if (edited === undefined) return { reply: say('edited.forgotten') };
    const [channel = ''] = address.split(':');
    if (!owner && userId !== userIdOf({ channel, senderId: edited.senderId }))
      return { reply: say('edited.foreign') };
    const { content, edits } = edited;
    return {
      reply: say('answer.asked_again'),
      passedOn: { id: `again:${turnId}:${edits}`, content, options: {} },
    };
  };
}
