/** The part of an answer that is read aloud: without code, addresses and pictures, up to the end of a sentence. */
import type { Nodes, Root } from 'mdast';
import { MAX_PARSED, parseMarkdown } from '../lib/markdown/markdown.ts';
import { resolveReferences } from '../lib/markdown/references.ts';

export interface SpokenText {
  /** Empty if nothing can be read aloud. */
  text: string;
  /** There is more text. */
  isCut: boolean;
}

/** At most `maxChars` UTF-16 units of a Markdown text. Never throws. */
export function spokenText(markdown: string, maxChars: number): SpokenText {
  const root = parseMarkdown(resolveReferences(markdown.slice(0, MAX_PARSED)));
  const whole = plainTextOf(root);
  const text = untilSentence(whole, maxChars);
  return { text, isCut: text.length < whole.length || markdown.length > MAX_PARSED };
}

/** One block per line, each with a punctuation mark at its end, so that a voice pauses there. */
function plainTextOf(root: Root): string {
  return blocksOf(root)
    .map((block) =>
      block
        .replaceAll(/\s+/g, ' ')
        .replaceAll(/ ([,.])/g, '$1')
        .trim(),
    )
    .filter((block) => /[\p{L}\p{N}]/u.test(block))
    .map((block) => (/[\p{L}\p{N}]$/u.test(block) ? `${block}.` : block))
    .join('\n');
}

function blocksOf(node: Nodes): string[] {
  switch (node.type) {
    case 'code':
    case 'html':
    case 'thematicBreak':
      return [];
    case 'paragraph':
    case 'heading':
      return [inlineText(node)];
    case 'tableRow':
      return [node.children.map(inlineText).join(', ')];
    default:
      return 'children' in node ? node.children.flatMap(blocksOf) : [];
  }
}

function inlineText(node: Nodes): string {
  switch (node.type) {
    case 'image':
    case 'html':
      return '';
    case 'break':
      return ' ';
    case 'text':
      return node.value.replaceAll(/\b(?:https?:\/\/|www\.)\S+/gi, '');
    case 'inlineCode':
      return node.value;
    default:
      return 'children' in node ? node.children.map(inlineText).join('') : '';
  }
}

/** Cuts after a sentence, or after a word if the first sentence is too long. */
function untilSentence(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text;
  let end = 0;
  for (const { index, segment } of new Intl.Segmenter('en', { granularity: 'sentence' }).segment(text)) {
    if (index + segment.trimEnd().length > maxChars) break;
    end = index + segment.trimEnd().length;
  }
  if (end > 0) return text.slice(0, end);
  const word = text.lastIndexOf(' ', maxChars);
  return text.slice(0, word > 0 ? word : maxChars).toWellFormed();
}
