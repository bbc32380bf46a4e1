/** LaTeX formulas in Markdown made readable: simple ones in Unicode, others as code. Pure. */
import { replaceFormulas } from './formulas.ts';
import { escapeMarkdown } from './references.ts';
import { lowered, raised } from './tags.ts';

/** Markdown with its formulas made readable; code stays unchanged. Never throws. */
export function readableMath(markdown: string): string {
  return replaceFormulas(markdown, ({ source }) => {
    const simple = toUnicode(source);
    return simple === undefined ? asCode(source) : escapeMarkdown(simple);
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
/** The formula in Unicode; undefined for one that one line of characters cannot show. */
export function toUnicode(formula: string): string | undefined {
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
    (_, numerator: string, denominator: string) => `${grouped(numerator)}/${grouped(denominator)}`,
  );
  const withSymbols = fractions.replace(
    /\\([A-Za-z]+)/g,
    (whole, name: string) => SYMBOLS.get(name) ?? whole,
  );
  const withScripts = withSymbols
    .replace(
      /\^(?:\{([^{}]*)\}|(\S))/g,
      (whole, group?: string, one?: string) => raised(group ?? one ?? '') ?? whole,
    )
    .replace(
      /_(?:\{([^{}]*)\}|(\S))/g,
      (whole, group?: string, one?: string) => lowered(group ?? one ?? '') ?? whole,
    )
    .replace(/\\boxed\{([^{}]*)\}/g, '$1');
  if (/[\\{}^_]/.test(withScripts)) return undefined;
  return withScripts
    .replaceAll(/[\uE000-\uE002]/g, (mark) => '_{}'.charAt(mark.charCodeAt(0) - 0xe000))
    .replace(/\s+/g, ' ')
    .trim();
}

function grouped(text: string): string {
  const bare = text.trim();
  return /^(?:\w+|\\[A-Za-z]+)$/.test(bare) ? bare : `(${bare})`;
}
