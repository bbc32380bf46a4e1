/** Parses the model's plan: milestones, and numbered steps with their executors (N-20, N-21). */
import { MAX_PLAN_STEPS, type StepExecutor } from '../../protocol/agent/plan.ts';
import { todoText } from '../../protocol/store/notes.ts';
import { inEnglish, type Say } from '../../protocol/texts/say.ts';
import { stripEnd } from '../../lib/text.ts';
import { withoutThinking } from './read-analysis.ts';

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
  known: KnownExecutors,
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
  const written = steps.flatMap((step) => readStep(step, known, say) ?? []).slice(0, MAX_PLAN_STEPS);
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

function readStep(line: string, known: KnownExecutors, say: Say): WrittenPlan['steps'][number] | undefined {
  const named = executorIn(line);
  const text = plain(named === undefined ? line : line.replace(named.match, ' '));
  if (text === '' && named === undefined) return undefined;
  const self = { kind: 'self' as const };
  if (named === undefined || named.kind === 'self') {
    return text === '' ? undefined : { description: text, executor: self };
  }
  const { kind, name } = named;
  if (kind === 'tool') {
    const description = text || say('card.use_tool', { name });
    if (known.tools.has(name)) return { description, executor: { kind, tool: name } };
    return { description: refused(description, say('card.no_tool', { name })), executor: self };
  }
  const description = text || say('card.hand_over', { name });
  if (known.profiles.has(name)) return { description, executor: { kind, profileId: name } };
  return { description: refused(description, say('card.no_agent', { name })), executor: self };
}

/** Adds a note to a step that is left to the agent itself because its executor does not exist. */
function refused(description: string, why: string): string {
  const note = todoText(`(${why})`);
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
