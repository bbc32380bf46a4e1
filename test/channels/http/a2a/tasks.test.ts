/** Turns as tasks for other agents: their states and files, and what counts as a decision. */
import { expect, it } from 'vitest';
import { decisionOf, sendParams, textOf } from '../../../../channels/http/a2a/messages.ts';
import { taskOf } from '../../../../channels/http/a2a/tasks.ts';
import type { HandlerDeps } from '../../../../channels/http/route.ts';
import type { Caller } from '../../../../src/protocol/access.ts';
import { TURN_END_REASONS } from '../../../../src/protocol/event.ts';
import type { MessageRecord } from '../../../../src/protocol/store/records.ts';
import type { TurnStatus } from '../../../../src/protocol/sessions/session-list.ts';
import { partial } from '../../../fakes/partial.ts';

const CALLER = partial<Caller>({ tokenId: 't', scopes: ['chat', 'approve'] });
const TURN = { turnId: 'turn-1', session: 'http:desk', replay: true } as const;
const ORIGIN = 'https://chat.example.org';

const task = (status: TurnStatus) => {
  const gateway = partial<HandlerDeps['gateway']>({ turn: async () => status, approvals: async () => [] });
  return taskOf(partial<HandlerDeps>({ gateway }), CALLER, TURN, ORIGIN);
};
const message = (...parts: object[]) => sendParams.parse({ message: { messageId: 'm', parts } }).message;

it('has a state for every state and end of a turn', async () => {
  const states = await Promise.all([
    task({ state: 'queued' }),
    task({ state: 'running' }),
    task({ state: 'parked' }),
    ...TURN_END_REASONS.map((reason) => task({ state: 'done', reason })),
  ]);
  expect(states.map(({ status }) => status.state.replace('TASK_STATE_', ''))).toEqual([
    'SUBMITTED',
    'WORKING',
    'WORKING',
    'COMPLETED',
    'COMPLETED',
    'FAILED',
    'CANCELED',
    'COMPLETED',
    'FAILED',
    'FAILED',
  ]);
});

it('names the files of an answer by their addresses in the API', async () => {
  const file = {
    kind: 'image',
    name: 'a b.png',
    mimeType: 'image/png',
    bytes: 3,
    sha256: 'x',
    file: 'outbox/a b.png',
  };
  const createdAt = new Date('2026-11-30T12:00:00Z');
  const final = partial<MessageRecord>({
    content: 'Here it is.',
    createdAt,
    attachments: [{ ...file, kind: 'image' }],
  });
  const { artifacts, status } = await task({ state: 'done', reason: 'completed', final });
  expect(status.timestamp).toBe('2026-11-30T12:00:00.000Z');
  expect(artifacts).toEqual([
    { artifactId: 'turn-1', name: 'answer', parts: [{ text: 'Here it is.' }] },
    {
      artifactId: 'outbox/a b.png',
      name: 'a b.png',
      parts: [
        {
          url: `${ORIGIN}/v1/sessions/http%3Adesk/files/outbox/a%20b.png`,
          filename: 'a b.png',
          mediaType: 'image/png',
        },
      ],
    },
  ]);
});

it('takes one word or data for a decision, and nothing that only contains it', () => {
  expect(decisionOf(message({ text: ' Approve. ' }))).toEqual({ decision: 'approved' });
  expect(decisionOf(message({ text: 'deny' }))).toEqual({ decision: 'denied' });
  const data = { decision: 'denied', reason: 'Too risky.' };
  expect(decisionOf(message({ data }))).toEqual(data);
  for (const parts of [
    [{ text: 'approve it' }],
    [{ text: 'no, do not approve' }],
    [{ text: 'approve' }, { text: 'not' }],
    [{ data: { decision: 'maybe' } }],
  ])
    expect(() => decisionOf(message(...parts))).toThrow('single word');
});

it('writes data as JSON, and refuses files', () => {
  expect(textOf(message({ text: 'Sort this:' }, { data: [2, 1] }))).toBe('Sort this:\n\n[2,1]');
  expect(() => textOf(message({ url: 'https://example.org/a.png' }))).toThrow('A part is a file');
  expect(() => textOf(message({}))).toThrow('an empty part');
});
