/** Converts a message or a file to send into the options of a Bot API call. */
import { createHash } from 'node:crypto';
import { open } from 'node:fs/promises';
import type { InlineKeyboardButton, InputRichMessageWithoutUpload } from 'grammy/types';
import { type Api, InputFile, type RawApi } from 'grammy/web';
import type { OutboundFile, OutboundPart, Rendered } from '../../src/protocol/channel.ts';
import { ChannelError } from '../../src/protocol/errors.ts';
import type { Button } from '../../src/protocol/message.ts';
import { GENERAL_TOPIC } from './receiving/update.ts';

/** grammY types its signals with an old polyfill's class, but only listens to them, so native signals work. */
export type GrammySignal = NonNullable<Parameters<Api['getMe']>[0]>;

/** Largest file that a bot can send, in bytes (Bot API, "Sending files": 50 MB), with the rest of its request. */
export const MAX_UPLOAD_BYTES = 50_000_000;
/** Largest photo, in bytes: a larger one is sent as a document. */
const MAX_PHOTO_BYTES = 10_000_000;
/** Longest caption, in UTF-16 units after entity parsing. */
export const MAX_CAPTION = 1_024;
/** Slowest acceptable upload, in bytes per millisecond. */
const SLOWEST_UPLOAD = 128;
/** Longest text that a button copies (Bot API `CopyTextButton`). */
const MAX_COPIED = 256;
/** Green and red (Bot API `InlineKeyboardButton.style`). */
const STYLES = { confirm: 'success', danger: 'danger' } as const;

/** True for an id of Telegram's own: a topic or a message of a chat of which the bot is part. */
export function isNumber(id: string): boolean {
  return /^\d+$/.test(id);
}

/** The topic of a call. */
export function topicOf(threadId: string | undefined): { message_thread_id?: number } {
  return threadId === undefined || !isNumber(threadId) ? {} : { message_thread_id: Number(threadId) };
}

/** The topic and the message replied to. Sends must not name the General topic: Telegram would not find it. */
export function placeOf({ threadId, replyTo }: OutboundPart | OutboundFile): {
  message_thread_id?: number;
  reply_parameters?: { message_id: number; allow_sending_without_reply: true };
} {
  const reply = { message_id: Number(replyTo), allow_sending_without_reply: true } as const;
  return {
    ...topicOf(threadId === GENERAL_TOPIC ? undefined : threadId),
    // What was written to an owner is in another chat than what is shown of it to the owner.
    ...(replyTo !== undefined && isNumber(replyTo) && { reply_parameters: reply }),
  };
}

/** The number of a turn's draft; it must not be zero. Telegram animates changes to the same draft. */
export function draftIdOf(turnId: string): number {
  return 1 + (createHash('sha256').update(turnId).digest().readUInt32BE() % 0x7f_ff_ff_fe);
}

/** The text to send. */
export function textOf({ body, plain }: { body: Rendered; plain?: boolean | undefined }): string {
  return plain === true ? body.plain : body.text;
}

/** The rich message that `WholeAnswers` has made. */
export function richOf(body: Rendered): InputRichMessageWithoutUpload {
  return JSON.parse(body.text);
}

/** No link previews: the model's text must not make Telegram fetch an address. An edit without buttons removes them. */
export function formatOf({ plain, buttons }: Pick<OutboundPart, 'plain' | 'buttons'>): {
  parse_mode?: 'HTML';
  link_preview_options: { is_disabled: true };
  reply_markup?: { inline_keyboard: InlineKeyboardButton[][] };
} {
  return {
    ...(plain !== true && { parse_mode: 'HTML' }),
    link_preview_options: { is_disabled: true },
    ...keyboardOf(buttons),
  };
}

/** The buttons below a message; the field is absent if there are none. */
export function keyboardOf(buttons: readonly Button[]): {
  reply_markup?: { inline_keyboard: InlineKeyboardButton[][] };
} {
  const row = buttons.map(({ label, value, copy, style = 'normal' }) => ({
    text: label,
    ...(copy === undefined ? { callback_data: value } : { copy_text: { text: copy.slice(0, MAX_COPIED) } }),
    ...(style !== 'normal' && { style: STYLES[style] }),
  }));
  return row.length > 0 ? { reply_markup: { inline_keyboard: [row] } } : {};
}

/** Where a file is sent, and its caption, if it has one. */
export function fileOptions<Target extends { chat_id: string }>(
  target: Target,
  { caption }: OutboundFile,
  plain: boolean,
) {
  if (caption === undefined || caption.length === 0) return target;
  return plain
    ? { ...target, caption: caption.plain }
    : { ...target, caption: caption.text, parse_mode: 'HTML' as const };
}

/** Time for the bytes of a file in addition to the usual time of a call, in milliseconds. */
export function uploadLimitMs(bytes: number): number {
  return Math.ceil(bytes / SLOWEST_UPLOAD);
}

/**
 * Passes `send` a file that is read from the disk while it is sent, and closes the file whatever happens. The file is
 * opened first, so that a missing file does not count as a lost answer. A name with `;` or quotes would end its field
 * of the form. Throws `ChannelError('rejected')`, and whatever `send` throws.
 */
export async function withInput<Sent>(
  { path, name }: OutboundFile,
  send: (input: InputFile) => Promise<Sent>,
): Promise<Sent> {
  const handle = await open(path).catch((cause: unknown) => {
    throw new ChannelError('rejected', `The file ${name} cannot be read.`, { cause });
  });
  const bytes = handle.createReadStream();
  try {
    return await send(new InputFile(bytes, name.replaceAll(/[";\\\r\n]/g, '_')));
  } finally {
    bytes.destroy();
  }
}

/** A method that sends files. Throws grammY's errors. */
interface UploadMethod {
  name: string;
  send(
    api: RawApi,
    options: ReturnType<typeof fileOptions<{ chat_id: string }>>,
    file: InputFile,
    signal: GrammySignal,
  ): Promise<{ message_id: number }>;
}

const photo: UploadMethod = {
  name: 'sendPhoto',
  send: (api, options, file, signal) => api.sendPhoto({ ...options, photo: file }, signal),
};
const voice: UploadMethod = {
  name: 'sendVoice',
  send: (api, options, file, signal) => api.sendVoice({ ...options, voice: file }, signal),
};
const audio: UploadMethod = {
  name: 'sendAudio',
  send: (api, options, file, signal) => api.sendAudio({ ...options, audio: file }, signal),
};
const video: UploadMethod = {
  name: 'sendVideo',
  send: (api, options, file, signal) => api.sendVideo({ ...options, video: file }, signal),
};
const document: UploadMethod = {
  name: 'sendDocument',
  send: (api, options, file, signal) => api.sendDocument({ ...options, document: file }, signal),
};

/** The methods for a file, best first. Photos are at most 10 MB, voice OGG, MP3 or M4A, music MP3 or M4A, videos MP4. */
export function uploadMethods({ kind, mimeType, bytes }: OutboundFile): [UploadMethod, ...UploadMethod[]] {
  const isMusic = /^audio\/(mpeg|mp4|x-m4a)$/.test(mimeType);
  if (kind === 'image' && /^image\/(jpeg|png|webp)$/.test(mimeType) && bytes <= MAX_PHOTO_BYTES)
    return [photo, document];
  if (kind === 'voice' && (isMusic || mimeType.startsWith('audio/ogg'))) return [voice, document];
  if ((kind === 'audio' || kind === 'voice') && isMusic) return [audio, document];
  if (kind === 'video' && mimeType === 'video/mp4') return [video, document];
  return [document];
}
