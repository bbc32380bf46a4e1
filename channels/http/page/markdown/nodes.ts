/** What Markdown is made of, once it is parsed. */

/**
 * A part of a text. `host` is where a link leads if its text looks like another address, `isPicture` says that it was
 * written as an image; a `label` is a link whose end has not come yet; a `tag` is one of HTML before its partner is
 * found. The `text` of a formula is what was written, its `source` what is between the delimiters; a `note` is the
 * number of a footnote.
 */
export type Inline =
  | { type: 'text'; text: string }
  | { type: 'code'; text: string }
  | { type: 'formula'; text: string; source: string; isDisplayed: boolean }
  | { type: 'note'; text: string; number: string }
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
