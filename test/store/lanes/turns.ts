/** Shared building blocks of the store tests: a user message, a claimed head, a finished turn. */
import { expect } from 'vitest';
import type { ApprovalSubject } from '../../../src/protocol/agent/approvals.ts';
import type { LaneHead, LaneStep } from '../../../src/protocol/store/lanes.ts';
import type { AcceptResult } from '../../../src/protocol/store/accept.ts';
import type { Address, InboundMessage } from '../../../src/protocol/message.ts';
import type { TurnFinish } from '../../../src/protocol/store/records.ts';
import type { Store } from '../../../src/store/store.ts';
import { request } from '../requests.ts';

export const LEASE_MS = 60_000;
export const IN_ROOM = [{ class: 'in' as const, free: 100 }];

export function accepted(result: AcceptResult): Extract<AcceptResult, { kind: 'accepted' }> {
  if (result.kind !== 'accepted') throw new Error(`expected accepted, got ${result.kind}`);
  return result;
}

export function only(step: LaneStep | LaneHead[]): LaneHead {
  const heads = Array.isArray(step) ? step : step.heads;
  expect(heads).toHaveLength(1);
  return heads[0]!;
}

/** A message accepted and claimed for a new node with its own instance. */
export async function startTurn(
  store: Store,
  id = 'm1',
  change: Partial<InboundMessage> = {},
): Promise<{ node: string; turnId: string; head: LaneHead }> {
  const node = await store.lanes.register(`home of ${id}`, LEASE_MS);
  const result = accepted(await store.ledger.accept(request(id, change, node)));
  return { node, turnId: result.turnId, head: only(result) };
}

/** An ordinary end of a turn, answering `content`. */
export function finished(turnId: string, content: string, change: Partial<TurnFinish> = {}): TurnFinish {
  return {
    turnId,
    reason: 'completed',
    content,
    isError: false,
    userId: 'telegram:42',
    usage: [{ model: 'test', promptTokens: 10, completionTokens: 5, modelMs: 7 }],
    entries: [],
    ...change,
  };
}

/** A journal row with a model's answer. */
export function answer(iteration: number, content: string) {
  const entry = { kind: 'assistant' as const, content, toolCalls: [], msgId: `m${iteration}` };
  return { iteration, entry, tokens: 3 };
}

/** A journal row with a user message. */
export function said(content: string) {
  return { iteration: 0, entry: { kind: 'user' as const, content }, tokens: 2 };
}

/** What an approval question is about. */
export function subject(callKey: string, args: unknown): ApprovalSubject {
  const call = {
    callKey,
    toolCallId: 'call-1',
    tool: 'exec',
    args,
    digest: 'd1',
    warning: 'It deletes files.',
  };
  return { ...call, userId: 'telegram:42', address: 'telegram:42' };
}

/** A delivery the way the agent queues it. */
export function delivery(turnId: string, address: Address, content: string) {
  const [channel = '', chatId = ''] = address.split(':');
  return { ref: turnId, message: { channel, chatId, content, turnId, media: [], buttons: [] } };
}
