/** Uploads to Discord: as attachments of a message, and audio as a voice message. */
import { readFile } from 'node:fs/promises';
import { MessageFlags } from 'discord-api-types/v10';
import type { OutboundFile } from '../../../src/protocol/channel.ts';
import { ChannelError } from '../../../src/protocol/errors.ts';
import { lacksPermission, toChannelError } from '../errors.ts';
import type { RestCall } from '../rest/rest.ts';
import { type Content, contentWith } from '../sending.ts';

/**
 * Largest file that a bot can send where no one has paid for more, in bytes (Discord's documentation, "Uploading
 * Files").
 */
export const MAX_UPLOAD_BYTES = 10 * 1024 * 1024 - 64 * 1024;

/** A message with a file. */
export interface FileMessage {
  content: Content;
  files: NonNullable<RestCall['files']>;
}

/**
 * The forms in which a file can be sent, best first. Throws `ChannelError('rejected')` for a file that cannot be
 * read.
 */
export async function formsOf(file: OutboundFile): Promise<FileMessage[]> {
  const bytes = await readFile(file.path).catch((cause: unknown) => {
    throw new ChannelError('rejected', `The file ${file.name} cannot be read.`, { cause });
  });
  const files = [{ name: file.name, mimeType: file.mimeType, bytes }];
  const attached = { id: 0, filename: file.name };
  const caption = contentWith(file.caption?.text ?? '');
  const plain = { content: { ...caption, attachments: [attached] }, files };
  const seconds = file.kind === 'voice' && caption.content === '' ? oggSeconds(bytes) : undefined;
  if (seconds === undefined) return [plain];
  const sound = { ...attached, duration_secs: seconds, waveform: WAVEFORM };
  const content = { ...caption, flags: MessageFlags.IsVoiceMessage, attachments: [sound] };
  return [{ content, files }, plain];
}

/**
 * Discord draws up to 256 samples of a byte each; the audio itself is not decoded here, so all samples are the same.
 */
const WAVEFORM = Buffer.alloc(64, 96).toString('base64');

/** Positions in an Opus OGG file count this many samples a second, whatever the recording used (RFC 7845). */
const OPUS_RATE = 48_000;

/** Duration of a recording, from the last page of its OGG file; undefined for anything else. */
function oggSeconds(bytes: Buffer): number | undefined {
  if (bytes.subarray(0, 4).toString('latin1') !== 'OggS') return undefined;
  const last = bytes.lastIndexOf('OggS');
  if (last + 14 > bytes.length) return undefined;
  const seconds = Number(bytes.readBigInt64LE(last + 6)) / OPUS_RATE;
  return seconds > 0 ? seconds : undefined;
}

/**
 * The refusal of one form, after which another may succeed; throws every other error. Files need a separate
 * permission: a channel that accepts the bot's texts may refuse them.
 */
export function fileRefusal(error: unknown): ChannelError {
  const failure = toChannelError(error);
  if (failure.code === 'rejected') return failure;
  if (!lacksPermission(failure)) throw failure;
  const message =
    'The bot is not allowed to send files here on Discord: give it the Attach Files permission.';
  return new ChannelError('rejected', message, { cause: failure.cause });
}
