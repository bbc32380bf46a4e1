/** Converts a message or a file to send into the options of a Bot API call. Pure. */
import { createHash } from 'node:crypto';
import type { InlineKeyboardButton, InputRichMessageWithoutUpload } from 'grammy/types';
import type { OutboundFile, OutboundPart } from '../../../src/protocol/channel.ts';
import { GENERAL_TOPIC } from '../receiving/inbound.ts';

/** The topic and the message replied to. Sends must not name the General topic: Telegram would not find it. */
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

/** The number of a turn's draft; it must not be zero. Telegram animates changes to the same draft. */
export function draftIdOf(turnId: string): number {
  return 1 + (createHash('sha256').update(turnId).digest().readUInt32BE() % 0x7f_ff_ff_fe);
}

/** The text to send. */
export function textOf({ body, plain }: Pick<OutboundPart, 'body' | 'plain'>): string {
  return plain === true ? body.plain : body.text;
}

/**
 * Link previews stay off: the model's text must not make Telegram fetch an address. An edit without buttons removes them.
 */
export function formatOf({ plain, buttons }: OutboundPart): {
  parse_mode?: 'HTML';
  link_preview_options: { is_disabled: true };
  reply_markup?: { inline_keyboard: InlineKeyboardButton[][] };
} {
  return {
    ...(plain === true ? {} : { parse_mode: 'HTML' }),
    link_preview_options: { is_disabled: true },
    ...keyboardOf({ buttons }),
  };
}

/** The rich message that `WholeAnswers` has made. */
export function richOf({ body }: Pick<OutboundPart, 'body'>): InputRichMessageWithoutUpload {
  const message: InputRichMessageWithoutUpload = JSON.parse(body.text);
  return message;
}

/** Longest text that a button copies (Bot API `CopyTextButton`). */
const MAX_COPIED = 256;

/** Green and red (Bot API `InlineKeyboardButton.style`). */
const STYLES = { confirm: 'success', danger: 'danger' } as const;

/** The buttons below a message; the field is absent if there are none. */
export function keyboardOf({ buttons }: Pick<OutboundPart, 'buttons'>): {
  reply_markup?: { inline_keyboard: InlineKeyboardButton[][] };
} {
  const row = buttons.map(({ label, value, copy, style = 'normal' }) => ({
    text: label,
    ...(copy === undefined ? { callback_data: value } : { copy_text: { text: copy.slice(0, MAX_COPIED) } }),
    ...(style !== 'normal' && { style: STYLES[style] }),
  }));
  return row.length > 0 ? { reply_markup: { inline_keyboard: [row] } } : {};
}
