/** Changes that people make to a plan: which are possible, and the plan after them. Pure; never throws. */
import { MAX_PLAN_STEPS, type Plan, type PlanStep, type StepEdit } from './plan.ts';
import type { ToolRisk } from './risk.ts';
import { MAX_TODO_CHARS } from '../store/notes.ts';
import { oneLine } from '../../lib/text.ts';
import { textRef, type TextRef } from '../texts/say.ts';

/** Steps that may be added to a plan while it runs, counted against the length it was made with (S-18). */
export const MAX_ADDED_STEPS = 10;
/** Most changes in one request. */
export const MAX_STEP_EDITS = 30;

/** People's changes to a running plan, which its turn applies before its next step. */
export interface PendingEdit {
  version: number;
  edits: readonly StepEdit[];
}

/** Assesses the risk of a command; called again for every step that is changed (S-17). */
export type ClassifyStep = (command: Pick<PlanStep, 'executor' | 'args'>) => ToolRisk;

export interface EditContext {
  /** Version of the plan after the changes; it is part of the ids of added steps, so that no id is used twice. */
  version: number;
  /** Id of the step waiting for a person's Run or Skip. */
  asked?: string | undefined;
  classify: ClassifyStep;
}

/** The changed plan, or a sentence that says why nothing was changed. */
export type EditedPlan = { plan: Plan } | { problem: TextRef };

/** The version of a plan. */
export function versionOf({ version = 1 }: Pick<Plan, 'version'>): number {
  return version;
}

/** Steps that may still be added to the plan. */
export function stepsLeft(plan: Plan): number {
  const most = plan.state === 'stored' ? MAX_PLAN_STEPS : plan.originalLength + MAX_ADDED_STEPS;
  return Math.max(0, most - plan.steps.length);
}

/** Applies all changes in order, or none. */
export function editPlan(plan: Plan, edits: readonly StepEdit[], context: EditContext): EditedPlan {
  if (edits.length > MAX_STEP_EDITS)
    return { problem: textRef('edit.too_many', { most: MAX_STEP_EDITS, changes: edits.length }) };
  let edited = plan;
  for (const [nth, edit] of edits.entries()) {
    const next = applyEdit(edited, edit, `v${context.version}-${nth + 1}`, context);
    if ('problem' in next) return next;
    edited = next.plan;
  }
  if (edited.steps.length === 0) return { problem: textRef('edit.no_steps') };
  const { length } = edited.steps;
  // A plan that has not started is rebuilt with each change.
  const originalLength = plan.state === 'stored' ? length : plan.originalLength;
  return { plan: { ...edited, version: context.version, originalLength } };
}

/** The plan with the changes that its turn has not applied yet; those that are no longer possible are left out. */
export function withPendingEdits(
  plan: Plan,
  pending: readonly PendingEdit[],
  classify: ClassifyStep | undefined,
): Plan {
  let current = plan;
  for (const { version, edits } of pending) {
    if (version <= versionOf(current)) continue;
    for (const [nth, edit] of edits.entries()) {
      const context = { version, classify: classify ?? (() => 'caution' as const) };
      const next = applyEdit(current, edit, `v${version}-${nth + 1}`, context);
      if ('plan' in next) current = next.plan;
    }
    current = { ...current, version };
  }
  return current;
}

function applyEdit(plan: Plan, edit: StepEdit, newId: string, context: EditContext): EditedPlan {
  switch (edit.op) {
    case 'add': {
      const text = readDescription(edit.description);
      if ('problem' in text) return text;
      const remaining = stepsLeft(plan);
      if (remaining === 0) return { problem: textRef('edit.full', { count: plan.steps.length }) };
      const executor = { kind: 'self' as const };
      const risk = context.classify({ executor });
      const step: PlanStep = {
        id: newId,
        index: 0,
        ...text,
        executor,
        risk,
        status: 'pending',
        attempts: 0,
        corrections: 0,
      };
      return insertStep(plan, step, edit, context);
    }
    case 'drop': {
      const match = openStepOf(plan, edit.step, context);
      return 'problem' in match ? match : { plan: numbered(plan, without(plan, match.step)) };
    }
    case 'reword': {
      const match = openStepOf(plan, edit.step, context);
      if ('problem' in match) return match;
      const text = readDescription(edit.description);
      if ('problem' in text) return text;
      // Arguments chosen for the old wording are chosen again.
      const { args: _old, revision: _why, ...step } = match.step;
      const newStep = { ...step, ...text, risk: context.classify({ executor: step.executor }) };
      return {
        plan: numbered(
          plan,
          plan.steps.map((one) => (one.id === step.id ? newStep : one)),
        ),
      };
    }
    case 'move': {
      const match = openStepOf(plan, edit.step, context);
      if ('problem' in match) return match;
      const target = 'before' in edit ? edit.before : edit.after;
      if (target === edit.step) return { problem: textRef('edit.beside_itself') };
      return insertStep({ ...plan, steps: without(plan, match.step) }, match.step, edit, context);
    }
    default:
      return edit satisfies never;
  }
}

/** Puts the step before or after another, else at the end; never before one that has started. */
function insertStep(
  plan: Plan,
  step: PlanStep,
  place: { before?: string | undefined } | { after?: string | undefined },
  context: EditContext,
): EditedPlan {
  const before = 'before' in place ? place.before : undefined;
  const after = 'after' in place ? place.after : undefined;
  const neighbor = before ?? after;
  const index = plan.steps.findIndex(({ id }) => id === neighbor);
  if (neighbor !== undefined && index === -1) return noStep(neighbor);
  const at = neighbor === undefined ? plan.steps.length : index + (before === undefined ? 1 : 0);
  if (at < firstFree(plan, context))
    return { problem: textRef('edit.too_early', { number: firstFree(plan, context) }) };
  return { plan: numbered(plan, [...plan.steps.slice(0, at), step, ...plan.steps.slice(at)]) };
}

/** The index of the first place at which a step may be put. */
function firstFree({ state, steps }: Plan, { asked: askedId }: EditContext): number {
  if (state === 'stored') return 0;
  return steps.findLastIndex(({ id, status }) => id === askedId || status !== 'pending') + 1;
}

function openStepOf(
  plan: Plan,
  id: string,
  { asked: askedId }: EditContext,
): { step: PlanStep } | { problem: TextRef } {
  const step = plan.steps.find((one) => one.id === id);
  if (step === undefined) return noStep(id);
  if (id === askedId) return { problem: textRef('edit.waiting', { number: step.index + 1 }) };
  if (plan.state !== 'stored' && (step.status !== 'pending' || step.attempts > 0))
    return { problem: textRef('edit.started', { number: step.index + 1 }) };
  return { step };
}

function noStep(id: string): { problem: TextRef } {
  return { problem: textRef('edit.no_step', { id: id.slice(0, 40) }) };
}

function readDescription(text: string): { description: string } | { problem: TextRef } {
  const description = oneLine(text);
  if (description === '') return { problem: textRef('edit.empty') };
  if (description.length <= MAX_TODO_CHARS) return { description };
  return { problem: textRef('edit.too_long', { most: MAX_TODO_CHARS, length: description.length }) };
}

function without({ steps }: Plan, { id }: PlanStep): PlanStep[] {
  return steps.filter((step) => step.id !== id);
}

function numbered(plan: Plan, steps: readonly PlanStep[]): Plan {
  return { ...plan, steps: steps.map((step, index) => ({ ...step, index })) };
}

/** A new run of a plan, with none of its steps started. */
export function newRun(plan: Plan, run: Pick<Plan, 'id' | 'mode'> & { run: number }): Plan {
  const { reason: _reason, runs: _runs, version: _version, ...definition } = plan;
  const steps = plan.steps.map((step): PlanStep => {
    const { id, index, description, executor, risk } = step;
    return { id, index, description, executor, risk, status: 'pending', attempts: 0, corrections: 0 };
  });
  const origin = { planId: plan.id, run: run.run };
  const { id, mode } = run;
  return { ...definition, id, mode, steps, state: 'running', originalLength: steps.length, origin };
}
