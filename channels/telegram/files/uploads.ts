/** Uploads to Telegram: which Bot API methods can send a file, and within which limits. */
import { open } from 'node:fs/promises';
import { type Api, InputFile, type RawApi } from 'grammy/web';
import type { OutboundFile } from '../../../src/protocol/channel.ts';
import { ChannelError } from '../../../src/protocol/errors.ts';

/** Largest file that a bot can send, in bytes (Bot API, "Sending files": 50 MB), with the rest of its request. */
export const MAX_UPLOAD_BYTES = 50_000_000;

/** Largest photo, in bytes: a larger one is sent as a document. */
const MAX_PHOTO_BYTES = 10_000_000;

/** Longest caption, in UTF-16 units after entity parsing. */
export const MAX_CAPTION = 1_024;

/** Slowest acceptable upload, in bytes per millisecond. */
const SLOWEST_UPLOAD = 128;

/** grammY types its signals with an old polyfill's class, but only listens to them, so native signals work. */
export type GrammySignal = NonNullable<Parameters<Api['getMe']>[0]>;

/** Time for the bytes of a file in addition to the usual time of a call, in milliseconds. */
export function uploadLimitMs(bytes: number): number {
  return Math.ceil(bytes / SLOWEST_UPLOAD);
}

/** Fields of all methods that send a file. */
export interface FileOptions {
  caption?: string;
  parse_mode?: 'HTML';
  message_thread_id?: number;
  reply_parameters?: { message_id: number; allow_sending_without_reply: true };
}

/** A method that sends files. Throws grammY's errors. */
export interface SendsFile {
  method: string;
  send(
    api: RawApi,
    to: FileOptions & { chat_id: string },
    file: InputFile,
    signal: GrammySignal,
  ): Promise<{ message_id: number }>;
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

const photo: SendsFile = {
  method: 'sendPhoto',
  send: (api, to, file, signal) => api.sendPhoto({ ...to, photo: file }, signal),
};
const voice: SendsFile = {
  method: 'sendVoice',
  send: (api, to, file, signal) => api.sendVoice({ ...to, voice: file }, signal),
};
const audio: SendsFile = {
  method: 'sendAudio',
  send: (api, to, file, signal) => api.sendAudio({ ...to, audio: file }, signal),
};
const video: SendsFile = {
  method: 'sendVideo',
  send: (api, to, file, signal) => api.sendVideo({ ...to, video: file }, signal),
};
const document: SendsFile = {
  method: 'sendDocument',
  send: (api, to, file, signal) => api.sendDocument({ ...to, document: file }, signal),
};

/**
 * The methods for a file, best first; a document can hold anything. Photos are at most 10 MB, voice messages OGG, MP3
 * or M4A, music MP3 or M4A, videos MP4.
 */
export function waysToSend({ kind, mimeType, bytes }: OutboundFile): [SendsFile, ...SendsFile[]] {
  const isMusic = /^audio\/(mpeg|mp4|x-m4a)$/.test(mimeType);
  if (kind === 'image' && /^image\/(jpeg|png|webp)$/.test(mimeType) && bytes <= MAX_PHOTO_BYTES)
    return [photo, document];
  if (kind === 'voice' && (isMusic || mimeType.startsWith('audio/ogg'))) return [voice, document];
  if ((kind === 'audio' || kind === 'voice') && isMusic) return [audio, document];
  if (kind === 'video' && mimeType === 'video/mp4') return [video, document];
  return [document];
}
