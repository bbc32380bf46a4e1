/** Reads what the model says in phases 1 and 2 of planning: the analysis with its verdict, and the review's sections. */

/** Phase 1 (N-15, N-16). `direct`: no plan is needed. `reflect`: the analysis asks for a review; a garbled verdict does not. */
export type Analysis = { direct: true } | { direct: false; text: string; reflect: boolean };

/** Phase 2 (N-18); what the model left out is undefined. */
export interface Review {
  critic?: string | undefined;
  pragmatist?: string | undefined;
  detailer?: string | undefined;
  planAdjustments?: string | undefined;
}

const DIRECT_LINE = /^\W*(?:(?:[Cc]lassification|[Vv]erdict|[Dd]ecision|[Aa]nswer)\W+)?DIRECT\W*$/;
const DIRECT_FIRST = /^\W*DIRECT\b/;
const VERDICT = /\bREFLECT\**\s*[:=]\W{0,5}(yes|no)\b(?!\s*(?:[/|]|or\b))/gi;

/** Never throws: whatever is not understood is an analysis that asks for no review. */
export function readAnalysis(answer: string): Analysis {
  const text = withoutThinking(answer);
  const lines = text.split('\n');
  if (DIRECT_FIRST.test(lines[0] ?? '') || lines.some((line) => DIRECT_LINE.test(line))) {
    return { direct: true };
  }
  const verdict = [...text.matchAll(VERDICT)].at(-1)?.[1];
  return { direct: false, text, reflect: verdict?.toLowerCase() === 'yes' };
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

/** Never throws. A section ends where the next one begins; words before the first are left out. */
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
    const words = parts[name]?.join('\n').trim();
    if (words !== undefined && words !== '') review[name] = words;
  }
  return review;
}

/** The review as phase 3 reads it (N-19): its sections in their order, or all the model said when it used none. */
export function reviewText(answer: string): string {
  const review = readReview(answer);
  const sections = NAMES.flatMap((name) => {
    const words = review[name];
    return words === undefined ? [] : [`${TITLES[name]}:\n${words}`];
  });
  return sections.length === 0 ? withoutThinking(answer) : sections.join('\n\n');
}

/** Some models write their thinking into the answer, whatever they are asked. */
export function withoutThinking(answer: string): string {
  const end = answer.lastIndexOf('</think>');
  return (end < 0 ? answer : answer.slice(end + '</think>'.length)).trim();
}
