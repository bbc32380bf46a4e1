/** Reads a plan out of the model's text: milestones, and numbered steps with their executors (N-20, N-21). */
import { MAX_PLAN_STEPS } from '../../contracts/plan.ts';
import type { StepExecutor } from '../../contracts/plan.ts';
import { todoText } from '../../contracts/notes.ts';
import { withoutThinking } from './read-analysis.ts';

/** Milestones of a plan that are kept. */
export const MAX_MILESTONES = 8;

/** A plan as it was written, before it has ids and risks. */
export interface WrittenPlan {
  milestones: string[];
  /** At most `MAX_PLAN_STEPS`, in their order. */
  steps: { description: string; executor: StepExecutor }[];
}

/** Names that a step may use. */
export interface KnownExecutors {
  tools: ReadonlySet<string>;
  profiles: ReadonlySet<string>;
}

/** The executor found in one line. */
const MAX_LINE_CHARS = 1_000;

const NUMBERED = /^\s*\W{0,5}(?:\d{1,4}[.)]|step\s+\d{1,4}\s*[.):–—-])\s*(.*)$/i;
const BULLET = /^\s*[-*+•]\s+(.*)$/;
const MILESTONES = /^\W*milestones?\W*$/i;
const MILESTONE = /^\W*milestone\s+\d+\W+(.*)$/i;
const STEPS = /^\W*(?:execution |numbered )?(?:steps|plan)\W*$/i;
const NAMED = /[[({]?\s*\b(TOOL|AGENT|Tool|Agent)\b[\s*`]*[:=][\s*`]*([\w.-]+)[`*]*\s*[\])}]?/;
const SELF = /[[({]?\s*\bSELF\b\s*[\])}]?/;
const LABEL = /\bexecutor\**\s*[:=]\s*/i;

/** Gives undefined when no line is numbered (N-29): the answer is no plan. Never throws. */
export function readPlan(answer: string, known: KnownExecutors): WrittenPlan | undefined {
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
  const written = steps.flatMap((step) => readStep(step, known) ?? []).slice(0, MAX_PLAN_STEPS);
  if (written.length === 0) return undefined;
  return {
    milestones: milestones.map(plain).filter(Boolean).slice(0, MAX_MILESTONES),
    steps: written,
  };
}

/** Numbered lines before a heading "Steps" are milestones, where any follow it. */
function firstStepLine(lines: readonly string[]): number {
  const heading = lines.findIndex((line) => STEPS.test(line));
  const follow = heading >= 0 && lines.slice(heading).some((line) => NUMBERED.test(line));
  return follow ? heading : 0;
}

interface Named {
  kind: 'tool' | 'agent' | 'self';
  name: string;
  /** The matched text, to be removed from the description. */
  words: string;
}

function executorIn(line: string): Named | undefined {
  const [words, kind, name] = NAMED.exec(line) ?? [];
  if (words !== undefined && kind !== undefined && name !== undefined) {
    return {
      kind: kind.toUpperCase() === 'TOOL' ? 'tool' : 'agent',
      name: name.replace(/[.-]+$/, ''),
      words,
    };
  }
  const [self] = SELF.exec(line) ?? [];
  return self === undefined ? undefined : { kind: 'self', name: '', words: self };
}

function readStep(line: string, known: KnownExecutors): WrittenPlan['steps'][number] | undefined {
  const named = executorIn(line);
  const words = plain(named === undefined ? line : line.replace(named.words, ' '));
  if (words === '' && named === undefined) return undefined;
  const self = { kind: 'self' as const };
  if (named === undefined || named.kind === 'self') {
    return words === '' ? undefined : { description: words, executor: self };
  }
  const { kind, name } = named;
  if (kind === 'tool') {
    const description = words || `Use ${name}`;
    if (known.tools.has(name)) return { description, executor: { kind, tool: name } };
    return { description: refused(description, `there is no tool "${name}" here`), executor: self };
  }
  const description = words || `Hand over to ${name}`;
  if (known.profiles.has(name)) return { description, executor: { kind, profileId: name } };
  return { description: refused(description, `no agent "${name}" can be made here`), executor: self };
}

/** The plan says so when a step is left to the agent itself because what it names does not exist. */
function refused(description: string, why: string): string {
  const note = todoText(`(${why})`);
  return `${description.slice(0, Math.max(0, 278 - note.length)).toWellFormed()} ${note}`;
}

/** One line without the marks of Markdown and the separators that stood around an executor. */
function plain(words: string): string {
  const bare = words
    .replace(LABEL, '')
    .replace(/\*\*|__|`/g, '')
    .replace(/^[\s:;,.|>*#—–-]+|[\s:;,|—–-]+$/g, '');
  return todoText(bare);
}
