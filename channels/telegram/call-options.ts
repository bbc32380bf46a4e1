/** What a message or a file to send becomes in a call of the Bot API. Pure. */
import type { OutboundFile, OutboundPart } from '../../src/contracts/channel.ts';
import { GENERAL_TOPIC } from './inbound.ts';

/** The topic and the message replied to. The General topic must not be named when sending: Telegram would not find it. */
export function placeOf({ threadId, replyTo }: Pick<OutboundPart, 'threadId' | 'replyTo'>): {
  message_thread_id?: number;
  reply_parameters?: { message_id: number; allow_sending_without_reply: true };
} {
  const topic = threadId === undefined || threadId === GENERAL_TOPIC ? undefined : Number(threadId);
  return {
    ...(topic === undefined ? {} : { message_thread_id: topic }),
    ...(replyTo === undefined
      ? {}
      : { reply_parameters: { message_id: Number(replyTo), allow_sending_without_reply: true } }),
  };
}

/** The caption of a file, if it has one. */
export function captionOf(
  { caption }: OutboundFile,
  plain: boolean,
): { caption?: string; parse_mode?: 'HTML' } {
  if (caption === undefined || caption.length === 0) return {};
  return plain ? { caption: caption.plain } : { caption: caption.text, parse_mode: 'HTML' };
}

/** The text to send. */
export function textOf({ body, plain }: OutboundPart): string {
  return plain === true ? body.plain : body.text;
}

/**
 * Link previews stay off: the model's text must not make Telegram fetch an address. An edit without buttons removes them.
 */
export function formatOf({ plain, buttons }: OutboundPart): {
  parse_mode?: 'HTML';
  link_preview_options: { is_disabled: true };
  reply_markup?: { inline_keyboard: { text: string; callback_data: string }[][] };
} {
  const row = buttons.map(({ label, value }) => ({ text: label, callback_data: value }));
  return {
    ...(plain === true ? {} : { parse_mode: 'HTML' }),
    link_preview_options: { is_disabled: true },
    ...(row.length > 0 ? { reply_markup: { inline_keyboard: [row] } } : {}),
  };
}
