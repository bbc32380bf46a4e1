/** LaTeX formulas in Markdown made readable: simple ones in Unicode, others as code. Pure. */

/** Longest formula that is read, and longest code that is seen as such, in UTF-16 units. */
const MAX_FORMULA = 1_000;

const FENCE = /^ {0,3}(`{3,}|~{3,})/;

/** Code comes first, in which nothing is a formula; no formula starts inside another, so that each is scanned once. */
const PARTS = new RegExp(
  String.raw`(?<!\`)(\`+)(?!\`)[^\`](?:[^]{0,${MAX_FORMULA}}?[^\`])??\1(?!\`)|(?<!\\)\\\(((?:(?!\\\()[^]){1,${MAX_FORMULA}}?)\\\)|(?<!\\)\\\[((?:(?!\\\[)[^]){1,${MAX_FORMULA}}?)\\\]|(?<![\\$])\$\$([^$]{1,${MAX_FORMULA}})\$\$(?!\$)`,
  'g',
);

/** A formula has an operator, or is one letter; `\(see below\)` is not one. */
const FORMULA = /[\\^_={}+*/<>|\d-]|^\s*\p{L}\s*$/u;

/** What a formula becomes. */
type Replace = (formula: string, isDisplayed: boolean) => string;

/** Markdown with `\(…\)`, `\[…\]` and `$$…$$` made readable; code blocks stay unchanged. Never throws. */
export function readableMath(markdown: string): string {
  return replaceMath(markdown, (formula) => {
    const simple = toUnicode(formula);
    return simple === undefined ? asCode(formula) : simple.replace(/[\\`*_{}[\]()#+.!|<>~$&-]/g, '\\$&');
  });
}

/** Private-use characters around the number of a formula. */
const MARKS = ['\uE010', '\uE011'] as const;
const MARK = /\uE010(\d+)\uE011/;

/** A formula that was extracted from a text. */
export interface Formula {
  source: string;
  /** It was enclosed in `\[…\]` or `$$…$$`. */
  isDisplayed: boolean;
}

/**
 * Markdown whose formulas are extracted, for a network that renders LaTeX itself; `splitAtFormulas` finds their places.
 * Never throws.
 */
export function takeOutFormulas(markdown: string): { markdown: string; formulas: Formula[] } {
  const formulas: Formula[] = [];
  if (MARKS.some((mark) => markdown.includes(mark))) return { markdown, formulas };
  const without = replaceMath(markdown, (source, isDisplayed) => {
    formulas.push({ source: source.trim(), isDisplayed });
    return `${MARKS[0]}${formulas.length - 1}${MARKS[1]}`;
  });
  return { markdown: without, formulas };
}

/** A text with its formulas in their places. */
export function splitAtFormulas(text: string, formulas: readonly Formula[]): (string | Formula)[] {
  if (formulas.length === 0) return [text];
  // Every second element is the number of a formula.
  return text
    .split(MARK)
    .map((piece, index) => (index % 2 === 0 ? piece : (formulas[Number(piece)] ?? piece)))
    .filter((piece) => piece !== '');
}

function replaceMath(markdown: string, replace: Replace): string {
  if (!/\\[([]|\$\$/.test(markdown)) return markdown;
  const parts: string[] = [];
  let text: string[] = [];
  let fence: string | undefined;
  const flush = (): void => {
    if (text.length > 0) parts.push(replaceFormulas(text.join('\n'), replace));
    text = [];
  };
  for (const line of markdown.split('\n')) {
    const mark = FENCE.exec(line)?.[1];
    if (fence === undefined && mark === undefined) {
      text.push(line);
      continue;
    }
    flush();
    parts.push(line);
    if (fence === undefined) fence = mark;
    else if (mark?.startsWith(fence) === true && line.trim() === mark) fence = undefined;
  }
  flush();
  return parts.join('\n');
}

function replaceFormulas(text: string, replace: Replace): string {
  return text.replace(PARTS, (whole: string, _ticks, inline, display, dollars) => {
    const formula: unknown = inline ?? display ?? dollars;
    if (typeof formula !== 'string' || !FORMULA.test(formula) || /\n\s*\n/.test(formula)) return whole;
    return replace(formula, inline === undefined);
  });
}

function asCode(formula: string): string {
  const line = formula.replace(/\s+/g, ' ').trim();
  const longest = Math.max(0, ...(line.match(/`+/g) ?? []).map(({ length }) => length));
  const ticks = '`'.repeat(longest + 1);
  const pad = line.startsWith('`') || line.endsWith('`') ? ' ' : '';
  return `${ticks}${pad}${line}${pad}${ticks}`;
}

const NAMES = `alpha α beta β gamma γ delta δ epsilon ε varepsilon ε zeta ζ eta η theta θ iota ι kappa κ lambda λ mu μ nu ν
xi ξ pi π rho ρ sigma σ tau τ upsilon υ phi φ varphi φ chi χ psi ψ omega ω Gamma Γ Delta Δ Theta Θ Lambda Λ Xi Ξ Pi Π
Sigma Σ Phi Φ Psi Ψ Omega Ω times × cdot · div ÷ pm ± mp ∓ leq ≤ le ≤ geq ≥ ge ≥ neq ≠ ne ≠ approx ≈ equiv ≡ sim ∼
propto ∝ infty ∞ to → rightarrow → leftarrow ← Rightarrow ⇒ implies ⇒ Leftrightarrow ⇔ iff ⇔ mapsto ↦ in ∈ notin ∉
subset ⊂ subseteq ⊆ supset ⊃ cup ∪ cap ∩ emptyset ∅ forall ∀ exists ∃ neg ¬ land ∧ lor ∨ partial ∂ nabla ∇ sum ∑ prod ∏
int ∫ degree ° circ ∘ ldots … dots … cdots ⋯ angle ∠ perp ⊥ parallel ∥ mid | ell ℓ hbar ℏ Re ℜ Im ℑ sin sin cos cos
tan tan log log ln ln exp exp lim lim max max min min gcd gcd det det mod mod`;
const WORDS = NAMES.split(/\s+/);
const SYMBOLS = new Map(
  WORDS.flatMap((name, at) => (at % 2 === 0 ? [[name, WORDS[at + 1] ?? ''] as const] : [])),
);
const RAISED = characterMap('0123456789+-=()ni', '⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁿⁱ');
const LOWERED = characterMap('0123456789+-=()aeoxhklmnpstij', '₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎ₐₑₒₓₕₖₗₘₙₚₛₜᵢⱼ');

function characterMap(from: string, to: string): ReadonlyMap<string, string> {
  const shown = Array.from(to);
  return new Map(Array.from(from, (char, at) => [char, shown[at] ?? char]));
}

/** Undefined for a formula that one line of characters cannot show. */
function toUnicode(formula: string): string | undefined {
  const text = formula
    .replace(/\\(?:left|right|,|;|:|!|quad|qquad|displaystyle)(?![A-Za-z])/g, ' ')
    .replace(/\\(?:text|mathrm|mathbf|mathit|operatorname)\{([^{}\\]*)\}/g, '$1')
    .replace(/\\([%#&_$])/g, (_, char: string) => (char === '_' ? '\uE000' : char));
  const roots = text.replace(
    /\\sqrt\{([^{}]*)\}/g,
    (_, of: string) => `√${/^(?:\w|\d+)$/.test(of.trim()) ? of.trim() : `(${of.trim()})`}`,
  );
  const fractions = roots.replace(
    /\\[dt]?frac\{([^{}]*)\}\{([^{}]*)\}/g,
    (_, above: string, below: string) => `${grouped(above)}/${grouped(below)}`,
  );
  const named = fractions.replace(/\\([A-Za-z]+)/g, (whole, name: string) => SYMBOLS.get(name) ?? whole);
  const moved = named
    .replace(/\^(?:\{([^{}]*)\}|(\S))/g, (whole, group?: string, one?: string) =>
      shifted(group ?? one ?? '', RAISED, whole),
    )
    .replace(/_(?:\{([^{}]*)\}|(\S))/g, (whole, group?: string, one?: string) =>
      shifted(group ?? one ?? '', LOWERED, whole),
    );
  if (/[\\{}^_]/.test(moved)) return undefined;
  return moved.replaceAll('\uE000', '_').replace(/\s+/g, ' ').trim();
}

function grouped(text: string): string {
  const bare = text.trim();
  return /^(?:\w+|\\[A-Za-z]+)$/.test(bare) ? bare : `(${bare})`;
}

function shifted(text: string, characters: ReadonlyMap<string, string>, whole: string): string {
  const shown = Array.from(text.replace(/\s/g, ''), (char) => characters.get(char));
  return shown.length === 0 || shown.includes(undefined) ? whole : shown.join('');
}
