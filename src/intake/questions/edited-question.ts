/** A question that its sender edits: before its turn it changes, afterwards the sender may have it asked again. */
import type { MessageBus } from '../../contracts/bus.ts';
import { addressOf, answeredMessage, userIdOf } from '../../contracts/message.ts';
import type { InboundMessage, SessionKey } from '../../contracts/message.ts';
import type { PressHandler, Receipt } from '../../contracts/receive.ts';
import type { Ledger } from '../../contracts/store/ledger.ts';
import type { QuestionStore } from '../../contracts/store/questions.ts';

export interface EditDeps {
  questions: QuestionStore;
  ledger: Pick<Ledger, 'enqueue'>;
  bus: Pick<MessageBus, 'claimingNode' | 'runHeads'>;
}

/** The offer, once for each question. */
export const OFFER = 'I had begun with your question as it was before.';
const LABEL = 'Ask again';

const VALUE = /^again:([\w-]{1,64})$/;

/** Applies an edit; its effect is committed when it resolves. Throws only `StoreError`. */
export async function editQuestion(
  { questions, ledger, bus }: EditDeps,
  message: InboundMessage,
  session: SessionKey,
): Promise<Receipt> {
  const { messageId, senderId, content, channel, chatId, threadId } = message;
  if (messageId === undefined || content.trim() === '') return { kind: 'handled' };
  const outcome = await questions.editQuestion(session, { messageId, senderId, content });
  if (outcome.kind !== 'kept') return { kind: 'handled' };
  const buttons = [{ label: LABEL, value: `again:${outcome.turnId}` }];
  const replyTo = answeredMessage(message);
  const offer = { channel, chatId, threadId, content: OFFER, replyTo, media: [], buttons };
  const delivery = { ref: `edited:${outcome.turnId}`, message: offer };
  bus.runHeads(await ledger.enqueue(addressOf(message), delivery, bus.claimingNode('out')));
  return { kind: 'handled' };
}

/** Makes the handler of the offer's button: the newest text is asked, each version once, by whoever wrote it or an owner. */
export function createAskAgain({ questions }: Pick<EditDeps, 'questions'>): PressHandler {
  return async ({ value, address, userId, owner }) => {
    const turnId = VALUE.exec(value)?.[1];
    if (turnId === undefined) return undefined;
    const edited = await questions.editedQuestion(turnId);
    if (edited === undefined) return { reply: 'I no longer know that question. Please send it again.' };
    const [channel = ''] = address.split(':');
    if (!owner && userId !== userIdOf({ channel, senderId: edited.senderId }))
      return { reply: 'Only whoever wrote the question can ask it again.' };
    const { content, edits } = edited;
    return {
      reply: 'Asked again.',
      passedOn: { id: `again:${turnId}:${edits}`, content, options: {} },
    };
  };
}
