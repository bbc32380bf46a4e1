/** The result of a tool call as the model reads it: its text, and its pictures and sounds as files of the session. */
import { StoreError, toGatewayError } from '../protocol/errors.ts';
import type { KeepToolFile } from '../protocol/media.ts';
import type { ToolContext, ToolResult } from '../protocol/agent/tool.ts';
import { oneLine } from '../lib/text.ts';
import { type CallResult, filesOfResult, type ResultFile, textOfResult } from './content.ts';

/** Maximum number of files kept per result. */
export const MAX_RESULT_FILES = 6;
/** Longest quoted question from a server, in UTF-16 units. */
const MAX_QUESTION_CHARS = 200;

/** Reads a result and stores its files. Throws only `StoreError` and the signal's reason. */
export async function readResult(
  result: CallResult,
  keep: KeepToolFile,
  ctx: Pick<ToolContext, 'folder' | 'userId' | 'signal'>,
): Promise<Pick<ToolResult, 'content' | 'isError' | 'pictures'>> {
  const texts = new Map<number, string>();
  const pictures: string[] = [];
  for (const [index, file] of filesOfResult(result).entries()) {
    const kept =
      index < MAX_RESULT_FILES
        ? await keepOne(file, keep, ctx)
        : { text: `not kept: only ${MAX_RESULT_FILES} files of a result are` };
    texts.set(file.part, kept.text);
    if (kept.picture !== undefined) pictures.push(kept.picture);
  }
  const content = textOfResult(result, texts);
  return { content, isError: result.isError, ...(pictures.length > 0 && { pictures }) };
}

/** Where the file is, or why it was not stored. */
async function keepOne(
  file: ResultFile,
  keep: KeepToolFile,
  { folder, userId, signal }: Pick<ToolContext, 'folder' | 'userId' | 'signal'>,
): Promise<{ text: string; picture?: string }> {
  try {
    const { attachment, picture, problem } = await keep(file, { folder, userId }, signal);
    const unread = problem === undefined ? '' : `, which cannot be read: ${problem}`;
    return { text: `the file ${attachment.file}${unread}`, ...(picture !== undefined && { picture }) };
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof StoreError) throw error;
    return { text: `not kept: ${toGatewayError(error).message}` };
  }
}

/** The progress of a call, in one line. */
export function progressText({ progress, total, message }: Progress): string {
  const far = total === undefined ? numberText(progress) : `${numberText(progress)} of ${numberText(total)}`;
  return message === undefined || message === '' ? far : `${far} ${message}`;
}

interface Progress {
  progress: number;
  total?: number | undefined;
  message?: string | undefined;
}

function numberText(value: number): string {
  return Number.isInteger(value) ? String(value) : value.toFixed(1);
}

/** What the model reads about a question that the server wanted to ask people during a call. */
export function declinedText(question: string): string {
  const asked = oneLine(question.slice(0, 4 * MAX_QUESTION_CHARS))
    .slice(0, MAX_QUESTION_CHARS)
    .toWellFormed();
  return `(During this call the server wanted to ask the user: "${asked}". This gateway passes no questions of servers on, so it was declined; the user may tell you the answer, which you can give in the arguments of another call.)`;
}
