/** LaTeX formulas in Markdown made readable: simple ones in Unicode, others as code. Pure. */
import { escapeMarkdown } from './escape.ts';
import { formulasIn } from './formulas.ts';
import { changeProse } from './prose.ts';
import { lowered, raised } from './small-characters.ts';

/** Markdown with its formulas (see `formulasIn`) made readable; code stays unchanged. Never throws. */
export function readableMath(markdown: string): string {
  return replaceMath(markdown, ({ source }) => {
    const simple = toUnicode(source);
    return simple === undefined ? asCode(source) : escapeMarkdown(simple);
  });
}

/** Private-use characters around the number of a formula. */
const MARKS = ['\uE010', '\uE011'] as const;
const MARK = /\uE010(\d+)\uE011/;
/** Most texts hold none of these, and need not be read. */
const MAY_HOLD = /\\[([]|\$[^\s$]|\$\$/;

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
  const without = replaceMath(markdown, ({ source, isDisplayed }) => {
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

function replaceMath(markdown: string, replace: (formula: Formula) => string): string {
  if (!MAY_HOLD.test(markdown)) return markdown;
  return changeProse(markdown, (prose) => {
    let read = '';
    let from = 0;
    for (const { start, end, ...formula } of formulasIn(prose)) {
      read += prose.slice(from, start) + replace(formula);
      from = end;
    }
    return from === 0 ? prose : read + prose.slice(from);
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
const SETS: Readonly<Record<string, string>> = { C: 'ℂ', H: 'ℍ', N: 'ℕ', P: 'ℙ', Q: 'ℚ', R: 'ℝ', Z: 'ℤ' };
/** Characters that mean something else without their backslash; the private ones stand for them until the end. */
const LITERALS: Readonly<Record<string, string>> = { _: '\uE000', '{': '\uE001', '}': '\uE002', '|': '‖' };
const SYMBOLS = new Map(
  WORDS.flatMap((name, at) => (at % 2 === 0 ? [[name, WORDS[at + 1] ?? ''] as const] : [])),
);
/** Undefined for a formula that one line of characters cannot show. */
function toUnicode(formula: string): string | undefined {
  if (/[\uE000-\uE002]/.test(formula)) return undefined;
  const text = formula
    .replace(/\\(?:[,;:!]|(?:left|right|quad|qquad|displaystyle)(?![A-Za-z]))/g, ' ')
    .replace(/\\(?:text|mathrm|mathbf|mathit|operatorname)\{([^{}\\]*)\}/g, '$1')
    .replace(/\\mathbb\{([CHNPQRZ])\}/g, (_, set: string) => SETS[set] ?? set)
    .replace(/\\([%#&_$|{}])/g, (_, char: string) => LITERALS[char] ?? char);
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
    .replace(
      /\^(?:\{([^{}]*)\}|(\S))/g,
      (whole, group?: string, one?: string) => raised(group ?? one ?? '') ?? whole,
    )
    .replace(
      /_(?:\{([^{}]*)\}|(\S))/g,
      (whole, group?: string, one?: string) => lowered(group ?? one ?? '') ?? whole,
    )
    .replace(/\\boxed\{([^{}]*)\}/g, '$1');
  if (/[\\{}^_]/.test(moved)) return undefined;
  return moved
    .replaceAll(/[\uE000-\uE002]/g, (mark) => '_{}'.charAt(mark.charCodeAt(0) - 0xe000))
    .replace(/\s+/g, ' ')
    .trim();
}

function grouped(text: string): string {
  const bare = text.trim();
  return /^(?:\w+|\\[A-Za-z]+)$/.test(bare) ? bare : `(${bare})`;
}
