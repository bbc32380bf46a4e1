/** The buttons under a plan: the actions that are possible now, and the gateway's reply to a press. */
import type { JSX, RefObject } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { ExecutionMode, Plan } from '../../../../src/protocol/agent/plan.ts';
import { isOpenPlan, openStep } from '../../../../src/protocol/isomorphic/plan-reducer.js';
import type { Approval, PlanAction } from '../api.ts';
import { messageOf } from '../failures/in-place.ts';
import { say } from '../texts.ts';
import { mayEdit } from './plan-editor.tsx';

/** What the buttons do; the functions throw errors with a message for the user. */
export interface PlanActs {
  /** Takes the action on the step that was shown. */
  act: (planId: string, action: PlanAction, stepId: string | undefined) => Promise<{ text: string }>;
  /** Starts a run of a plan. */
  start: (planId: string, request: { mode: ExecutionMode; version?: number }) => Promise<unknown>;
  /** Discards a stored plan, and offers to take that back. */
  discard: (plan: Plan) => Promise<void>;
}

/** An action on a running plan, or on a stored one: run it as a whole, step by step, again, change it, discard it. */
type PanelAction = PlanAction | 'start' | 'teach' | 'again' | 'edit' | 'discard';

const LABELS: Record<PanelAction, string> = {
  start: say('page.plan.run'),
  teach: say('page.plan.teach'),
  again: say('page.plan.again'),
  edit: say('page.plan.change'),
  discard: say('page.plan.discard'),
  run: say('page.plan.run'),
  resume: say('page.resume'),
  pause: say('page.pause'),
  skip: say('page.plan.skip'),
  stop: say('page.stop'),
};

/** The possible actions on a plan: none when it is over, and in planner mode only to stop it. */
function actionsFor(plan: Plan, approval: Approval | undefined): PanelAction[] {
  const edit: PanelAction[] = mayEdit(plan) ? ['edit'] : [];
  if (plan.state === 'stored') return ['start', 'teach', ...edit, 'discard'];
  if (!isOpenPlan(plan)) return plan.origin === undefined ? [] : ['again'];
  if (plan.mode === 'planner') return ['stop'];
  if (approval?.plan?.wait === 'step') return ['run', 'skip', 'stop'];
  return plan.state === 'paused' ? ['resume', ...edit, 'stop'] : ['pause', 'skip', 'stop'];
}

/** What the reply to a press belongs to: the next situation clears it. */
function situationOf(plan: Plan, approval: Approval | undefined): string {
  const { id, status, attempts } = openStep(plan) ?? {};
  return JSON.stringify([plan.id, plan.state, id, status, attempts, approval?.id, plan.version, plan.runs]);
}

/** Presses in one situation. */
interface Presses {
  situation: string;
  /** Their requests are not answered yet. */
  pending: readonly PanelAction[];
  /** The gateway accepted them: disabled until the plan moves on. */
  accepted: readonly PanelAction[];
  reply: string;
  isRefused: boolean;
}

interface PlanButtonsProps {
  host: PlanActs;
  plan: Plan;
  /** The approval that the plan waits for. */
  approval: Approval | undefined;
  /** Gets the focus when there is no button any more. */
  panel: RefObject<HTMLElement | null>;
  edit?: { isOpen: boolean; toggle: () => void };
}

/** The row of buttons. */
export function PlanButtons({ host, plan, approval, panel, edit }: PlanButtonsProps): JSX.Element {
  const row = useRef<HTMLDivElement>(null);
  const hadFocus = row.current?.contains(document.activeElement) === true;
  const situation = situationOf(plan, approval);
  const fresh: Presses = { situation, pending: [], accepted: [], reply: '', isRefused: false };
  const [presses, setPresses] = useState(fresh);
  // A request that is under way still holds the buttons when the plan has moved on.
  const current = presses.situation === situation ? presses : { ...fresh, pending: presses.pending };
  const actions = actionsFor(plan, approval).filter((action) => action !== 'edit' || edit !== undefined);
  useLayoutEffect(() => {
    if (!hadFocus || row.current?.contains(document.activeElement) === true) return;
    (row.current?.querySelector('button') ?? panel.current)?.focus({ preventScroll: true });
  });
  const press = async (action: Exclude<PanelAction, 'edit'>): Promise<void> => {
    setPresses((now) => ({ ...fresh, pending: [...now.pending, action] }));
    const end = (outcome: Partial<Presses>) =>
      setPresses((now) => ({
        ...now,
        ...(now.situation === situation && outcome),
        pending: now.pending.filter((other) => other !== action),
      }));
    try {
      const { text } = await send(host, plan, action);
      end({ accepted: [...current.accepted, action], reply: text });
    } catch (error) {
      end({ reply: messageOf(error), isRefused: true });
    }
  };
  return (
    <div class="plan-controls" hidden={actions.length === 0}>
      <p class={`plan-said${current.isRefused ? ' refused' : ''}`} role="status">
        {current.reply}
      </p>
      <div ref={row} class="plan-buttons" role="group" aria-label={say('page.plan.actions')}>
        {actions.map((action) => {
          const mayPress = isFree(action, current, approval);
          const act = (): void => {
            if (action === 'edit') edit?.toggle();
            else if (mayPress) void press(action);
          };
          return (
            <button
              key={action}
              type="button"
              class={`plan-${action}`}
              // Not `disabled`, which would take the focus away from the pressed button.
              aria-disabled={!mayPress}
              aria-expanded={action === 'edit' ? edit?.isOpen : undefined}
              onClick={act}
            >
              {LABELS[action]}
            </button>
          );
        })}
      </div>
    </div>
  );
}

function isFree(
  action: PanelAction,
  { pending, accepted }: Presses,
  approval: Approval | undefined,
): boolean {
  if (pending.includes(action) || accepted.includes(action)) return false;
  // The plan is paused, but its approval has not arrived yet: there is nothing to decide.
  if (action === 'resume' && approval === undefined) return false;
  return action === 'stop' || pending.length === 0;
}

async function send(
  { act, start, discard }: PlanActs,
  plan: Plan,
  action: Exclude<PanelAction, 'edit'>,
): Promise<{ text: string }> {
  const { id, version = 1 } = plan;
  switch (action) {
    case 'start':
    case 'teach':
      await start(id, { mode: action === 'start' ? 'agentic' : 'teacher', version });
      return { text: say('page.plan.runs') };
    case 'again':
      await start(id, { mode: plan.mode });
      return { text: say('page.plan.runs_again') };
    case 'discard':
      await discard(plan);
      return { text: '' };
    default:
      return await act(id, action, openStep(plan)?.id);
  }
}
