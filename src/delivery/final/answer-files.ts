/** The files that an answer shows with `![caption](file)`: copied as they are, and removed from the text for chats. */
import { ToolError } from '../../protocol/errors.ts';
import type { AnswerFiles, OutgoingFiles, SentMedia } from '../../protocol/media.ts';
import type { Image, Nodes } from 'mdast';
import { fencedBlocks } from './long-code.ts';
import { parseMarkdown } from '../../lib/markdown/markdown.ts';
import type { PlainKey, Say } from '../../protocol/texts/say.ts';

/** Maximum number of files that one answer may show. */
export const MAX_ANSWER_FILES = 10;

/** Creates `AnswerFiles`; `keepFile` is `OutgoingFiles.keep`. */
export function createAnswerFiles(keepFile: OutgoingFiles['keep']): AnswerFiles {
  return async (folder, text, say) => {
    // By path: the stored file, or why it cannot be shown.
    const files = new Map<string, SentMedia | string>();
    const media: SentMedia[] = [];
    const images = imagesIn(text);
    for (const { path, alt } of images) {
      if (files.has(path)) continue;
      const file =
        media.length < MAX_ANSWER_FILES
          ? await keepOrExplain(keepFile, folder, path, say)
          : say('file.too_many', { most: MAX_ANSWER_FILES });
      if (typeof file === 'string') files.set(path, file);
      else {
        const outgoing = { ...file, inText: path, ...(alt !== '' && { caption: alt }) };
        files.set(path, outgoing);
        media.push(outgoing);
      }
    }
    return { media, content: images.length === 0 ? text : withoutImages(text, images, files, say) };
  };
}

async function keepOrExplain(
  keepFile: OutgoingFiles['keep'],
  folder: string,
  path: string,
  say: Say,
): Promise<SentMedia | string> {
  try {
    return await keepFile(folder, path);
  } catch (error) {
    if (!(error instanceof ToolError)) throw error;
    const reason = REASONS[error.code];
    return reason === undefined ? error.message.replace(/\.$/, '') : say(reason);
  }
}

/** Why a file cannot be shown, by the code of the error. */
const REASONS: Readonly<Record<string, PlainKey>> = {
  not_found: 'file.missing',
  bad_path: 'file.foreign',
  refused: 'file.foreign',
  empty: 'file.empty',
};

/** The text without the images that follow it; an image that cannot be shown is replaced by the reason. */
function withoutImages(
  text: string,
  images: readonly TextImage[],
  files: ReadonlyMap<string, SentMedia | string>,
  say: Say,
): string {
  let content = '';
  let at = 0;
  for (const { alt, path, start, end } of images) {
    const file = files.get(path);
    content += text.slice(at, start);
    at = end;
    if (typeof file === 'string') content += say('file.not_shown', { alt, path, why: file }).trimStart();
    // In the middle of a sentence its words are needed; on a separate line it is the caption of the file.
    else if (!isAlone(text, start, end)) content += alt;
  }
  return (content + text.slice(at)).replaceAll(/\n{3,}/g, '\n\n').trim();
}

function isAlone(text: string, start: number, end: number): boolean {
  const lineStart = text.lastIndexOf('\n', start - 1) + 1;
  const lineEnd = text.indexOf('\n', end);
  const line = text.slice(lineStart, start) + text.slice(end, lineEnd < 0 ? text.length : lineEnd);
  return line.trim() === '';
}

interface TextImage {
  alt: string;
  path: string;
  /** In UTF-16 units. */
  start: number;
  end: number;
}

/** A piece this long ends at the next blank line, so that each piece stays within the parser's limits. */
const PIECE_CHARS = 2_048;

/** The images of a text whose target is a path, in order. Code contains none. Never throws. */
export function imagesIn(text: string): TextImage[] {
  if (!text.includes('![')) return [];
  const images: TextImage[] = [];
  let at = 0;
  for (const { start, end } of [...fencedBlocks(text), { start: text.length, end: text.length }]) {
    for (const piece of pieces(text.slice(at, start))) {
      if (piece.includes('![')) collect(parseMarkdown(piece), at, images);
      at += piece.length;
    }
    at = end;
  }
  return images;
}

function* pieces(text: string): Generator<string> {
  let rest = text;
  while (rest.length > PIECE_CHARS) {
    const gap = rest.indexOf('\n\n', PIECE_CHARS);
    if (gap < 0) break;
    yield rest.slice(0, gap + 2);
    rest = rest.slice(gap + 2);
  }
  yield rest;
}

/** Without recursion: the text determines the nesting depth. */
function collect(root: Nodes, offset: number, images: TextImage[]): void {
  const open = [root];
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    if ('children' in node) open.push(...node.children.toReversed());
    const image = node.type === 'image' ? imageAt(node, offset) : undefined;
    if (image !== undefined) images.push(image);
  }
}

function imageAt({ url, alt, position }: Image, offset: number): TextImage | undefined {
  const [start, end] = [position?.start.offset, position?.end.offset];
  const path = pathOf(url);
  if (path === undefined || start === undefined || end === undefined) return undefined;
  return { alt: alt ?? '', path, start: offset + start, end: offset + end };
}

function pathOf(target: string): string | undefined {
  if (/^(?:[a-z][a-z0-9+.-]*:|\/\/|#|$)/i.test(target)) return undefined;
  try {
    return decodeURIComponent(target);
  } catch {
    // A literal percent sign in the name.
    return target;
  }
}
