/**
 * The files that an answer shows with `![caption](file)`: stored in their current state, and removed from the text
 * for chats.
 */
import { ToolError } from '../../protocol/errors.ts';
import type { AnswerFiles, OutgoingFiles, SentMedia } from '../../protocol/media.ts';
import { imagesIn, type TextImage } from '../../lib/markdown/text-images.ts';
import type { PlainKey, Say } from '../../protocol/texts/say.ts';

/** Maximum number of files that one answer may show. */
export const MAX_ANSWER_FILES = 10;

/** Creates `AnswerFiles`. */
export function createAnswerFiles(outgoing: Pick<OutgoingFiles, 'keep'>): AnswerFiles {
  return async (folder, text, say) => {
    const tooMany = say('file.too_many', { most: MAX_ANSWER_FILES });
    const kept = new Map<string, SentMedia | string>();
    const images = imagesIn(text);
    for (const { path, alt } of images) {
      if (kept.has(path)) continue;
      const files = [...kept.values()].filter((file) => typeof file !== 'string');
      kept.set(
        path,
        files.length < MAX_ANSWER_FILES ? await keep(outgoing, { folder, path, alt, say }) : tooMany,
      );
    }
    const media = [...kept.values()].filter((file) => typeof file !== 'string');
    return { media, content: images.length === 0 ? text : without(text, images, kept, say) };
  };
}

/** The stored file, or why it cannot be shown. */
async function keep(
  outgoing: Pick<OutgoingFiles, 'keep'>,
  { folder, path, alt, say }: { folder: string; path: string; alt: string; say: Say },
): Promise<SentMedia | string> {
  try {
    const file = await outgoing.keep(folder, path);
    return { ...file, inText: path, ...(alt !== '' && { caption: alt }) };
  } catch (error) {
    if (error instanceof ToolError) {
      const why = WHY[error.code];
      return why === undefined ? error.message.replace(/\.$/, '') : say(why);
    }
    throw error;
  }
}

/** Why a file cannot be shown, by the code of the error. */
const WHY: Readonly<Record<string, PlainKey>> = {
  not_found: 'file.missing',
  bad_path: 'file.foreign',
  refused: 'file.foreign',
  empty: 'file.empty',
};

/** The text without the images that follow it; an image that cannot be shown is replaced by the reason. */
function without(
  text: string,
  images: readonly TextImage[],
  kept: ReadonlyMap<string, SentMedia | string>,
  say: Say,
): string {
  let shown = '';
  let at = 0;
  for (const { alt, path, start, end } of images) {
    const file = kept.get(path);
    shown += text.slice(at, start);
    at = end;
    if (typeof file === 'string') shown += say('file.not_shown', { alt, path, why: file }).trimStart();
    // In the middle of a sentence its words are needed; on a separate line it is the caption of the file.
    else if (!isAlone(text, start, end)) shown += alt;
  }
  return (shown + text.slice(at)).replaceAll(/\n{3,}/g, '\n\n').trim();
}

function isAlone(text: string, start: number, end: number): boolean {
  const lineStart = text.lastIndexOf('\n', start - 1) + 1;
  const lineEnd = text.indexOf('\n', end);
  const around = text.slice(lineStart, start) + text.slice(end, lineEnd < 0 ? text.length : lineEnd);
  return around.trim() === '';
}
