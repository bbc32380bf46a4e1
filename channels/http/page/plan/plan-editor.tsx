/** The controls that change the steps of a plan before they begin: reword, move, drop, add. */
import type { JSX, RefObject } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { Plan, PlanStep, StepEdit } from '../../../../src/protocol/agent/plan.ts';
import { messageOf } from '../failures/in-place.ts';
import { say } from '../texts.ts';

/** Longest description of a step; the gateway refuses a longer one. */
const MAX_DESCRIPTION = 280;

/** True while steps of the plan can be changed. */
export function mayEdit({ state, mode }: Plan): boolean {
  return state === 'stored' || (state === 'paused' && mode !== 'planner');
}

interface PlanEditorProps {
  plan: Plan;
  /** Changes the plan of this version; throws an error with a message for the user. */
  change: (plan: Plan, edit: StepEdit) => Promise<void>;
}

/** Sends changes of the newest plan one after another; `send` is true once the change is made. */
function useChanges(plan: Plan, change: PlanEditorProps['change']) {
  const newest = useRef(plan);
  newest.current = plan;
  const order = useRef(Promise.resolve(true));
  const [outcome, setOutcome] = useState({ text: '', isRefused: false });
  const make = async (edit: StepEdit): Promise<boolean> => {
    try {
      await change(newest.current, edit);
      setOutcome({ text: say('page.plan.changed'), isRefused: false });
      return true;
    } catch (error) {
      setOutcome({ text: messageOf(error), isRefused: true });
      return false;
    }
  };
  const send = (edit: StepEdit): Promise<boolean> => (order.current = order.current.then(() => make(edit)));
  return { send, outcome };
}

/** Keeps the focus: a row that moves loses it, and so does a control that is gone, or can do nothing any more. */
function useFocus(list: RefObject<HTMLElement | null>): void {
  const active = document.activeElement;
  const focused =
    list.current?.contains(active) === true && active instanceof HTMLElement ? active : undefined;
  useLayoutEffect(() => {
    if (focused === undefined) return;
    const isThere = focused.isConnected && !focused.matches(':disabled');
    const target = isThere ? focused : list.current?.querySelector<HTMLElement>('.plan-edit-add input');
    if (document.activeElement !== target) target?.focus();
  });
}

/** One list of controls. Each change is sent at once; one made while another is on its way follows it. */
export function PlanEditor({ plan, change }: PlanEditorProps): JSX.Element {
  const { send, outcome } = useChanges(plan, change);
  const list = useRef<HTMLDivElement>(null);
  const [draft, setDraft] = useState('');
  useFocus(list);
  const add = async (event: Event): Promise<void> => {
    event.preventDefault();
    const description = draft.trim();
    if (description !== '' && (await send({ op: 'add', description }))) setDraft('');
  };
  const steps = plan.steps.filter(
    ({ status, attempts }) => plan.state === 'stored' || (status === 'pending' && attempts === 0),
  );
  return (
    <div ref={list} class="plan-editor" role="group" aria-label={say('page.plan.edit')}>
      <ol class="plan-edit-steps">
        {steps.map((step, place) => (
          <StepEditor
            key={step.id}
            step={step}
            previous={steps[place - 1]}
            following={steps[place + 1]}
            send={send}
          />
        ))}
      </ol>
      <form class="plan-edit-add" onSubmit={(event) => void add(event)}>
        <input
          type="text"
          maxLength={MAX_DESCRIPTION}
          aria-label={say('page.plan.new_step')}
          placeholder={say('page.plan.new_step')}
          value={draft}
          onInput={({ currentTarget }) => setDraft(currentTarget.value)}
        />
        <button type="submit">{say('page.plan.add_step')}</button>
      </form>
      <p class={`plan-said${outcome.isRefused ? ' refused' : ''}`} role="status">
        {outcome.text}
      </p>
    </div>
  );
}

function StepEditor({
  step: { id, index, description },
  previous,
  following,
  send,
}: {
  step: PlanStep;
  previous: PlanStep | undefined;
  following: PlanStep | undefined;
  send: (edit: StepEdit) => Promise<boolean>;
}): JSX.Element {
  // What a person has typed and not sent yet: a change that arrives meanwhile does not take it.
  const [typed, setTyped] = useState<string>();
  const reword = async (text: string): Promise<void> => {
    const isSame = text.trim() === description;
    if (isSame || (await send({ op: 'reword', step: id, description: text }))) setTyped(undefined);
  };
  const number = index + 1;
  const button = (label: string, symbol: string, edit: StepEdit | undefined): JSX.Element => (
    <button
      type="button"
      aria-label={label}
      disabled={edit === undefined}
      onClick={() => edit && void send(edit)}
    >
      {symbol}
    </button>
  );
  return (
    <li>
      <input
        type="text"
        value={typed ?? description}
        maxLength={MAX_DESCRIPTION}
        aria-label={say('page.plan.step_text', { number })}
        onInput={({ currentTarget }) => setTyped(currentTarget.value)}
        onChange={({ currentTarget: { value } }) => void reword(value)}
      />
      {button(
        say('page.plan.up', { number }),
        '↑',
        previous && { op: 'move', step: id, before: previous.id },
      )}
      {button(
        say('page.plan.down', { number }),
        '↓',
        following && { op: 'move', step: id, after: following.id },
      )}
      {button(say('page.plan.drop', { number }), '✕', { op: 'drop', step: id })}
    </li>
  );
}
