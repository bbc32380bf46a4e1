/** Tags, footnotes and callouts of a parsed document as nodes that every network shows. Pure. */
import type { Blockquote, PhrasingContent, Root, RootContent } from 'mdast';
import { loweredOrMarked, raisedOrMarked } from './small-characters.ts';
import { calloutOf, isLineBreak, pairTags, type TagKind, type TagReader } from './tags.ts';

/** A text without any of these has no tags, footnotes and callouts. */
const MAY_HOLD = /<[/a-z]|\[\^|\[!/i;

/** Changes a tree, parsed from `text`, in place; without recursion, because the text determines its depth. */
export function readTags(root: Root, text: string): void {
  if (!MAY_HOLD.test(text)) return;
  const parents: (Root | Extract<RootContent, { children: unknown }>)[] = [root];
  for (let parent = parents.pop(); parent !== undefined; parent = parents.pop()) {
    if (parent.type === 'blockquote') readCallout(parent, text);
    for (const child of parent.children) if ('children' in child) parents.push(child);
    if (parent.children.some(({ type }) => type === 'html'))
      Object.assign(parent, {
        children: joinedTexts(pairTags(parent.children.flatMap(withoutSingle), READER)),
      });
  }
}

/** Line breaks and footnotes need no partner. A raised number behind another number would be a power. */
function withoutSingle(node: RootContent): RootContent[] {
  if (node.type !== 'html') return [node];
  if (isLineBreak(node.value)) return [{ type: 'break' }];
  const number = /\d+/.exec(node.value)?.[0];
  return number === undefined ? [node] : [{ type: 'text', value: `[${number}]` }];
}

const READER: TagReader<RootContent> = {
  tagOf: (node) => (node.type === 'html' ? node.value : undefined),
  text: (value) => ({ type: 'text', value }),
  wrap: (kind, inside) => wrap(kind, inside.filter(isPhrase)),
};

function isPhrase(node: RootContent): node is PhrasingContent {
  return !/^(?:paragraph|heading|list|listItem|blockquote|code|table|tableRow|tableCell|thematicBreak)$/.test(
    node.type,
  );
}

function wrap(kind: TagKind, children: PhrasingContent[]): RootContent[] {
  switch (kind) {
    case 'strong':
    case 'emphasis':
    case 'delete':
      return children.length === 0 ? [] : [{ type: kind, children }];
    case 'code': {
      const value = children.map(plainOf).join('');
      return value === '' ? [] : [{ type: 'inlineCode', value }];
    }
    case 'raised':
    case 'lowered': {
      const change = kind === 'raised' ? raisedOrMarked : loweredOrMarked;
      const value = children.map(plainOf).join('');
      if (children.every(({ type }) => type === 'text'))
        return value === '' ? [] : [{ type: 'text', value: change(value) }];
      const sign = kind === 'raised' ? '^' : '_';
      return [{ type: 'text', value: `${sign}(` }, ...children, { type: 'text', value: ')' }];
    }
    default:
      return kind satisfies never;
  }
}

function plainOf(node: PhrasingContent): string {
  if (node.type === 'break') return '\n';
  if ('value' in node) return node.value;
  return 'children' in node ? node.children.map(plainOf).join('') : '';
}

/** `> [!NOTE]` becomes the first words of its quote, in bold. An escaped bracket begins none. */
function readCallout(quote: Blockquote, text: string): void {
  const [paragraph] = quote.children;
  const first = paragraph?.type === 'paragraph' ? paragraph.children[0] : undefined;
  if (paragraph?.type !== 'paragraph' || first?.type !== 'text') return;
  const callout = calloutOf(first.value);
  if (callout === undefined || text.charAt(first.position?.start.offset ?? -1) !== '[') return;
  const rest = first.value.slice(callout.length);
  const between = rest === '' || rest.startsWith('\n') ? '' : ': ';
  const heading: PhrasingContent = { type: 'strong', children: [{ type: 'text', value: callout.heading }] };
  paragraph.children.splice(0, 1, heading, { type: 'text', value: between + rest });
}

/** Neighbouring texts as one, like the parser's own. */
function joinedTexts(nodes: readonly RootContent[]): RootContent[] {
  const joined: RootContent[] = [];
  for (const node of nodes) {
    const last = joined.at(-1);
    if (node.type === 'text' && last?.type === 'text')
      joined[joined.length - 1] = { type: 'text', value: last.value + node.value };
    else joined.push(node);
  }
  return joined;
}
