/** What users do to a plan, in words and with the buttons of its card: what changes, what they read, who may. */
import type { Ledger } from '../../../src/protocol/store/ledger.ts';
import type { LaneStore } from '../../../src/protocol/store/lanes.ts';
import type { IntakeContext } from '../../../src/intake/context.ts';
import { quietBus } from '../../fakes/gateway/quiet-bus.ts';
import { partial } from '../../fakes/partial.ts';
import { describe, expect, it } from 'vitest';
import type { ApprovalRecord, Decided } from '../../../src/protocol/agent/approvals.ts';
import type { Press } from '../../../src/protocol/receive.ts';
import { actOnPlan, createPlanButtons } from '../../../src/intake/plans/plan-control.ts';
import { cancelPlan, type Plan } from '../../../src/protocol/agent/plan.ts';
import {
  type PlanAction,
  planButtonValue,
  type PlanRecord,
  type PlanRequest,
  type PlanStore,
} from '../../../src/protocol/agent/plan-store.ts';
import { plan, withStatus } from '../../fakes/gateway/shown-plans.ts';
import { inEnglish } from '../../../src/protocol/texts/say.ts';

const SESSION = 'telegram:1';
const AGENTIC = withStatus(plan(3, { mode: 'agentic' }), 0, 'done');
const by = { userId: SESSION, owner: false };

/** A gateway with one plan; `waits` is the plan's open question. */
function gatewayOf(stored: Plan, waits?: { wait: 'step' | 'pause'; answer?: Decided }) {
  const record: PlanRecord = {
    plan: stored,
    session: SESSION,
    turnId: 't',
    createdAt: new Date(0),
    updatedAt: new Date(0),
    pendingEdits: 0,
    etag: '',
  };
  const question = { id: 'q', plan: { id: stored.id, stepId: 's1', wait: waits?.wait } };
  const did: string[] = [];
  let request: PlanRequest = {};
  const plans: PlanStore = partial({
    plans: async () => [],
    planNumber: async () => undefined,
    changePlan: async () => false,
    plan: async (id) => (id === stored.id ? record : undefined),
    latestPlan: async () => record,
    planRequests: async () => request,
    requestOnPlan: async (_id, change) => {
      did.push(`request ${JSON.stringify(change)}`);
      request = { ...request, ...change };
    },
  });
  const lanes: LaneStore = partial({
    stop: async (session) => {
      did.push(`stop ${session}`);
      return { stopped: true, cancelled: 0 };
    },
  });
  const context = partial<IntakeContext>({
    store: partial({ plans, lanes }),
    approvals: {
      rules: async () => [],
      questions: async () => [],
      undoAnswer: async () => undefined,
      removeRule: async () => false,
      shownIn: async (id: string) => `approval:${id}`,
      decidable: async () => ({ outcome: { kind: 'unknown' } }),
      pending: async () => (waits === undefined ? [] : [question as ApprovalRecord]),
      decide: async (_id, decision) => {
        const answer = waits?.answer ?? { kind: 'decided', decision };
        did.push(`${answer.kind} ${decision}`);
        return answer;
      },
    },
    ledger: partial<Ledger>({
      turn: async () => ({ session: SESSION, state: 'running' }),
      session: async () => undefined,
      enqueue: async () => ({ heads: [] }),
      sessionOf: async (address) => address,
    }),
    bus: quietBus(),
    events: partial({ emit: () => undefined }),
  });
  const press = async (value: string, over: Partial<Press> = {}): Promise<string | undefined> => {
    const answer = await createPlanButtons(context)({
      value,
      address: SESSION,
      place: 'private',
      userId: SESSION,
      owner: false,
      say: inEnglish,
      ...over,
    });
    return answer?.reply;
  };
  const act = (action: PlanAction) => actOnPlan(context, record, action, { by });
  return { did, press, act };
}

const value = {
  pause: planButtonValue({ planId: 'p', action: 'pause' }),
  stop: planButtonValue({ planId: 'p', action: 'stop' }),
  skip: (stepId: string) => planButtonValue({ planId: 'p', action: 'skip', stepId }),
};

describe('a button under the card of a plan', () => {
  it('pauses it, once, however often it is pressed', async () => {
    const { press, did } = gatewayOf(AGENTIC);
    expect(await press(value.pause)).toBe('The plan will pause before its next step.');
    expect(await press(value.pause)).toBe('The plan is already set to pause before its next step.');
    expect(did).toEqual(['request {"pause":true}']);
  });

  it('skips the step it names, once, and never a later one', async () => {
    const { press, did } = gatewayOf(AGENTIC);
    expect(await press(value.skip('s0'))).toBe('The plan is at another step now. Nothing was changed.');
    expect(await press(value.skip('s2'))).toBe('The plan is at another step now. Nothing was changed.');
    expect(await press(value.skip('nobody'))).toContain('Nothing was changed');
    expect(did).toEqual([]);
    expect(await press(value.skip('s1'))).toBe('Step 2 will be skipped.');
    expect(await press(value.skip('s1'))).toBe('Step 2 is already set to be skipped.');
    expect(did).toEqual(['request {"skip":"s1"}']);
  });

  it('stops it', async () => {
    const { press, did } = gatewayOf(AGENTIC);
    expect(await press(value.stop)).toBe('The plan is stopped.');
    expect(did).toEqual([`stop ${SESSION}`]);
  });

  it('only stops a plan that the model follows on its own', async () => {
    const { press, did } = gatewayOf(plan(2));
    expect(await press(value.pause)).toContain('the plan can only be stopped');
    expect(await press(value.skip('s0'))).toContain('the plan can only be stopped');
    expect(await press(value.stop)).toBe('The plan is stopped.');
    expect(did).toEqual([`stop ${SESSION}`]);
  });

  it('does nothing once the plan has ended, is deleted, or belongs to another chat', async () => {
    const over = gatewayOf(cancelPlan(AGENTIC, 'Stopped.'));
    for (const one of [value.pause, value.stop, value.skip('s1')])
      expect(await over.press(one)).toBe('This plan has ended.');
    const { press, did } = gatewayOf(AGENTIC);
    expect(await press(value.stop.replace(':p', ':q'))).toBe(
      'This plan no longer exists. Nothing was changed.',
    );
    expect(await press(value.stop, { address: 'telegram:2' })).toBe(
      'This button belongs to another chat. Nothing was changed.',
    );
    expect([...over.did, ...did]).toEqual([]);
  });

  it('ignores buttons that do not belong to a plan', async () => {
    const { press } = gatewayOf(AGENTIC);
    expect(await press('approve:p')).toBeUndefined();
    expect(await press('plan-stop:')).toBeUndefined();
  });
});

describe('a pause', () => {
  it('that has not begun is cancelled by resuming', async () => {
    const { act, did } = gatewayOf(AGENTIC);
    expect(await act('resume')).toEqual({
      done: false,
      text: 'The plan is running; no step is waiting for you.',
    });
    await act('pause');
    expect(await act('resume')).toEqual({ done: true, text: 'The plan will not pause.' });
    expect(did).toEqual(['request {"pause":true}', 'request {"pause":false}']);
  });

  it('stays when a user without the right resumes', async () => {
    const { act, did } = gatewayOf(
      { ...AGENTIC, state: 'paused' },
      { wait: 'pause', answer: { kind: 'forbidden' } },
    );
    expect(await act('resume')).toMatchObject({
      done: false,
      text: expect.stringContaining('Only an owner'),
    });
    expect(did).toEqual(['forbidden approved']);
  });
});
