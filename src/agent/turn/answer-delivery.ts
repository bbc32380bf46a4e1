/** What is delivered when a turn ends: its text, and the files that the text shows. */
import type { AnswerFiles, SentMedia } from '../../contracts/media.ts';
import { parseAddress } from '../../contracts/message.ts';
import type { Address, OutboundMessage } from '../../contracts/message.ts';
import type { DeliveryPayload } from '../../contracts/store/ledger.ts';
import type { OutputResult } from './silent-reply.ts';

/** An answer with everything that is stored of it. */
export interface AnswerDelivery {
  attachments: readonly SentMedia[];
  outbound: DeliveryPayload | undefined;
}

/** The answer with its files, which are kept as they are now. Throws `StoreError`. */
export async function deliveryWithFiles(
  answerFiles: AnswerFiles,
  { turnId, folder, replyTo }: { turnId: string; folder: string; replyTo?: string | undefined },
  address: Address,
  { silent, isError, text }: Pick<OutputResult, 'silent' | 'isError' | 'text'>,
): Promise<AnswerDelivery> {
  if (silent) return { attachments: [], outbound: undefined };
  if (isError)
    return { attachments: [], outbound: deliveryOf(turnId, address, { content: text, isError, replyTo }) };
  const { media, content } = await answerFiles(folder, text);
  const files = media.length === 0 ? {} : { media: [...media], folder };
  return {
    attachments: media,
    outbound: deliveryOf(turnId, address, { content, isError, replyTo, ...files }),
  };
}

/** The delivery of an answer; undefined for `http`, where the stored message is the delivery. */
export function deliveryOf(
  turnId: string,
  address: Address,
  answer: Pick<OutboundMessage, 'content' | 'isError'> &
    Partial<Pick<OutboundMessage, 'media' | 'folder' | 'replyTo'>>,
): DeliveryPayload | undefined {
  const place = parseAddress(address);
  if (place.channel === 'http') return undefined;
  return { ref: turnId, message: { media: [], buttons: [], ...place, ...answer, turnId } };
}
