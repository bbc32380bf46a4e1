/** Reads LaTeX and makes MathML of it. In a script of its own, because the library is larger than the rest of the page. */
import temml from 'temml';

/** Most ems that a formula may ask for as a width or shift, most printer's points, and most macros that it may expand. */
const MAX_SIZE: [number, number] = [20, 200];
const MAX_EXPANSIONS = 500;

/** The library writes a `style` attribute for this one, which the page's policy refuses. */
const MACROS = { '\\pmb': '\\boldsymbol{#1}' };

/**
 * A formula as an element; undefined for one that cannot be read. Its styles are set on the elements, one by one, which
 * the page's policy (`style-src 'self'`) allows, unlike `style` attributes. Never throws.
 */
export function typeset(source: string, isDisplayed: boolean): Element | undefined {
  const holder = document.createElement('span');
  try {
    temml.render(source, holder, {
      displayMode: isDisplayed,
      throwOnError: true,
      trust: false,
      maxSize: MAX_SIZE,
      maxExpand: MAX_EXPANSIONS,
      macros: { ...MACROS },
    });
  } catch {
    // Its source is shown: what is wrong with it, its reader cannot change.
    return undefined;
  }
  return holder.firstElementChild ?? undefined;
}

document.addEventListener('copy', (event) => {
  const selection = getSelection();
  if (selection === null || selection.rangeCount === 0 || event.clipboardData === null) return;
  const text = textWithSources(selection.getRangeAt(0).cloneRange());
  if (text === undefined) return;
  event.clipboardData.setData('text/plain', text);
  event.preventDefault();
});

/** The text of a selection in which each formula is as it was written; undefined when there is none. */
function textWithSources(range: Range): string | undefined {
  const formulaAt = (node: Node) =>
    (node instanceof Element ? node : node.parentElement)?.closest('.formula');
  const [first, last] = [formulaAt(range.startContainer), formulaAt(range.endContainer)];
  if (first) range.setStartBefore(first);
  if (last) range.setEndAfter(last);
  const part = range.cloneContents();
  const formulas = part.querySelectorAll<HTMLElement>('.formula');
  if (formulas.length === 0) return undefined;
  for (const formula of formulas) formula.replaceWith(formula.dataset['written'] ?? '');
  // The browser itself knows where lines end, once the part is in the page.
  const holder = document.createElement('div');
  holder.className = 'visually-hidden';
  holder.append(part);
  document.body.append(holder);
  const text = holder.innerText;
  holder.remove();
  return text;
}
