/**
 * Marks of emphasis and deletion: which runs open and close, and the trees that pairs of them make, as CommonMark and
 * GFM define them. Pure.
 */
import type { Inline } from './nodes.ts';
import { runKind } from '../../../../src/lib/markdown/stars.ts';

/**
 * A run of marks whose partner is not known yet; `grows`: while the answer grows it is shown as if it were closed.
 */
export type Marks = {
  type: 'marks';
  mark: string;
  count: number;
  opens: boolean;
  closes: boolean;
  grows: boolean;
};
/** A run that may open, its place in the list, and how deep the trees after it are. */
type Opener = { run: Marks; at: number; depth: number };

/** Emphasis nested deeper than this stays text. */
export const MAX_NESTED = 24;
/** Kinds of marks; of two kinds that cross each other, the one that comes first in the text is read first. */
export const EMPHASIS = '*_';
export const DELETION = '~';

const PUNCTUATION = /[\p{P}\p{S}]/u;
/**
 * Scripts that put no blanks between words, with their punctuation, as `micromark-extension-cjk-friendly` knows them.
 */
const CJK =
  /[\u1100-\u11ff\u20a9\u2329\u232a\u2e80-\u2fff\u3001-\u303e\u3041-\u3247\u3250-\ua4c6\ua960-\ua97c\uac00-\ud7fb\uf900-\ufaff\ufe10-\ufe19\ufe30-\ufe6b\uff01-\uffee\u{16fe0}-\u{191d1}\u{1aff0}-\u{1b2fb}\u{20000}-\u{3fffd}]/u;

/** What is on one side of a run: nothing and blanks, or else a character. */
function sideOf(char: string) {
  const isBlank = char === '' || /\s/.test(char);
  const isPunctuation = !isBlank && PUNCTUATION.test(char);
  const isCjk = CJK.test(char);
  const isEdge = isBlank || (isPunctuation && !isCjk);
  return { isBlank, isPunctuation, isCjk, isEdge };
}

/**
 * The run of marks at a place, as CommonMark, its amendment for CJK and `runKind` define it. One tilde is not a mark, and
 * three or more are none.
 */
export function readMarks(text: string, at: number): Marks | undefined {
  const mark = text.charAt(at);
  let end = at + 1;
  while (text[end] === mark) end += 1;
  const count = end - at;
  if (mark === DELETION && count !== 2) return undefined;
  const [last, next] = [characterBefore(text, at), String.fromCodePoint(...codesAt(text, end))];
  const [before, after] = [sideOf(last), sideOf(next)];
  const isLeft = !after.isEdge || (!after.isBlank && (before.isEdge || before.isCjk));
  const isRight = !before.isEdge || (!before.isBlank && (after.isEdge || after.isCjk));
  const grows =
    (before.isBlank || before.isPunctuation || before.isCjk) &&
    count <= (mark === DELETION ? 2 : 3) &&
    // "*.ts" is rarely emphasis.
    !(count === 1 && /[./,)]/.test(next)) &&
    !text.includes('\n', end);
  const run = { type: 'marks' as const, mark, count, grows };
  if (mark === DELETION) return { ...run, opens: isLeft, closes: isRight };
  const kind = runKind(text, at, end);
  if (kind === 'text') return undefined;
  const opens = isLeft || next === DELETION;
  const closes = isRight || last === DELETION;
  if (mark === '_')
    return {
      ...run,
      opens: opens && (before.isBlank || before.isPunctuation || !closes),
      closes: closes && (after.isBlank || after.isPunctuation || !opens),
    };
  return { ...run, opens, closes: closes || kind === 'closes' };
}

function characterBefore(text: string, at: number) {
  const isHalf = /[\udc00-\udfff]/.test(text.charAt(at - 1));
  return text.slice(Math.max(0, at - (isHalf ? 2 : 1)), at);
}

function codesAt(text: string, at: number) {
  const code = text.codePointAt(at);
  return code === undefined ? [] : [code];
}

/**
 * The trees that runs of marks make out of a list; runs without a partner become text.
 * @param kinds those that are left, the first one now
 * @param growing marks that open at the end are taken for closed
 */
export function pairMarks(nodes: (Inline | Marks)[], kinds: readonly string[], growing: boolean): Inline[] {
  const [kind, ...rest] = kinds;
  if (kind === undefined) return joined(nodes);
  return new Pairing(kind, rest).of(nodes, growing);
}

class Pairing {
  #kind;
  #rest;
  #out: (Inline | Marks)[] = [];
  /** Innermost last. */
  #openers: Opener[] = [];
  /** By the look of a closing run: openers before this one are known not to fit it. */
  #misfits: Map<string, number> = new Map();

  constructor(kind: string, rest: readonly string[]) {
    this.#kind = kind;
    this.#rest = rest;
  }

  of(nodes: (Inline | Marks)[], growing: boolean) {
    for (const node of nodes) {
      const isMarks = node.type === 'marks' && this.#kind.includes(node.mark);
      if (isMarks && node.closes) this.#close(node);
      if (isMarks && node.count === 0) continue;
      if (isMarks && node.opens) this.#openers.push({ run: node, at: this.#out.length, depth: 0 });
      this.#out.push(node);
    }
    if (growing) this.#closeGrowing();
    return this.#inside(this.#out, growing);
  }

  /** The other kinds within a list in which the marks of this kind are used up. */
  #inside(nodes: (Inline | Marks)[], growing: boolean) {
    const rest = nodes.map((node) =>
      node.type === 'marks' && this.#kind.includes(node.mark) ? textOfMarks(node) : node,
    );
    return pairMarks(rest, this.#rest, growing);
  }

  #close(closer: Marks) {
    for (let index = this.#openerOf(closer); index >= 0; index = this.#openerOf(closer)) {
      const { run } = this.#openers[index] as Opener;
      const markCount = closer.mark === DELETION ? closer.count : Math.min(2, run.count, closer.count);
      closer.count -= markCount;
      this.#wrap(index, markCount, false);
      for (const [look, from] of this.#misfits) this.#misfits.set(look, Math.min(from, index));
    }
  }

  #openerOf(closer: Marks) {
    if (closer.count === 0) return -1;
    const look = `${closer.mark}${closer.opens}${closer.mark === DELETION ? closer.count : closer.count % 3}`;
    const from = this.#misfits.get(look) ?? 0;
    let index = this.#openers.length - 1;
    while (index >= from && !this.#stopsAt(index, closer)) index -= 1;
    if (index >= from && (this.#openers[index]?.depth ?? 0) < MAX_NESTED) return index;
    this.#misfits.set(look, this.#openers.length);
    return -1;
  }

  #stopsAt(index: number, closer: Marks) {
    const opener = this.#openers[index];
    return opener !== undefined && (opener.depth >= MAX_NESTED || fits(opener.run, closer));
  }

  /**
   * Makes a tree of what follows an opener.
   * @param markCount marks of the opener
   */
  #wrap(index: number, markCount: number, growing: boolean) {
    const opener = this.#openers[index] as Opener;
    const { run, at } = opener;
    const depth = 1 + this.#openers.splice(index).reduce((most, opener) => Math.max(most, opener.depth), 0);
    const children = this.#inside(this.#out.splice(at + 1), growing);
    run.count -= markCount;
    if (run.count > 0) this.#openers.push(opener);
    else this.#out.pop();
    this.#out.push({ type: run.mark === DELETION ? 'del' : markCount === 2 ? 'strong' : 'em', children });
    const outerOpener = this.#openers.at(-1);
    if (outerOpener !== undefined) outerOpener.depth = Math.max(outerOpener.depth, depth);
  }

  #closeGrowing() {
    for (let index = this.#openers.length - 1; index >= 0; index -= 1) {
      const { run, depth } = this.#openers[index] as Opener;
      if (!run.grows || depth >= MAX_NESTED) continue;
      this.#wrap(index, Math.min(2, run.count), true);
      if (run.count > 0) this.#wrap(index, run.count, true);
    }
  }
}

function fits(opener: Marks, closer: Marks) {
  if (opener.mark !== closer.mark) return false;
  if (opener.mark === DELETION) return opener.count === closer.count;
  const mayBeEither = opener.closes || closer.opens;
  return !mayBeEither || closer.count % 3 === 0 || (opener.count + closer.count) % 3 !== 0;
}

function textOfMarks({ mark, count }: Marks): Inline {
  return { type: 'text', text: mark.repeat(count) };
}

/** The list with neighbouring texts as one. */
export function joined(nodes: (Inline | Marks)[]): Inline[] {
  const list: Inline[] = [];
  for (const node of nodes) {
    const one = node.type === 'marks' ? textOfMarks(node) : node;
    const last = list.at(-1);
    if (one.type === 'text' && last?.type === 'text')
      list[list.length - 1] = { type: 'text', text: last.text + one.text };
    else list.push(one);
  }
  return list;
}
