/** A plan as a panel: goal, steps, corrections left, the current note and buttons; and the line of it that stays in view. */
import type { Signal } from '@preact/signals';
import type { JSX } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { Plan, PlanStep, StepEdit, StepStatus } from '../../../../src/protocol/agent/plan.ts';
import {
  correctionsLeft,
  endedEarly,
  FEW_CORRECTIONS,
  isOpenPlan,
  isSettledStep,
  MAX_CORRECTIONS,
  openStep,
  type PlanEventView,
} from '../../../../src/protocol/isomorphic/plan-reducer.js';
import type { Todo } from '../../../../src/protocol/store/notes.ts';
import type { Approval } from '../api.ts';
import { Icon, type IconName } from '../parts/icon.tsx';
import { Time } from '../parts/time.tsx';
import { kept, nearTime, say, sayParts } from '../texts.ts';
import { type PlanActs, PlanButtons } from './plan-buttons.tsx';
import { mayEdit, PlanEditor } from './plan-editor.tsx';

/** What the panels of a chat work with. */
export interface PlanHost extends PlanActs {
  /** Throws `ApiError`. */
  change: (plan: Plan, edit: StepEdit) => Promise<void>;
  /** The approvals that plans wait for, by the plan's id; the list may be out of date for a moment. */
  approvals: Signal<ReadonlyMap<string, Approval>>;
}

/** The approval that the shown plan waits for. */
function approvalOf({ approvals }: PlanHost, plan: Plan): Approval | undefined {
  const approval = approvals.value.get(plan.id);
  if (approval?.plan?.wait === 'pause') return plan.state === 'paused' ? approval : undefined;
  const step = openStep(plan);
  const isNext =
    plan.state === 'running' && step?.id === approval?.plan?.stepId && step?.status === 'pending';
  return isNext ? approval : undefined;
}

/** The panel of one plan, and its line while the panel has scrolled away. */
export function PlanPanel({ host, view }: { host: PlanHost; view: PlanEventView }): JSX.Element {
  const { plan, note, analysedStepId, recovering } = view;
  const panel = useRef<HTMLElement>(null);
  const [isEditing, setEditing] = useState(false);
  const approval = approvalOf(host, plan);
  const isWaiting = approval?.plan?.wait === 'step';
  const state = isWaiting ? say('page.plan.waiting') : stateOf(plan);
  const corrections = correctionsLeft(plan);
  const edits = isEditing && mayEdit(plan);
  const buttons = { host, plan, approval, panel };
  return (
    <>
      <section
        ref={panel}
        class={`plan ${plan.mode} ${plan.state}${recovering ? ' recovering' : ''}${isWaiting ? ' asks' : ''}`}
        role="group"
        // A chat may have several plans: each has a name of its own.
        aria-label={`${say('page.plan')}: ${plan.goal}`}
        tabIndex={-1}
      >
        <PlanHead plan={plan} state={state} />
        <ol class="plan-steps">
          {plan.steps.map((step) => (
            <StepRow
              key={step.id}
              step={step}
              isAnalysed={step.id === analysedStepId}
              isAsked={isWaiting && step.id === approval?.plan?.stepId}
            />
          ))}
        </ol>
        {edits && <PlanEditor plan={plan} change={host.change} />}
        <p class="plan-note" role="status" dir="auto">
          {plan.state === 'cancelled' ? reasonOf(plan) : (approval?.warning ?? kept(note))}
        </p>
        <p class="quiet">
          {approval &&
            sayParts('page.plan.until', { time: <Time at={approval.expiresAt} format={nearTime} /> })}
        </p>
        <footer class="plan-foot">
          <p class={`plan-budget${corrections <= FEW_CORRECTIONS ? ' few' : ''}`}>
            {corrections < MAX_CORRECTIONS &&
              say('page.plan.corrections', { left: corrections, most: MAX_CORRECTIONS })}
          </p>
          <PlanButtons {...buttons} edit={{ isOpen: edits, toggle: () => setEditing(!edits) }} />
        </footer>
      </section>
      {isOpenPlan(plan) && <PlanLine {...buttons} state={state} />}
    </>
  );
}

/** What the plan is, how far it is, and what it is for. */
function PlanHead({ plan, state }: { plan: Plan; state: string }): JSX.Element {
  const settled = plan.steps.filter(isSettledStep).length;
  return (
    <>
      <header class="plan-head">
        <span class="plan-title">{say('page.plan')}</span>
        <span class={`plan-mode ${plan.mode}`}>
          {plan.mode === 'planner' ? '' : say(`page.plan.mode_${plan.mode}`)}
        </span>
        <span class="plan-state" role="status">
          {state}
        </span>
        <span class="plan-count">{say('page.plan.count', { done: settled, all: plan.steps.length })}</span>
      </header>
      <p class="plan-goal" dir="auto">
        {plan.goal}
      </p>
      <progress
        class="plan-progress"
        aria-label={say('page.plan.progress')}
        max={Math.max(1, plan.steps.length)}
        value={settled}
      />
    </>
  );
}

/** The line of a running plan with its buttons: in view while the panel is above it. It takes up no height. */
function PlanLine({ state, ...buttons }: Parameters<typeof PlanButtons>[0] & { state: string }): JSX.Element {
  const { plan, panel } = buttons;
  const [isPast, setPast] = useState(false);
  const line = useRef<HTMLElement>(null);
  // Before the panel can scroll away: between two frames it may pass the view unseen.
  useLayoutEffect(() => {
    if (panel.current === null) return undefined;
    const observer = new IntersectionObserver(
      ([entry]) => {
        if (entry === undefined) return;
        const { isIntersecting, boundingClientRect, rootBounds } = entry;
        setPast(!isIntersecting && boundingClientRect.bottom <= (rootBounds?.top ?? 0));
      },
      { root: panel.current.closest('.scroller') },
    );
    observer.observe(panel.current);
    return () => observer.disconnect();
  }, [panel]);
  const step = openStep(plan);
  const nth = plan.steps.findIndex(({ id }) => id === step?.id) + 1;
  return (
    <div class="plan-bar">
      <section
        ref={line}
        class={`plan-line ${plan.state}`}
        aria-label={say('page.plan.now')}
        tabIndex={-1}
        hidden={!isPast}
      >
        <span class="plan-state">{state}</span>
        <span class="plan-now" dir="auto">
          {step === undefined
            ? plan.goal
            : say('page.plan.at', { nth, all: plan.steps.length, step: step.description })}
        </span>
        <PlanButtons {...buttons} panel={line} />
      </section>
    </div>
  );
}

const MARKS: Partial<Record<StepStatus, IconName>> = { done: 'check', failed: 'close', skipped: 'skip' };

function StepRow({
  step: { index, description, executor, status, attempts, revision, corrections },
  isAnalysed,
  isAsked,
}: {
  step: PlanStep;
  /** The agent thinks about it. */
  isAnalysed: boolean;
  /** A person is asked about it. */
  isAsked: boolean;
}): JSX.Element {
  const by = executor.kind === 'tool' ? executor.tool : executor.kind === 'agent' ? executor.profileId : '';
  // What a repair puts in has the reason of the repair, and was not repaired itself.
  const isAdded = revision !== undefined && corrections === 0;
  const mark = isAnalysed ? 'zap' : MARKS[status];
  return (
    <li
      class={`step ${status}${isAnalysed ? ' analysed' : isAsked ? ' in-question' : ''}`}
      aria-current={status === 'running' || isAnalysed || isAsked ? 'step' : undefined}
    >
      <span class="step-mark" role="img" aria-label={say(`page.step.${status}`)}>
        {mark && <Icon name={mark} />}
      </span>
      <span class="step-text" dir="auto">
        {`${index + 1}. ${description}`}
      </span>
      {(attempts > 1 || by !== '' || isAdded) && (
        <span class="step-meta">
          {isAdded && <span class="step-added">{say('page.step.added')}</span>}
          {attempts > 1 && (
            <span class="step-attempts">{say('page.step.attempt', { number: attempts })}</span>
          )}
          {by !== '' && <span class={`step-by ${executor.kind}`}>{by}</span>}
        </span>
      )}
      {revision !== undefined && (
        <span class="step-revision" dir="auto">
          {revision}
        </span>
      )}
    </li>
  );
}

/** Why the plan was cancelled. */
function reasonOf({ reason = '', why: cause }: Plan): string {
  return cause === undefined ? reason : kept(cause);
}

function stateOf(plan: Plan): string {
  if (plan.state === 'stored')
    return plan.runs === undefined
      ? say('page.plan.stored')
      : say('page.plan.run_times', { count: plan.runs });
  return endedEarly(plan) ? say('page.plan.ended') : say(`page.plan.state_${plan.state}`);
}

/** The agent's todo list. */
export function Todos({ items }: { items: readonly Pick<Todo, 'text' | 'status'>[] }): JSX.Element {
  const doneCount = items.filter(({ status }) => status === 'done' || status === 'skipped').length;
  return (
    <section class="todos" aria-label={say('page.todos')}>
      <p class="todos-title">{say('page.todos.done', { done: doneCount, all: items.length })}</p>
      <ul>
        {items.map(({ text, status }, place) => (
          <li key={place} class={`todo ${status}`}>
            <span class="todo-box" role="img" aria-label={say(`page.step.${status}`)} />
            <span class="todo-text" dir="auto">
              {text}
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}
