/** The answer of the correction call: one JSON object, perhaps fenced, perhaps with text around it. */
import { z } from 'zod';
import { describeIssues } from '../../lib/json/schema-issues.ts';
import { GatewayError } from '../../protocol/errors.ts';
import type { CancelReason } from '../../protocol/agent/plan.ts';
import { type Say, textRef } from '../../protocol/texts/say.ts';
import { clipMiddle } from '../../lib/text.ts';
import type { ProtoStep, StepCommand } from './edits.ts';

/** New steps of one correction that are kept (S-13). */
export const MAX_NEW_STEPS = 3;
/** Longest reason and longest description of a new step, in UTF-16 units. */
const MAX_REASON_CHARS = 500;
const MAX_DESCRIPTION_CHARS = 500;
const MAX_NAME_CHARS = 60;
/** Braces that are tried as the start of the object: each may cost a scan of the whole text. */
const MAX_OBJECTS_TRIED = 30;

/** A decision about a failed step. */
export type AgentCorrection = CancelReason &
  (
    | { action: 'retry'; command?: StepCommand | undefined }
    | { action: 'modify'; command: StepCommand }
    | { action: 'insert_steps'; newSteps: ProtoStep[] }
    | { action: 'skip'; newSteps?: ProtoStep[] | undefined }
    | { action: 'abort' }
  );

/** The executors that exist; a step with any other is left to the agent itself, with a note. */
export interface AvailableExecutors {
  /** Names of the tools, each with a line of what it does. */
  tools: ReadonlyMap<string, string>;
  profileIds: readonly string[];
}

const args = z.record(z.string(), z.unknown());
const command = z.object({
  tool: z.string().min(1).nullish(),
  agent: z.string().min(1).nullish(),
  self: z.boolean().nullish(),
  args: args.nullish(),
});
const newStep = command.extend({ description: z.string().trim().min(1) });
const reason = z.string().trim().catch('');

const reply = z.discriminatedUnion('action', [
  z.object({ action: z.literal('retry'), reason, command: command.nullish() }),
  z.object({ action: z.literal('modify'), reason, command: command.nullish() }),
  z.object({ action: z.literal('insert_steps'), reason, newSteps: z.array(newStep).min(1) }),
  z.object({ action: z.literal('skip'), reason, newSteps: z.array(newStep).nullish() }),
  z.object({ action: z.literal('abort'), reason }),
]);

/**
 * Reads a correction of a step with this command; new steps beyond the third are dropped (S-13). Throws
 * `GatewayError('bad_correction')` when the text contains none that can be used.
 */
export function readCorrection(
  text: string,
  executors: AvailableExecutors,
  { current, say }: { current: StepCommand; say: Say },
): AgentCorrection {
  const read = reply.safeParse(jsonIn(text));
  if (!read.success) {
    throw new GatewayError(
      'bad_correction',
      textRef('cancelled.bad_correction', {
        detail: clipMiddle(describeIssues(read.error), MAX_REASON_CHARS),
      }),
    );
  }
  const answer = read.data;
  const why = clipMiddle(answer.reason, MAX_REASON_CHARS) || say('cancelled.no_reason');
  const names = { executors, say };
  switch (answer.action) {
    case 'retry':
    case 'modify': {
      const { made, note } = toCommand(answer.command ?? {}, names, current);
      if (made !== undefined) return { action: answer.action, reason: why + note, command: made };
      if (answer.action === 'retry') return { action: 'retry', reason: why };
      throw new GatewayError('bad_correction', textRef('cancelled.no_new_command'));
    }
    case 'insert_steps':
      return { action: 'insert_steps', reason: why, newSteps: toProtoSteps(answer.newSteps, names) };
    case 'skip': {
      const newSteps = toProtoSteps(answer.newSteps ?? [], names);
      return { action: 'skip', reason: why, ...(newSteps.length > 0 && { newSteps }) };
    }
    case 'abort':
      return { action: 'abort', reason: why };
    default:
      return answer satisfies never;
  }
}

/** What a command may name, and the language of the note about an unknown name. */
interface Names {
  executors: AvailableExecutors;
  say: Say;
}

/** An unknown tool or profile is replaced by the agent itself, with a note. Arguments alone are for the current tool. */
function toCommand(
  { tool, agent, self, args: given }: z.infer<typeof command>,
  { executors, say }: Names,
  current?: StepCommand,
): { made?: StepCommand; note: string } {
  if (tool && executors.tools.has(tool)) {
    return { made: { executor: { kind: 'tool', tool }, ...(given && { args: given }) }, note: '' };
  }
  if (agent && executors.profileIds.includes(agent)) {
    return { made: { executor: { kind: 'agent', profileId: agent } }, note: '' };
  }
  const missing = tool ?? agent;
  if (missing) {
    const note = ` (${say('card.no_executor', { name: clipMiddle(missing, MAX_NAME_CHARS) })})`;
    return { made: { executor: { kind: 'self' } }, note };
  }
  if (self === true) return { made: { executor: { kind: 'self' } }, note: '' };
  if (given && current?.executor.kind === 'tool') {
    return { made: { executor: current.executor, args: given }, note: '' };
  }
  return { note: '' };
}

function toProtoSteps(asked: readonly z.infer<typeof newStep>[], names: Names): ProtoStep[] {
  return asked.slice(0, MAX_NEW_STEPS).map((step) => toProtoStep(step, names));
}

function toProtoStep(asked: z.infer<typeof newStep>, names: Names): ProtoStep {
  const { made, note } = toCommand(asked, names);
  const description = clipMiddle(asked.description, MAX_DESCRIPTION_CHARS) + note;
  return { description, ...(made ?? { executor: { kind: 'self' } }) };
}

/** The first JSON object in a text. Throws `GatewayError('bad_correction')`. */
function jsonIn(text: string): unknown {
  let from = text.indexOf('{');
  for (let tries = 0; from !== -1 && tries < MAX_OBJECTS_TRIED; tries += 1) {
    const end = objectEnd(text, from);
    try {
      if (end !== undefined) return JSON.parse(text.slice(from, end));
    } catch {
      // The text before the object may contain braces that are not JSON.
    }
    from = text.indexOf('{', from + 1);
  }
  throw new GatewayError('bad_correction', textRef('cancelled.no_json'));
}

/** Finds the end of the object that begins at `from`: braces outside strings are counted. */
function objectEnd(text: string, from: number): number | undefined {
  let depth = 0;
  let quoted = false;
  for (let at = from; at < text.length; at += 1) {
    const char = text[at];
    if (quoted) {
      if (char === '\\') at += 1;
      else if (char === '"') quoted = false;
    } else if (char === '"') quoted = true;
    else if (char === '{') depth += 1;
    else if (char === '}') {
      depth -= 1;
      if (depth === 0) return at + 1;
    }
  }
  return undefined;
}
