/** `<details>` in Markdown without raw HTML: what an author wants folded, as a separate block. Pure. */
import { textBelow } from './markdown.ts';
import type { Paragraph, PhrasingContent, RootContent, Text } from 'mdast';

/** Blocks that are folded below a line. */
export interface Details {
  type: 'details';
  /** What is always visible; empty if the author wrote nothing, or has not gotten there yet. */
  summary: PhrasingContent[];
  children: RootContent[];
  /** The author wants it initially unfolded. */
  isOpen: boolean;
}

const OPENING = /^<details( open)?>\s*/i;
const SUMMARY = /^<summary>\s*/i;
const SUMMARY_END = /<\/summary>/i;
const CLOSING = '</details>';

/** Nested details that stay folded; deeper ones lose their tags, so that no renderer nests too deep. */
export const MAX_DETAILS_DEPTH = 8;

/** Blocks with each `<details>` as one; without an end (a growing text) it extends to the last block. Never throws. */
export function foldDetails(nodes: readonly RootContent[]): (RootContent | Details)[] {
  const folded: (RootContent | Details)[] = [];
  for (let at = 0; at < nodes.length; at += 1) {
    const node = nodes[at];
    if (node === undefined) break;
    const opening = openedBy(node);
    if (opening === undefined) {
      folded.push(node);
      continue;
    }
    const { inside, taken: count } = insideOf([...opening.rest, ...nodes.slice(at + 1)]);
    const children = withoutDeepTags(inside);
    folded.push({ type: 'details', summary: opening.summary, isOpen: opening.isOpen, children });
    at += count - opening.rest.length;
  }
  return folded;
}

/**
 * The openings of details that these blocks leave open, outermost first, with which the rest of the text starts
 * elsewhere. A summary of more than `most` UTF-16 units is left out.
 */
export function openingsLeft(nodes: readonly RootContent[], most: number): Paragraph[] {
  const open: Paragraph[] = [];
  for (const node of nodes) {
    const opening = openedBy(node);
    if (opening !== undefined) open.push(openingOf(opening, most));
    if (withoutEnd(node) !== undefined) open.pop();
  }
  return open;
}

function openingOf({ summary, isOpen }: Pick<Details, 'summary' | 'isOpen'>, most: number): Paragraph {
  const tag = isOpen ? '<details open>' : '<details>';
  const size = summary.reduce((sum, phrase) => sum + textBelow(phrase).length, 0);
  if (size === 0 || size > most) return { type: 'paragraph', children: [textOf(tag)] };
  const children = [textOf(`${tag}\n<summary>`), ...summary, textOf('</summary>')];
  return { type: 'paragraph', children };
}

/** The blocks without a `</details>` that only ends what `openings` have opened, and the openings that are left. */
export function withoutEmpty(
  openings: readonly Paragraph[],
  nodes: readonly RootContent[],
): { openings: Paragraph[]; nodes: RootContent[] } {
  const unclosed = [...openings];
  let at = 0;
  for (; unclosed.length > 0; at += 1) {
    const node = nodes[at];
    if (node === undefined || withoutEnd(node)?.length !== 0) break;
    unclosed.pop();
  }
  return { openings: unclosed, nodes: nodes.slice(at) };
}

/** The summary and the rest of the paragraph that opens details; undefined for every other block. */
function openedBy(
  node: RootContent,
): { summary: PhrasingContent[]; rest: Paragraph[]; isOpen: boolean } | undefined {
  const [first, ...others] = node.type === 'paragraph' ? node.children : [];
  if (first?.type !== 'text') return undefined;
  const opening = OPENING.exec(first.value);
  if (opening === null) return undefined;
  const text = first.value.slice(opening[0].length);
  const isOpen = opening[1] !== undefined;
  const title = SUMMARY.exec(text);
  if (title === null) return { summary: [], rest: paragraphOf([textOf(text), ...others]), isOpen };
  const phrases = [textOf(text.slice(title[0].length)), ...others];
  const [summary, rest] = splitAt(phrases, SUMMARY_END) ?? [phrases, []];
  return { summary: summary.filter(isShown), rest: paragraphOf(rest), isOpen };
}

/** The blocks before the end of open details, and how many of `nodes` they consume. */
function insideOf(nodes: readonly RootContent[]): { inside: RootContent[]; taken: number } {
  const inside: RootContent[] = [];
  let depth = 1;
  for (const [index, node] of nodes.entries()) {
    if (openedBy(node) !== undefined) depth += 1;
    const head = withoutEnd(node);
    if (head !== undefined) depth -= 1;
    if (depth === 0) {
      if (head !== undefined) inside.push(...head);
      return { inside, taken: index + 1 };
    }
    inside.push(node);
  }
  return { inside, taken: nodes.length };
}

/** The blocks without the tags of details that are nested too deeply. */
function withoutDeepTags(nodes: readonly RootContent[]): RootContent[] {
  let depth = 1;
  return nodes.flatMap((node) => {
    const opening = openedBy(node);
    if (opening !== undefined) depth += 1;
    const isDeep = depth > MAX_DETAILS_DEPTH;
    const head = withoutEnd(node);
    if (head !== undefined) depth -= 1;
    if (!isDeep) return [node];
    if (opening === undefined) return head ?? [node];
    const inside = [...paragraphOf(opening.summary), ...opening.rest];
    return head === undefined ? inside : inside.flatMap((one) => withoutEnd(one) ?? [one]);
  });
}

/** The block without the `</details>` at its end; undefined if it does not end that way. */
function withoutEnd(node: RootContent): RootContent[] | undefined {
  if (node.type === 'paragraph') {
    const last = node.children.at(-1);
    const text = last?.type === 'text' ? last.value.trimEnd() : '';
    if (!text.toLowerCase().endsWith(CLOSING)) return undefined;
    return paragraphOf([...node.children.slice(0, -1), textOf(text.slice(0, -CLOSING.length).trimEnd())]);
  }
  if (node.type === 'list') {
    // Right below a list, the end belongs to the paragraph of its last item.
    const item = node.children.at(-1);
    const last = item?.children.at(-1);
    const head = last && withoutEnd(last);
    if (item === undefined || head === undefined) return undefined;
    const children = item.children
      .slice(0, -1)
      .concat(head.filter((one) => one.type === 'paragraph' || one.type === 'list'));
    return [{ ...node, children: [...node.children.slice(0, -1), { ...item, children }] }];
  }
  if (node.type === 'table') {
    // Right below a table, the end is a row.
    const [cell, ...cells] = node.children.at(-1)?.children ?? [];
    const [only] = cell?.children ?? [];
    const isEnd = only?.type === 'text' && only.value.trim().toLowerCase() === CLOSING;
    return isEnd && cells.every(({ children }) => children.length === 0)
      ? [{ ...node, children: node.children.slice(0, -1) }]
      : undefined;
  }
  return undefined;
}

/** What comes before and after the first text that matches; undefined if none does. */
function splitAt(
  phrases: readonly PhrasingContent[],
  pattern: RegExp,
): [PhrasingContent[], PhrasingContent[]] | undefined {
  for (const [index, phrase] of phrases.entries()) {
    const match = phrase.type === 'text' ? pattern.exec(phrase.value) : null;
    if (match === null || phrase.type !== 'text') continue;
    const [head, tail] = [
      phrase.value.slice(0, match.index).trimEnd(),
      phrase.value.slice(match.index + match[0].length).trimStart(),
    ];
    return [
      [...phrases.slice(0, index), textOf(head)],
      [textOf(tail), ...phrases.slice(index + 1)],
    ];
  }
  return undefined;
}

function paragraphOf(phrases: readonly PhrasingContent[]): Paragraph[] {
  const children = phrases.filter(isShown);
  return children.length === 0 ? [] : [{ type: 'paragraph', children }];
}

function isShown(phrase: PhrasingContent): boolean {
  return phrase.type !== 'text' || phrase.value !== '';
}

function textOf(value: string): Text {
  return { type: 'text', value };
}
