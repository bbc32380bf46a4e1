/** What is delivered when a turn ends: its text, and the files that the text shows. */
import type { AnswerFiles, SentMedia } from '../../protocol/media.ts';
import { type Address, type OutboundMessage, parseAddress, type Place } from '../../protocol/message.ts';
import type { DeliveryPayload } from '../../protocol/store/ledger.ts';
import type { OutputResult } from './silent-reply.ts';
import { languageMark } from '../../protocol/texts/languages.ts';
import type { Say } from '../../protocol/texts/say.ts';

/** An answer with everything that is stored with it. */
export interface AnswerDelivery {
  attachments: readonly SentMedia[];
  outbound: DeliveryPayload | undefined;
  /** The same for the other chats of the session, without their places; undefined when there is nothing to show. */
  elsewhere: Omit<OutboundMessage, keyof Place> | undefined;
}

/** The answer with its files, which are kept as they are now. Throws `StoreError`. */
export async function deliveryWithFiles(
  answerFiles: AnswerFiles,
  turn: { turnId: string; folder: string; userId: string; replyTo?: string | undefined; say: Say },
  address: Address,
  { silent, isError, text }: Pick<OutputResult, 'silent' | 'isError' | 'text'>,
): Promise<AnswerDelivery> {
  if (silent) return { attachments: [], outbound: undefined, elsewhere: undefined };
  const { turnId, folder, replyTo, userId } = turn;
  const about = { replyTo, ...(userId !== 'system' && { asked: true }), ...languageMark(turn.say) };
  if (isError) {
    const answer = { content: text, isError };
    const outbound = deliveryOf(turnId, address, { ...answer, ...about });
    return { attachments: [], outbound, elsewhere: elsewhereOf(answer) };
  }
  const { media, content } = await answerFiles(folder, text, turn.say);
  const files = media.length === 0 ? {} : { media: [...media], folder };
  const answer = { content, isError, ...files };
  return {
    attachments: media,
    outbound: deliveryOf(turnId, address, { ...answer, ...about }),
    elsewhere: elsewhereOf(answer),
  };
}

type Answer = Pick<OutboundMessage, 'content' | 'isError'> &
  Partial<Pick<OutboundMessage, 'media' | 'folder'>>;

/** An answer as the chats that did not ask read it: it replies to nothing there, and has no buttons. */
export function elsewhereOf(answer: Answer): Omit<OutboundMessage, keyof Place> {
  return { media: [], buttons: [], ...answer };
}

/** The delivery of an answer; undefined for `http`, where the stored message is the delivery. */
export function deliveryOf(
  turnId: string,
  address: Address,
  answer: Answer & Partial<Pick<OutboundMessage, 'replyTo' | 'asked' | 'language'>>,
): DeliveryPayload | undefined {
  const place = parseAddress(address);
  if (place.channel === 'http') return undefined;
  return { ref: turnId, message: { media: [], buttons: [], ...place, ...answer, turnId } };
}
