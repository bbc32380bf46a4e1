/** What Markdown is made of, once it is parsed. */

/**
 * A part of a text. `host` is where a link leads if its text looks like another address, `isPicture` says that it was
 * written as an image; a `label` is a link whose end has not come yet; a `tag` is one of HTML before its partner is
 * found. The `text` of a formula is what was written, its `source` what is between the delimiters; a `note` is the
 * number of a footnote, a `citation` that of a passage (`[k3]`).
 */
export type Inline =
  | { type: 'text'; text: string }
  | { type: 'code'; text: string }
  | { type: 'formula'; text: string; source: string; isDisplayed: boolean }
  | { type: 'note'; text: string; number: string }
  | { type: 'citation'; text: string; number: number }
  | { type: 'break' }
  | { type: 'tag'; text: string }
  | { type: 'link'; href: string; host?: string | undefined; isPicture?: true; children: Inline[] }
  | { type: 'label'; children: Inline[] }
  | { type: 'picture'; path: string; children: Inline[] }
  | { type: 'strong' | 'em' | 'del'; children: Inline[] };

/** A block. Texts are inline Markdown, except that of code. A quote may be a `callout`, such as `note`. */
export type BlockBody =
  | { type: 'paragraph'; text: string }
  | { type: 'heading'; level: number; text: string }
  | { type: 'code'; language: string; text: string }
  | { type: 'rule' }
  | { type: 'quote'; callout?: string; children: BlockBody[] }
  | { type: 'list'; start: number | undefined; items: Item[] }
  | { type: 'table'; align: string[]; head: string[]; rows: string[][] };

/** An item of a list; a `tight` one has no blank lines between its blocks. */
export interface Item {
  checked: boolean | undefined;
  tight: boolean;
  children: BlockBody[];
}

/** A block of a document; `source` is its text: blocks with the same source look the same. */
export type Block = BlockBody & { source: string };

/** Characters that change the direction in which a text is read. */
const DIRECTION_MARKS = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** The text of a link: other links in it become their text. */
export function withoutLinks(nodes: Inline[]): Inline[] {
  return nodes.flatMap((node) => {
    if (node.type === 'text') return { ...node, text: node.text.replaceAll(DIRECTION_MARKS, '') };
    if (!('children' in node)) return node;
    const children = withoutLinks(node.children);
    return node.type === 'strong' || node.type === 'em' || node.type === 'del'
      ? { ...node, children }
      : children;
  });
}

/** The text of parsed nodes, as it is read. */
export function textOf(nodes: Inline[]): string {
  return nodes
    .map((node) => ('children' in node ? textOf(node.children) : 'text' in node ? node.text : ' '))
    .join('');
}
