/** A growing Markdown text as the messages that show it: full ones are settled, only the open end is parsed again. */
import { setImmediate } from 'node:timers/promises';
import type { Nodes, Paragraph, PhrasingContent, Root, RootContent } from 'mdast';
import type { Rendered } from '../../protocol/channel.ts';
import { readableMath } from '../../lib/markdown/math-text.ts';
import { parseMarkdown } from '../../lib/markdown/markdown.ts';
import { type Segment, Segments } from './segments.ts';
import { cutChunk, type RenderTarget, rootOf } from './cut.ts';
import { closeOpenMarkup, tableStart } from './open-end.ts';

/** Stands before a text that continues a line, so that the parser does not take it for the start of one. */
const LINE_BEFORE = '\u2060';

/** The newest parsed segment: an open end is shown in several chats, and again when only the lines below it change. */
let newest: { segment: Segment; blocks: RootContent[] } | undefined;

/** Longest piece of a text that is processed before the event loop runs, in UTF-16 units. */
export const SLICE_CHARS = 512;

/** Cuts a text into messages as it grows. */
export class MessageChunker {
  readonly #target: RenderTarget;
  readonly #segments = new Segments();
  readonly #settled: Rendered[] = [];
  /** Closed blocks that are not yet in a settled message. */
  #blocks: RootContent[] = [];
  /** Source length of blocks added since they were last known to fit. */
  #unchecked = 0;
  #length = 0;
  /** Nothing of the text up to here is held back. */
  #released = 0;

  constructor(target: RenderTarget) {
    this.#target = target;
  }

  /** Appends text; messages that fill up settle and never change again. */
  push(text: string): void {
    this.#length += text.length;
    for (const segment of this.#segments.push(text)) this.#add(segment);
  }

  get settled(): number {
    return this.#settled.length;
  }

  at(index: number): Rendered | undefined {
    return this.#settled[index];
  }

  get inCode(): boolean {
    return this.#segments.open().inCode;
  }

  /** UTF-16 units at the end that `open` holds back, because they may become the head of a table. */
  get held(): number {
    const { text, head, inCode } = this.#segments.open();
    if (inCode || head !== '') return 0;
    const tail = text.length - tableStart(text);
    return this.#length - tail < this.#released ? 0 : tail;
  }

  /** Shows all of the text so far, and from then on what continues it, because no more of it is expected soon. */
  release(): void {
    this.#released = this.#length;
  }

  /** The messages after the settled ones: markup closed, without what is held back, with `footer` if there is room. */
  open(footer?: string): Rendered[] {
    const { inCode, ...segment } = this.#segments.open();
    const visible = segment.text.slice(0, segment.text.length - this.held);
    const text = inCode ? visible : closeOpenMarkup(visible);
    const { full, rest } = this.#fill(appendBlocks(this.#blocks, { ...segment, text }));
    if (footer === undefined) return [...full, ...this.#lastChunk(rest)];
    const withLines = this.#target.render(withFooter(rootOf(rest), footer));
    return [...full, ...(withLines.length <= this.#target.maxLength ? [withLines] : this.#lastChunk(rest))];
  }

  /** Every message of the text, once it is complete. */
  finish(): Rendered[] {
    this.#add(this.#segments.open());
    this.#settle();
    const chunks = [...this.#settled, ...this.#lastChunk(this.#blocks)];
    this.#blocks = [];
    return chunks;
  }

  #add(segment: Segment): void {
    this.#blocks = appendBlocks(this.#blocks, segment);
    this.#unchecked += segment.text.length;
    // Checking each of many short blocks would render a message once per block.
    if (this.#unchecked > this.#target.maxLength / 4) this.#settle();
  }

  #settle(): void {
    const { full, rest } = this.#fill(this.#blocks);
    this.#settled.push(...full);
    this.#blocks = rest;
    this.#unchecked = 0;
  }

  /** Cuts full messages off the front until the rest fits in one. */
  #fill(blocks: RootContent[]): { full: Rendered[]; rest: RootContent[] } {
    const full: Rendered[] = [];
    let rest = blocks;
    while (rest.length > 0 && this.#target.render(rootOf(rest)).length > this.#target.maxLength) {
      const piece = cutChunk(rest, this.#target);
      if (piece.chunk.plain.trim() !== '') full.push(piece.chunk);
      rest = piece.rest;
    }
    return { full, rest };
  }

  /** The last message; none if it would show nothing, which platforms refuse. */
  #lastChunk(blocks: RootContent[]): Rendered[] {
    const chunk = this.#target.render(rootOf(blocks));
    return chunk.plain.trim() === '' ? [] : [chunk];
  }
}

/** Lets other work run while a long text is processed. */
export const yieldToEventLoop = (): Promise<void> => setImmediate();

/** A complete text as messages. Calls `pause` in between, so that a long answer does not delay anything else. */
export async function chunksOf(
  text: string,
  target: RenderTarget,
  pause = yieldToEventLoop,
): Promise<Rendered[]> {
  const chunker = new MessageChunker(target);
  for (let start = 0; start < text.length; start += SLICE_CHARS) {
    if (start > 0) await pause();
    chunker.push(text.slice(start, start + SLICE_CHARS));
  }
  return chunker.finish();
}

/** A complete text as one document, parsed in slices. */
export async function documentOf(text: string, pause = yieldToEventLoop): Promise<Root> {
  let whole: Root = rootOf([]);
  const render = (doc: Root): Rendered => {
    whole = doc;
    return { text: 'whole', plain: 'whole', length: 0 };
  };
  await chunksOf(text, { render, maxLength: Infinity }, pause);
  return whole;
}

/** A document with a few lines below it. */
export function withFooter(doc: Root, footer: string): Root {
  const lines = footer.split('\n').map((value): PhrasingContent => {
    return { type: 'emphasis', children: [{ type: 'text', value }] };
  });
  const paragraph: Paragraph = {
    type: 'paragraph',
    children: lines.flatMap((line, n) => (n === 0 ? [line] : [{ type: 'break' }, line])),
  };
  return rootOf([...doc.children, paragraph]);
}

/** Adds a segment's blocks to the previous ones; neither list is changed. */
function appendBlocks(blocks: RootContent[], segment: Segment): RootContent[] {
  const newBlocks = parseSegment(segment);
  const last = blocks.at(-1);
  const first = newBlocks[0];
  if (segment.joins === undefined || last === undefined || first === undefined)
    return [...blocks, ...newBlocks];
  const merged = join(last, first, segment);
  return merged === undefined
    ? [...blocks, ...newBlocks]
    : [...blocks.slice(0, -1), merged, ...newBlocks.slice(1)];
}

function parseSegment(segment: Segment): RootContent[] {
  const { text, head, joins } = segment;
  const cached = newest?.segment;
  if (newest !== undefined && cached?.text === text && cached.head === head && cached.joins === joins)
    return newest.blocks;
  newest = { segment: { text, head, joins }, blocks: parsed(segment) };
  return newest.blocks;
}

/** A repeated opening that was not parsed as what it opens is removed again. */
function parsed(segment: Segment): RootContent[] {
  if (segment.text.trim() === '' && segment.head === '') return [];
  if (segment.head !== '') {
    const blocks = parseMarkdown(readableMath(segment.head + segment.text)).children;
    if (blocks[0]?.type === 'code' || blocks[0]?.type === 'table') return blocks;
  }
  if (segment.joins !== '') return parseMarkdown(readableMath(segment.text)).children;
  const [first, ...rest] = parseMarkdown(LINE_BEFORE + readableMath(segment.text)).children;
  return first === undefined ? [] : [withoutLineBefore(first), ...rest];
}

/** The node without `LINE_BEFORE`, which is the first character of its first text. */
function withoutLineBefore<N extends Nodes>(node: N): N {
  if ('value' in node) return { ...node, value: node.value.replace(LINE_BEFORE, '') };
  if (!('children' in node)) return node;
  const [first, ...rest] = node.children;
  return first === undefined ? node : { ...node, children: [withoutLineBefore(first), ...rest] };
}

function join(last: RootContent, first: RootContent, segment: Segment): RootContent | undefined {
  const glue = segment.joins ?? '';
  if (last.type === 'code' && first.type === 'code' && segment.head !== '') {
    return { ...last, value: last.value + glue + first.value };
  }
  if (last.type === 'table' && first.type === 'table' && segment.head !== '') {
    return { ...last, children: [...last.children, ...first.children.slice(1)] };
  }
  if (last.type === 'list' && first.type === 'list' && last.ordered === first.ordered) {
    return { ...last, children: [...last.children, ...first.children] };
  }
  if (last.type === 'paragraph' && first.type === 'paragraph') {
    return { ...last, children: [...last.children, { type: 'text', value: glue }, ...first.children] };
  }
  return undefined;
}
