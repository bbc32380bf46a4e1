/** What the gateway reads beyond GitHub's Markdown, as extensions of micromark. Pure. */
import { cjkFriendlyExtension } from 'micromark-extension-cjk-friendly';
import { gfmStrikethroughCjkFriendly } from 'micromark-extension-cjk-friendly-gfm-strikethrough';
import { gfm } from 'micromark-extension-gfm';
import type { Code, Construct, Extension, State } from 'micromark-util-types';
import { runKind } from './stars.ts';
import { isTag, MAX_TAG, noteAt } from './tags.ts';

/**
 * Not markup in a chat: raw HTML, and the parser's definitions and footnotes, which hide text from the reader and may
 * point outside the parsed piece.
 */
const DISABLED = ['htmlFlow', 'htmlText', 'definition', 'gfmFootnoteCall', 'gfmFootnoteDefinition'];

const cjk = cjkFriendlyExtension();
const marks = [cjk.text?.[42]].flat().find((construct) => construct !== undefined);

const SHARED: Extension[] = [
  gfm({ singleTilde: false }),
  cjk,
  gfmStrikethroughCjkFriendly({ singleTilde: false }),
  { disable: { null: DISABLED } },
];

/** The extensions for reading a text: some of them look at more of it than its next character. */
export function dialectOf(text: string): Extension[] {
  // The parser drops a byte order mark, and counts without it.
  const source = text.startsWith('\uFEFF') ? text.slice(1) : text;
  const run = runOf(source);
  return [...SHARED, { text: { 42: run, 60: tag, 91: noteOf(source), 95: run } }];
}

/** Runs of `*` and `_` as `runKind` sees them. */
function runOf(source: string): Construct {
  if (marks === undefined) throw new TypeError('micromark-extension-cjk-friendly no longer reads asterisks');
  return {
    ...marks,
    tokenize(effects, ok, nok) {
      const start = this.now().offset;
      const finish = (code: Code): State | undefined => {
        const token = this.events.at(-1)?.[1];
        const kind = runKind(source, start, this.now().offset);
        if (token !== undefined && kind === 'text') Object.assign(token, { _open: false, _close: false });
        if (token !== undefined && kind === 'closes') Object.assign(token, { _close: true });
        return ok(code);
      };
      return marks.tokenize.call(this, effects, finish, nok);
    },
  };
}

/** One of the tags that are read, as a node of HTML: it is the only kind that the parser makes. */
const tag: Construct = {
  name: 'chatTag',
  tokenize(effects, ok, nok) {
    let source = '';
    const inside: State = (code) => {
      if (code === null || code < 32 || source.length >= MAX_TAG) return nok(code);
      source += String.fromCharCode(code);
      if (code !== 62) {
        effects.consume(code);
        return inside;
      }
      if (!isTag(source)) return nok(code);
      effects.consume(code);
      effects.exit('htmlTextData');
      effects.exit('htmlText');
      return ok;
    };
    return (code) => {
      effects.enter('htmlText');
      effects.enter('htmlTextData');
      return inside(code);
    };
  },
};

/** The number of a footnote, as a node of HTML. */
function noteOf(source: string): Construct {
  return {
    name: 'chatNote',
    tokenize(effects, ok, nok) {
      let remaining = noteAt(source, this.now().offset)?.length ?? 0;
      const inside: State = (code) => {
        effects.consume(code);
        remaining -= 1;
        if (remaining > 0) return inside;
        effects.exit('htmlTextData');
        effects.exit('htmlText');
        return ok;
      };
      return (code) => {
        if (remaining === 0) return nok(code);
        effects.enter('htmlText');
        effects.enter('htmlTextData');
        return inside(code);
      };
    },
  };
}
