/** Raised and lowered characters: as Unicode has them, or written out. Pure. */

const RAISED = characterMap(
  '0123456789+-=()abcdefghijklmnoprstuvwxyz',
  '⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻ',
);
const LOWERED = characterMap('0123456789+-=()aeoxhklmnpstijruv', '₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎ₐₑₒₓₕₖₗₘₙₚₛₜᵢⱼᵣᵤᵥ');

function characterMap(from: string, to: string): ReadonlyMap<string, string> {
  const shown = Array.from(to);
  return new Map(Array.from(from, (char, at) => [char, shown[at] ?? char]));
}

/** The text as raised characters; undefined if Unicode lacks one of them. */
export function raised(text: string): string | undefined {
  return mapped(text, RAISED);
}

/** The text as lowered characters; undefined if Unicode lacks one of them. */
export function lowered(text: string): string | undefined {
  return mapped(text, LOWERED);
}

/** `²`, `^Q`, `^(TM)`: a raised text, as characters or with a sign before it. */
export function raisedOrMarked(text: string): string {
  return raised(text) ?? `^${grouped(text)}`;
}

/** `₂`, `_Q`, `_(eff)`: a lowered text, as characters or with a sign before it. */
export function loweredOrMarked(text: string): string {
  return lowered(text) ?? `_${grouped(text)}`;
}

function mapped(text: string, characters: ReadonlyMap<string, string>): string | undefined {
  const shown = Array.from(text.replace(/\s/g, ''), (char) => characters.get(char));
  return shown.length === 0 || shown.includes(undefined) ? undefined : shown.join('');
}

function grouped(text: string): string {
  return Array.from(text).length === 1 ? text : `(${text})`;
}
