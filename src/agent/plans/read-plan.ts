/** Parses the model's plan: milestones, and numbered steps with their executors (N-20, N-21). */
import { MAX_PLAN_STEPS, type StepExecutor } from '../../protocol/agent/plan.ts';
import { todoText } from '../../protocol/store/notes.ts';
import { inEnglish, type Say } from '../../protocol/texts/say.ts';
import { stripEnd } from '../../lib/text.ts';

/** Phase 1 (N-15, N-16). `direct`: no plan is needed. `reflect`: the analysis asks for a review; a garbled verdict does not. */
type Analysis = { direct: true } | { direct: false; text: string; reflect: boolean };

/** Phase 2 (N-18); a section that the model left out is undefined. */
interface Review {
  critic?: string | undefined;
  pragmatist?: string | undefined;
  detailer?: string | undefined;
  planAdjustments?: string | undefined;
}

const DIRECT_LINE = /^\W*(?:(?:[Cc]lassification|[Vv]erdict|[Dd]ecision|[Aa]nswer)\W+)?DIRECT\W*$/;

const DIRECT_FIRST = /^\W*DIRECT\b/;

const VERDICT = /\bREFLECT\**\s*[:=]\W{0,5}(yes|no)\b(?!\s*(?:[/|]|or\b))/gi;

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

/** Most milestones of a plan. */
export const MAX_MILESTONES = 8;

/** A parsed plan, before it has ids and risks. */
export interface WrittenPlan {
  milestones: string[];
  /** At most `MAX_PLAN_STEPS`, in order. */
  steps: { description: string; executor: StepExecutor }[];
}

/** Names that a step may use. */
export interface KnownExecutors {
  tools: ReadonlySet<string>;
  profiles: ReadonlySet<string>;
}

/** Longest line that is parsed, in UTF-16 units. */
const MAX_LINE_CHARS = 1_000;

const NUMBERED = /^\s*\W{0,5}(?:\d{1,4}[.)]|step\s+\d{1,4}\s*[.):–—-])\s*(.*)$/i;
const BULLET = /^\s*[-*+•]\s+(.*)$/;
const MILESTONES = /^\W*milestones?\W*$/i;
const MILESTONE = /^\W*milestone\s+\d+\W+(.*)$/i;
const STEPS = /^\W*(?:execution |numbered )?(?:steps|plan)\W*$/i;
const NAMED =
  /[[({]?\s{0,4}\b(TOOL|AGENT|Tool|Agent)\b[\s*`]{0,8}[:=][\s*`]{0,8}([\w.-]{1,64})[`*]{0,4}\s{0,4}[\])}]?/;
const SELF = /[[({]?\s{0,4}\bSELF\b\s{0,4}[\])}]?/;
const LABEL = /\bexecutor\**\s*[:=]\s*/i;

/**
 * Undefined when no line is numbered (N-29): the answer is not a plan. What is added to the words of the model is in the
 * language of `say`. Never throws.
 */
export function readPlan(
  answer: string,
  executors: KnownExecutors,
  say: Say = inEnglish,
): WrittenPlan | undefined {
  const lines = withoutThinking(answer)
    .split('\n')
    .map((line) => line.slice(0, MAX_LINE_CHARS));
  const from = firstStepLine(lines);
  const milestones: string[] = [];
  const steps: string[] = [];
  let listsMilestones = false;
  for (const [at, line] of lines.entries()) {
    const milestone = MILESTONE.exec(line)?.[1];
    const numbered = NUMBERED.exec(line)?.[1];
    if (MILESTONES.test(line)) listsMilestones = true;
    else if (milestone !== undefined) milestones.push(milestone);
    else if (STEPS.test(line)) listsMilestones = false;
    else if (numbered !== undefined && at >= from) {
      listsMilestones = false;
      steps.push(numbered);
    } else if (listsMilestones) milestones.push(numbered ?? BULLET.exec(line)?.[1] ?? '');
    else if (executorIn(steps.at(-1) ?? 'SELF') === undefined && executorIn(line) !== undefined) {
      steps.push(`${steps.pop() ?? ''} ${line}`);
    }
  }
  const planSteps = steps.flatMap((step) => readStep(step, executors, say) ?? []).slice(0, MAX_PLAN_STEPS);
  if (planSteps.length === 0) return undefined;
  return {
    milestones: milestones.map(plain).filter(Boolean).slice(0, MAX_MILESTONES),
    steps: planSteps,
  };
}

/** Numbered lines before a heading "Steps" are milestones, where any follow it. */
function firstStepLine(lines: readonly string[]): number {
  const heading = lines.findIndex((line) => STEPS.test(line));
  const follow = heading >= 0 && lines.slice(heading).some((line) => NUMBERED.test(line));
  return follow ? heading : 0;
}

/** The executor found in one line. */
interface Named {
  kind: 'tool' | 'agent' | 'self';
  name: string;
  /** The matched text, to be removed from the description. */
  match: string;
}

function executorIn(line: string): Named | undefined {
  const [match, kind, name] = NAMED.exec(line) ?? [];
  if (match !== undefined && kind !== undefined && name !== undefined) {
    return {
      kind: kind.toUpperCase() === 'TOOL' ? 'tool' : 'agent',
      name: stripEnd(name, '.-'),
      match,
    };
  }
  const [self] = SELF.exec(line) ?? [];
  return self === undefined ? undefined : { kind: 'self', name: '', match: self };
}

function readStep(
  line: string,
  executors: KnownExecutors,
  say: Say,
): WrittenPlan['steps'][number] | undefined {
  const executor = executorIn(line);
  const text = plain(executor === undefined ? line : line.replace(executor.match, ' '));
  if (text === '' && executor === undefined) return undefined;
  const self = { kind: 'self' as const };
  if (executor === undefined || executor.kind === 'self') {
    return text === '' ? undefined : { description: text, executor: self };
  }
  const { kind, name } = executor;
  if (kind === 'tool') {
    const description = text || say('card.use_tool', { name });
    if (executors.tools.has(name)) return { description, executor: { kind, tool: name } };
    return { description: refused(description, say('card.no_tool', { name })), executor: self };
  }
  const description = text || say('card.hand_over', { name });
  if (executors.profiles.has(name)) return { description, executor: { kind, profileId: name } };
  return { description: refused(description, say('card.no_agent', { name })), executor: self };
}

/** Adds a note to a step that is left to the agent itself because its executor does not exist. */
function refused(description: string, reason: string): string {
  const note = todoText(`(${reason})`);
  return `${description.slice(0, Math.max(0, 278 - note.length)).toWellFormed()} ${note}`;
}

/** One line without Markdown and the separators around an executor. */
function plain(text: string): string {
  const bare = text
    .replace(LABEL, '')
    .replace(/\*\*|__|`/g, '')
    .replace(/^[\s:;,.|>*#—–-]+/, '');
  return todoText(stripEnd(bare.trimEnd(), ' \t:;,|—–-'));
}

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
function withoutThinking(answer: string): string {
  const end = answer.lastIndexOf('</think>');
  return (end < 0 ? answer : answer.slice(end + '</think>'.length)).trim();
}
