/** When files of a session must not change: from the approval question for a tool call until the approved call starts. */
import { expect, it } from 'vitest';
import type { ApprovalSubject } from '../../../src/protocol/agent/approvals.ts';
import { describeStore } from '../../database.ts';
import { finished, IN_ROOM, startTurn, subject } from './turns.ts';

const KEY = 'telegram:42';
const OTHER = 'agent-x.1.0';

describeStore('a session', (databases) => {
  /** A turn with a question about its first call, or about a call of its subagent. */
  async function ask(change: Partial<ApprovalSubject> = {}) {
    const store = await databases.open();
    const { node, head, turnId } = await startTurn(store);
    const callKey = change.callKey ?? `${turnId}.1.0`;
    const detail = { ...subject(callKey, { command: 'sh a' }), ...change };
    await store.lanes.park(head, { id: 'q1', turnId, detail, expiresInMs: 60_000 });
    const resume = async () => {
      const [again] = await store.lanes.sweep(node, IN_ROOM);
      if (again === undefined) throw new Error('the turn is not due');
      await store.ledger.openTurn(again, turnId, 50);
      return again;
    };
    const asks = (call = OTHER) => store.approvals.asksOther(KEY, call);
    return { ...store, asks, resume, turnId, callKey };
  }

  it('asks while the question is open and after approval, until the call has started', async () => {
    const { asks, approvals, resume, lanes, ledger, turnId, callKey } = await ask();
    expect(await asks()).toBe(true);
    expect(await asks(callKey)).toBe(false);
    expect(await approvals.asksOther(KEY, OTHER, turnId)).toBe(false);
    await lanes.decide('q1', 'approved', KEY);
    expect(await asks()).toBe(true);
    const head = await resume();
    expect(await asks()).toBe(true);
    const intent = { kind: 'tool_intent', toolCallId: 'c', toolName: 'exec', callIndex: 0 } as const;
    await ledger.toolIntent(head, turnId, 1, intent);
    expect(await asks()).toBe(false);
    await ledger.finishTurn(head, finished(turnId, 'done'));
    expect(await asks()).toBe(false);
  });

  it('asks for a call of a subagent until it has started in the subagent’s journal', async () => {
    const callKey = 'agent-0123456789abcdef-0123456789abcdef.2.1';
    const { asks, resume, lanes, subagents } = await ask({ callKey });
    await lanes.decide('q1', 'approved', KEY);
    const head = await resume();
    expect(await asks()).toBe(true);
    const entry = {
      kind: 'tool_result' as const,
      toolCallId: 'c',
      toolName: 'exec',
      callIndex: 1,
      content: 'no',
      isError: true,
    };
    const agent = { agentId: 'agent-0123456789abcdef-0123456789abcdef', session: KEY } as const;
    await subagents.write(head, agent, [{ iteration: 2, entry, tokens: 1 }]);
    expect(await asks()).toBe(false);
  });

  it('does not ask once the call is denied, for a step of a plan, or when nothing runs', async () => {
    const { asks, lanes, approvals } = await ask();
    expect(await approvals.asksOther('telegram:43', OTHER)).toBe(false);
    await lanes.decide('q1', 'denied', KEY);
    expect(await asks()).toBe(false);
    const planned = await ask({ plan: { id: 'p', stepId: 's', wait: 'step' } });
    expect(await planned.asks()).toBe(false);
  });
});
