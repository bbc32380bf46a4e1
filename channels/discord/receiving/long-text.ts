/** Texts that are too long for a Discord message: its apps send them as a file, which is read back as the text. */
import type { Log } from '../../../src/contracts/log.ts';
import { mediaOf, longTextOf, MAX_LONG_TEXT_BYTES } from './attachments.ts';
import type { FileDownload } from '../files/file-download.ts';
import type { RawMessage } from './inbound.ts';
import { retryTransient } from '../rest/retry.ts';

/** Longest wait for such a text, in milliseconds: until then the chat waits. */
const READ_MS = 15_000;

/** The dependencies of reading a text. */
export interface LongTextParts {
  files: Pick<FileDownload, 'open'>;
  signal: AbortSignal;
  log: Log;
}

/**
 * The message with its file's text as its own. If the file cannot be read, or turns out too long, it stays a file:
 * the turn may still fetch it. Throws only the signal's reason.
 */
export async function withLongText(message: RawMessage, parts: LongTextParts): Promise<RawMessage> {
  const file = longTextOf(message);
  if (file === undefined) return message;
  try {
    const limit = AbortSignal.any([parts.signal, AbortSignal.timeout(READ_MS)]);
    const text = await retryTransient(() => read(message, file, { ...parts, signal: limit }), limit);
    if (text === undefined) return message;
    const content = [message.content, text].filter(Boolean).join('\n');
    return { ...message, content, attachments: message.attachments.filter((one) => one !== file) };
  } catch (error) {
    parts.signal.throwIfAborted();
    parts.log.warn({ err: error, messageId: message.id }, 'discord_long_text_unread');
    return message;
  }
}

/** Undefined for more text than a message can hold. */
async function read(
  message: RawMessage,
  file: RawMessage['attachments'][number],
  { files, signal }: LongTextParts,
): Promise<string | undefined> {
  const of = { channelId: message.channel_id, messageId: message.id };
  const chunks: Uint8Array[] = [];
  let length = 0;
  for (const media of mediaOf({ attachments: [file] }, of))
    for await (const chunk of await files.open(media, signal)) {
      length += chunk.length;
      if (length > MAX_LONG_TEXT_BYTES) return undefined;
      chunks.push(chunk);
    }
  return new TextDecoder().decode(Buffer.concat(chunks));
}
