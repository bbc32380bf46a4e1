/** Parses the model's answers in phases 1 and 2 of planning: the analysis with its verdict, and the sections of the review. */

/** Phase 1 (N-15, N-16). `direct`: no plan is needed. `reflect`: the analysis asks for a review; a garbled verdict does not. */
export type Analysis = { direct: true } | { direct: false; text: string; reflect: boolean };

/** Phase 2 (N-18); a section that the model left out is undefined. */
export interface Review {
  critic?: string | undefined;
  pragmatist?: string | undefined;
  detailer?: string | undefined;
  planAdjustments?: string | undefined;
}

const DIRECT_LINE = /^\W*(?:(?:[Cc]lassification|[Vv]erdict|[Dd]ecision|[Aa]nswer)\W+)?DIRECT\W*$/;
const DIRECT_FIRST = /^\W*DIRECT\b/;
const VERDICT = /\bREFLECT\**\s*[:=]\W{0,5}(yes|no)\b(?!\s*(?:[/|]|or\b))/gi;

/** Never throws: text without a clear verdict is an analysis that needs no review. `required`: a plan is made in any case. */
export function readAnalysis(answer: string, required = false): Analysis {
  const text = withoutThinking(answer);
  const lines = text.split('\n');
  if (required) return { direct: false, text, reflect: asksForReview(text) };
  if (DIRECT_FIRST.test(lines[0] ?? '') || lines.some((line) => DIRECT_LINE.test(line))) {
    return { direct: true };
  }
  return { direct: false, text, reflect: asksForReview(text) };
}

function asksForReview(text: string): boolean {
  const verdict = [...text.matchAll(VERDICT)].at(-1)?.[1];
  return verdict?.toLowerCase() === 'yes';
}

const SECTIONS = {
  critic: /^[\W\d]*critic\b/i,
  pragmatist: /^[\W\d]*pragmatist\b/i,
  detailer: /^[\W\d]*detailer\b/i,
  planAdjustments: /^[\W\d]*plan[ _-]?adjustments?\b/i,
} as const;
const TITLES = {
  critic: 'Critic',
  pragmatist: 'Pragmatist',
  detailer: 'Detailer',
  planAdjustments: 'Plan Adjustments',
} as const;
type Section = keyof typeof SECTIONS;
const NAMES: readonly Section[] = ['critic', 'pragmatist', 'detailer', 'planAdjustments'];

/** Never throws. A section ends where the next one begins; text before the first is ignored. */
export function readReview(answer: string): Review {
  const parts: Partial<Record<Section, string[]>> = {};
  let open: string[] | undefined;
  for (const line of withoutThinking(answer).split('\n')) {
    const name = NAMES.find((one) => parts[one] === undefined && SECTIONS[one].test(line));
    if (name !== undefined) {
      open = parts[name] = [line.replace(SECTIONS[name], '').replace(/^[\s*:#.—–-]+/, '')];
    } else open?.push(line);
  }
  const review: Review = {};
  for (const name of NAMES) {
    const text = parts[name]?.join('\n').trim();
    if (text !== undefined && text !== '') review[name] = text;
  }
  return review;
}

/** The review as phase 3 reads it (N-19): its sections in order, or the whole answer when it has none. */
export function reviewText(answer: string): string {
  const review = readReview(answer);
  const sections = NAMES.flatMap((name) => {
    const text = review[name];
    return text === undefined ? [] : [`${TITLES[name]}:\n${text}`];
  });
  return sections.length === 0 ? withoutThinking(answer) : sections.join('\n\n');
}

/** The answer without thinking, which some models write into it in any case. */
export function withoutThinking(answer: string): string {
  const end = answer.lastIndexOf('</think>');
  return (end < 0 ? answer : answer.slice(end + '</think>'.length)).trim();
}
