/**
 * The files of a message and the code that is too long for it, each sent as a separate message after the text; one
 * that cannot be shown leaves a sentence in its place, and code then stays text.
 */
import type { Channel, Rendered } from '../../protocol/channel.ts';
import { ChannelError, GatewayError, ToolError } from '../../protocol/errors.ts';
import type { LaneHead } from '../../protocol/store/lanes.ts';
import type { Log } from '../../protocol/log.ts';
import type { OutgoingFiles, SentMedia } from '../../protocol/media.ts';
import type { OutboundMessage } from '../../protocol/message.ts';
import { parseMarkdown } from '../../lib/markdown/markdown.ts';
import { inMegabytes } from '../../lib/text.ts';
import { isRefusal } from '../final/giving-up.ts';
import type { PartDelivery } from '../final/part-delivery.ts';
import type { CodeFile } from './long-code.ts';
import type { PlainKey, Say } from '../../protocol/texts/say.ts';

/** How long to wait for a file that another node may still have to share, in milliseconds. */
export const FILE_WAIT_MS = 30_000;

export interface FileParts {
  channel: Channel;
  head: Pick<LaneHead, 'waitedMs'>;
  message: OutboundMessage;
  /** Code from its text. */
  code: readonly CodeFile[];
  /** The messages that show the files, with a separate order: texts of the answer come and go while it grows. */
  parts: PartDelivery;
  /** The messages that show the code at this index as text, if the chat accepts no file. */
  codeParts: (index: number) => Promise<PartDelivery>;
  /** Cuts a Markdown text into messages. */
  cut: (text: string) => Promise<Rendered[]>;
  files: Pick<OutgoingFiles, 'copy' | 'write'>;
  say: Say;
  log: Log;
}

/** The ref under which the messages of a delivery's files are stored. */
export function filesRef(ref: string): string {
  return `${ref}:files`;
}

/**
 * Shows every file of the message with its caption; a caption that is too long follows as a text. Throws
 * `ChannelError` and `StoreError` if it should be retried.
 */
export async function sendFiles(sending: FileParts): Promise<void> {
  const { channel, message, parts, code } = sending;
  let index = 0;
  for (const file of code) {
    await sendCode(sending, file, index);
    index += 1;
  }
  for (const file of message.media) {
    const caption = channel.render(parseMarkdown(file.caption ?? ''));
    const fits = caption.length <= channel.capabilities.maxCaption;
    await sendFile(sending, file, index, fits ? caption : undefined);
    index += 1;
    for (const text of fits ? [] : await sending.cut(file.caption ?? '')) {
      await parts.put(index, text, false);
      index += 1;
    }
  }
}

async function sendCode(
  sending: FileParts,
  { name, code, markdown }: CodeFile,
  index: number,
): Promise<void> {
  const { channel, message, parts, cut, files, log } = sending;
  if (parts.has(index)) return;
  try {
    await using copy = await files.write(code);
    const bytes = Buffer.byteLength(code);
    await parts.putFile(index, { kind: 'file', name, mimeType: 'text/plain', bytes, path: copy.path });
  } catch (error) {
    // A bot may be allowed to write here but not to send files.
    const isRefused = isRefusal(error) || (error instanceof ChannelError && error.code === 'blocked');
    if (!isRefused) throw error;
    log.warn({ err: error, channel: channel.name, chatId: message.chatId, file: name }, 'code_sent_as_text');
    const asText = await sending.codeParts(index);
    for (const [nth, part] of (await cut(markdown)).entries()) await asText.put(nth, part, false);
    const why: PlainKey = 'file.refused_as_text';
    await explain(sending, index, { name, caption: '', why: sending.say(why) });
  }
}

async function sendFile(
  sending: FileParts,
  file: SentMedia,
  index: number,
  caption: Rendered | undefined,
): Promise<void> {
  const { channel, message, parts, files, log } = sending;
  if (parts.has(index)) return;
  const about = { name: file.name, caption: caption && file.caption };
  const { maxFileBytes } = channel.capabilities;
  if (channel.sendFile === undefined)
    return await explain(sending, index, { ...about, why: sending.say('file.none_here') });
  if (file.bytes > maxFileBytes) {
    const size = inMegabytes(file.bytes);
    const why = sending.say('file.too_large', { size, most: inMegabytes(maxFileBytes) });
    return await explain(sending, index, { ...about, why });
  }
  try {
    await using copy = await files.copy(message.folder ?? '', file);
    const { kind, name, mimeType, bytes } = file;
    await parts.putFile(index, { kind, name, mimeType, bytes, path: copy.path, caption });
  } catch (error) {
    const why = reasonOf(error, sending.head);
    if (why === undefined) throw laterOf(error);
    log.warn({ err: error, channel: channel.name, chatId: message.chatId, file: file.file }, 'file_not_sent');
    await explain(sending, index, { ...about, why: sending.say(why) });
  }
}

/** Why a file will never be shown here; undefined if it may be later. */
function reasonOf(error: unknown, { waitedMs }: Pick<LaneHead, 'waitedMs'>): PlainKey | undefined {
  if (isRefusal(error)) return 'file.refused';
  if (!(error instanceof ToolError)) return undefined;
  if (error.code === 'not_found' && waitedMs < FILE_WAIT_MS) return undefined;
  return error.code === 'changed' ? 'file.changed' : 'file.gone';
}

/** A file that does not exist yet is requested again. */
function laterOf(error: unknown): unknown {
  if (!(error instanceof ToolError)) return error;
  return new GatewayError('file_missing', error.message, { retryable: true, cause: error });
}

/** Puts a sentence in place of the file, with the caption that would appear below it. */
async function explain(
  { parts, cut, say }: FileParts,
  index: number,
  { name, caption = '', why }: { name: string; caption: string | undefined; why: string },
): Promise<void> {
  const plainName = name.replaceAll(/[\\`*_[\]~]/g, String.raw`\$&`);
  const [sentence] = await cut(`${say('file.not_sent', { name: plainName, why })}\n\n${caption}`);
  if (sentence !== undefined) await parts.put(index, sentence, false);
}
