/** Edits of a plan: each returns a new plan and leaves the given one unchanged (S-15…S-19). */
import type { Plan, PlanStep, StepExecutor } from '../../protocol/agent/plan.ts';
import { stepsLeft } from '../../protocol/agent/plan-edits.ts';
import type { ToolRisk } from '../../protocol/agent/risk.ts';
import type { Tool } from '../../protocol/agent/tool.ts';
import { clipMiddle } from '../../lib/text.ts';

/** Longest text of a command, in UTF-16 units. */
const MAX_COMMAND_CHARS = 400;

/** A command: the executor of a step, and its arguments. */
export interface StepCommand {
  executor: StepExecutor;
  args?: Record<string, unknown> | undefined;
}

/** A step that is not part of a plan yet. */
export interface ProtoStep extends StepCommand {
  description: string;
  /** Reason of the insertion. */
  revision?: string | undefined;
}

/** Classifies the risk of a command; called again for every step that is added or changed (S-17). */
export type Classify = (command: StepCommand) => ToolRisk;

/** A changed plan, or why it was not changed. */
export type PlanEdit =
  | { kind: 'edited'; plan: Plan }
  /** Too many steps were given: none was added. `left` may still be added. */
  | { kind: 'too_many_steps'; left: number }
  | { kind: 'unknown_step'; stepId: string };

/** Inserts steps after a step (S-16). Never throws. */
export function insertSteps(
  plan: Plan,
  afterStepId: string,
  protoSteps: readonly ProtoStep[],
  classify: Classify,
): PlanEdit {
  return insertAt(plan, afterStepId, 1, protoSteps, classify);
}

/** Inserts steps before a step, so that they run first (S-16). Never throws. */
export function insertStepsBefore(
  plan: Plan,
  beforeStepId: string,
  protoSteps: readonly ProtoStep[],
  classify: Classify,
): PlanEdit {
  return insertAt(plan, beforeStepId, 0, protoSteps, classify);
}

/** Replaces the command of a step and classifies its risk again (S-17). Never throws. */
export function replaceStepCommand(
  plan: Plan,
  stepId: string,
  { executor, args }: StepCommand,
  classify: Classify,
): PlanEdit {
  return changeStep(plan, stepId, (step) => {
    const { args: _old, ...rest } = step;
    const command = { executor, ...(args !== undefined && { args }) };
    return { ...rest, ...command, risk: classify(command) };
  });
}

/** Changes one step, which keeps its id and its place. Never throws. */
export function changeStep(plan: Plan, stepId: string, change: (step: PlanStep) => PlanStep): PlanEdit {
  if (!plan.steps.some(({ id }) => id === stepId)) return { kind: 'unknown_step', stepId };
  const steps = plan.steps.map((step) => (step.id === stepId ? { ...change(step), id: stepId } : step));
  return { kind: 'edited', plan: { ...plan, steps } };
}

/** Turns a proto-step into a step with an id, an index and a status (S-19). */
export function promoteProtoStep(
  { description, executor, args, revision }: ProtoStep,
  place: { id: string; index: number },
  classify: Classify,
): PlanStep {
  const command = { executor, ...(args !== undefined && { args }) };
  const fields = { risk: classify(command), status: 'pending', attempts: 0, corrections: 0 } as const;
  return { ...place, description, ...command, ...fields, ...(revision !== undefined && { revision }) };
}

function insertAt(
  plan: Plan,
  stepId: string,
  offset: 0 | 1,
  protoSteps: readonly ProtoStep[],
  classify: Classify,
): PlanEdit {
  const position = plan.steps.findIndex(({ id }) => id === stepId);
  if (position === -1) return { kind: 'unknown_step', stepId };
  const room = stepsLeft(plan);
  if (protoSteps.length > room) return { kind: 'too_many_steps', left: room };
  const at = position + offset;
  const ids = freshIds(plan, protoSteps.length);
  const newSteps = protoSteps.map((proto, nth) =>
    promoteProtoStep(proto, { id: ids[nth] ?? '', index: at + nth }, classify),
  );
  const steps = [...plan.steps.slice(0, at), ...newSteps, ...plan.steps.slice(at)];
  return { kind: 'edited', plan: { ...plan, steps: steps.map((step, index) => ({ ...step, index })) } };
}

/** Ids that no step has. They are deterministic, because a step is never removed from a plan. */
function freshIds(plan: Plan, count: number): string[] {
  const existing = new Set(plan.steps.map(({ id }) => id));
  const ids: string[] = [];
  for (let n = 1; ids.length < count; n += 1) if (!existing.has(`added-${n}`)) ids.push(`added-${n}`);
  return ids;
}

/**
 * Classifies steps by the tools they call. Where that is not possible yet (unknown arguments, an unknown tool) the risk is
 * `caution`: each call is judged again when it is made, and a dangerous one waits for a human then. Never throws.
 */
export function classifyFor(tools: ReadonlyMap<string, Tool>): Classify {
  return ({ executor, args }) => {
    if (executor.kind !== 'tool') return 'safe';
    const tool = tools.get(executor.tool);
    const checked = tool?.parameters.safeParse(args ?? {});
    if (tool === undefined || checked?.success !== true) return 'caution';
    return tool.risk(checked.data);
  };
}

/** A command for prompts, events and people: `read_file {"path":"a.txt"}`, `agent researcher`, `self`. */
export function describeCommand({ executor, args }: StepCommand): string {
  const argsText = args === undefined ? '' : ` ${JSON.stringify(args)}`;
  return clipMiddle(`${nameOf(executor)}${argsText}`, MAX_COMMAND_CHARS);
}

function nameOf(executor: StepCommand['executor']): string {
  switch (executor.kind) {
    case 'tool':
      return executor.tool;
    case 'agent':
      return `agent ${executor.profileId}`;
    case 'self':
      return 'self';
    default:
      return executor satisfies never;
  }
}
