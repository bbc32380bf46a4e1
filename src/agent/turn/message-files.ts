/** The files of a message: fetched, stored next to its row, and worded for the model and the person. */
import type { ReceivedFile } from '../../protocol/media.ts';
import { type InboundMessage, userIdOf } from '../../protocol/message.ts';
import type { Fence } from '../../protocol/store/lanes.ts';
import type { TurnPayload } from '../../protocol/store/accept.ts';
import type { AgentShared } from '../deps.ts';
import { sayFor } from './failure-text.ts';
import { titleOf } from '../../protocol/sessions/marked-text.ts';
import { markUntrusted } from '../prompt/marks.ts';

/** Pictures of one message that models see. */
export const MAX_PICTURES_PER_MESSAGE = 6;

/** A message whose files are wanted. */
export interface WithFiles {
  payload: TurnPayload;
  /** Its place in the lane. */
  laneSeq: number;
  /** The session's folder. */
  folder: string;
}

/**
 * The files of a message, in the session's folder. Those that cannot be used are reported to the person at once. A
 * repeat stores and sends nothing twice. Throws `StoreError`; after `signal` aborts it ends soon.
 */
export async function receiveFiles(
  shared: AgentShared,
  fence: Fence,
  { payload, laneSeq, folder }: WithFiles,
  signal: AbortSignal,
): Promise<ReceivedFile[]> {
  const { message, turnId, address } = payload;
  if (message.media.length === 0) return [];
  const { channel, media } = message;
  const userId = userIdOf(message);
  const files = await shared.media.receiveFiles({ channel, media, userId, folder, laneSeq }, signal);
  if (signal.aborted) return files;
  const attachments = files.flatMap(({ attachment }) => attachment ?? []);
  if (attachments.length > 0)
    await shared.stores.ledger.noteFiles(fence, turnId, { folder, userId, attachments });
  const problems = files.filter(({ problem }) => problem !== undefined);
  if (problems.length > 0) {
    const say = await sayFor(shared, payload);
    const content = problems
      .map(({ name, problem = '', problemText }) =>
        say('upload.problem', { name: quoted(name), why: problemText ?? problem }),
      )
      .join('\n');
    await shared.chats.post({ ref: `${turnId}.files`, turnId, address, content });
  }
  return files;
}

/** The name of a file in a sentence; backticks would end the quotation. */
function quoted(name: string): string {
  return `\`${name.replaceAll('`', "'")}\``;
}

/** What the sender says: the text, then what is said in recordings that they made for this chat. */
export function ownText({ content }: InboundMessage, files: readonly ReceivedFile[]): string {
  const recordings = files.flatMap((file) =>
    file.kind === 'voice' && file.spoken !== undefined ? [`(spoken) ${file.spoken}`] : [],
  );
  return [content, ...recordings].filter((text) => text !== '').join('\n');
}

/** The other files for the model: what they are, and the beginning of what they say. Their text is between marks. */
export function filesText(files: readonly ReceivedFile[]): string[] {
  return files.flatMap((file) =>
    file.kind === 'voice' && file.spoken !== undefined ? [] : [fileText(file)],
  );
}

function fileText(file: ReceivedFile): string {
  const { kind, name, attachment, problem, document, spoken: speech } = file;
  const about = attachment === undefined ? name : `${attachment.file} (${sizeOf(file)})`;
  const words = document?.text ?? speech;
  const lines = [
    markUntrusted(`an attached file (${kind})`, words === undefined ? about : `${about}\n\n${words}`),
  ];
  if (document !== undefined && document.bytes < document.totalBytes)
    lines.push(
      `[Above are the first ${document.bytes} of ${document.totalBytes} bytes of its text: read_file continues with "offset": ${document.bytes}.]`,
    );
  // A problem may contain the platform's words.
  if (problem !== undefined)
    lines.push(`[This file could not be used: ${titleOf(problem)}. The user was told.]`);
  return lines.join('\n');
}

function sizeOf({ attachment, picture }: ReceivedFile): string {
  if (attachment === undefined) return '';
  const { mimeType, bytes, seconds } = attachment;
  const pixels = picture === undefined ? [] : [`${picture.width} × ${picture.height} pixels`];
  const length = seconds === undefined ? [] : [`${seconds} s`];
  return [mimeType, `${bytes} bytes`, ...pixels, ...length].join(', ');
}

/** References of the pictures that models see. */
export function picturesOf(files: readonly ReceivedFile[]): string[] {
  return files.flatMap(({ picture }) => picture?.ref ?? []).slice(0, MAX_PICTURES_PER_MESSAGE);
}
