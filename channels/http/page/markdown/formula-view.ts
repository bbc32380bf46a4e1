/**
 * Draws formulas as MathML, which browsers lay out themselves. The library that reads LaTeX is loaded with the first
 * formula; until then, and for what it cannot read, the source is shown as code.
 */
import type { typeset } from './typeset.ts';
import { h } from '../dom.ts';
import { messageOf } from '../failures/in-place.ts';
import { say } from '../texts.ts';

/** A formula in a line that is longer than this may be wider than a phone: it scrolls there. */
const LONG = 40;

let loaded: typeof typeset | undefined;
let loading: Promise<{ typeset: typeof typeset }> | undefined;

/**
 * A formula; a selection with it is copied with what was written.
 * @param written with its delimiters
 */
export function drawFormula(source: string, written: string, isDisplayed: boolean) {
  const look = isDisplayed ? ' displayed' : source.length > LONG ? ' long' : '';
  const attributes = { class: `formula${look}`, dir: 'ltr', 'data-written': written };
  const element = h('span', attributes, h('code', {}, source));
  const show = (read: typeof typeset) => {
    const math = read(source, isDisplayed);
    if (math !== undefined) element.replaceChildren(math);
  };
  // Once it is there, a growing text shows each formula at once.
  if (loaded === undefined) void whenLoaded(element, show);
  else show(loaded);
  return element;
}

async function whenLoaded(element: HTMLElement, show: (read: typeof typeset) => void) {
  try {
    loading ??= import('./typeset.ts');
    ({ typeset: loaded } = await loading);
    show(loaded);
  } catch (error) {
    loading = undefined;
    element.title = say('page.markdown.not_typeset', { why: messageOf(error) });
  }
}
