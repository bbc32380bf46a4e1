/**
 * The files of a message and the code that is too long for it, each sent after the text. A file that cannot be shown
 * leaves a sentence in its place, code stays text.
 */
import type { Rendered } from '../../protocol/channel.ts';
import { ChannelError, GatewayError, ToolError } from '../../protocol/errors.ts';
import type { SentMedia } from '../../protocol/media.ts';
import type { PlainKey } from '../../protocol/texts/say.ts';
import { parseMarkdown } from '../../lib/markdown/markdown.ts';
import { inMegabytes } from '../../lib/text.ts';
import type { CodeFile } from './long-code.ts';
import { type Delivering, isRefusal, type PartDelivery } from './part-delivery.ts';

/** How long to wait for a file that another node may still have to share, in milliseconds. */
export const FILE_WAIT_MS = 30_000;

/** The ref under which the messages of a delivery's files are stored. */
export function filesRef(ref: string): string {
  return `${ref}:files`;
}

/**
 * Shows the code and every file with its caption; a caption that is too long follows as text. `parts` has its own
 * order, because the answer's texts come and go while it grows; `codePartsOf` shows code as text if the chat accepts no
 * file. Throws `ChannelError`, `StoreError` for a retry.
 */
export async function sendFiles(
  delivering: Delivering,
  parts: PartDelivery,
  code: readonly CodeFile[],
  codePartsOf: (index: number) => Promise<PartDelivery>,
): Promise<void> {
  const { channel, payload, split } = delivering;
  let index = 0;
  for (const file of code) {
    if (!parts.has(index)) await sendCode(delivering, parts, file, index, codePartsOf);
    index += 1;
  }
  for (const file of payload.message.media) {
    const caption = channel.render(parseMarkdown(file.caption ?? ''));
    const fits = caption.length <= channel.capabilities.maxCaption;
    if (!parts.has(index)) await sendFile(delivering, parts, file, index, fits ? caption : undefined);
    index += 1;
    for (const text of fits ? [] : await split(file.caption ?? '')) {
      await parts.put(index, text, false);
      index += 1;
    }
  }
}

async function sendCode(
  delivering: Delivering,
  parts: PartDelivery,
  { name, code, markdown }: CodeFile,
  index: number,
  codePartsOf: (index: number) => Promise<PartDelivery>,
): Promise<void> {
  const { context, channel, payload, split, say } = delivering;
  try {
    await using copy = await context.files.write(code);
    const bytes = Buffer.byteLength(code);
    await parts.putFile(index, { kind: 'file', name, mimeType: 'text/plain', bytes, path: copy.path });
  } catch (error) {
    // A bot may be allowed to write here but not to send files.
    const isRefused = isRefusal(error) || (error instanceof ChannelError && error.code === 'blocked');
    if (!isRefused) throw error;
    const { chatId } = payload.message;
    context.log.warn({ err: error, channel: channel.name, chatId, file: name }, 'code_sent_as_text');
    const textParts = await codePartsOf(index);
    for (const [nth, part] of (await split(markdown)).entries()) await textParts.put(nth, part, false);
    await explain(delivering, parts, index, name, say('file.refused_as_text'));
  }
}

async function sendFile(
  delivering: Delivering,
  parts: PartDelivery,
  file: SentMedia,
  index: number,
  caption: Rendered | undefined,
): Promise<void> {
  const { context, channel, payload, head, say } = delivering;
  const { kind, name, mimeType, bytes } = file;
  const { maxFileBytes } = channel.capabilities;
  const explainFile = (reason: string) =>
    explain(delivering, parts, index, name, reason, caption && file.caption);
  if (channel.sendFile === undefined) return await explainFile(say('file.none_here'));
  if (bytes > maxFileBytes) {
    const most = inMegabytes(maxFileBytes);
    return await explainFile(say('file.too_large', { size: inMegabytes(bytes), most }));
  }
  const { folder = '', chatId } = payload.message;
  try {
    await using copy = await context.files.copy(folder, file);
    await parts.putFile(index, { kind, name, mimeType, bytes, path: copy.path, caption });
  } catch (error) {
    const reason = reasonOf(error, head.waitedMs);
    if (reason === undefined) throw laterOf(error);
    context.log.warn({ err: error, channel: channel.name, chatId, file: file.file }, 'file_not_sent');
    await explainFile(say(reason));
  }
}

/** Why a file will never be shown here; undefined if it may be later. */
function reasonOf(error: unknown, waitedMs: number): PlainKey | undefined {
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
  { split, say }: Delivering,
  parts: PartDelivery,
  index: number,
  name: string,
  reason: string,
  caption = '',
): Promise<void> {
  const plainName = name.replaceAll(/[\\`*_[\]~]/g, String.raw`\$&`);
  const [sentence] = await split(`${say('file.not_sent', { name: plainName, why: reason })}\n\n${caption}`);
  if (sentence !== undefined) await parts.put(index, sentence, false);
}
