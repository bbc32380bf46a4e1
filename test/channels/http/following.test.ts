/** Following a turn from the position that its message's answer names, and what a deleted session's readers see. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { AgentEvent } from '../../../src/protocol/event.ts';
import type { FakeTurn } from '../../fakes/gateway/turn.ts';
import { OTHER } from '../../fakes/gateway/gateway-api.ts';
import { allFrames, eventsUntil, openApi, type OpenApi } from './client.ts';

let api: OpenApi;

beforeEach(async () => {
  api = await openApi();
});
afterEach(() => api.close());

const post = async (content: string, headers: Record<string, string> = {}) => {
  const answer = await api.call('/v1/sessions/http:a/messages', { json: { content }, headers });
  const body: { turnId: string; seq: number; lastEventId: string } = await answer.json();
  return body;
};
const follow = (lastEventId: string, headers: Record<string, string> = {}): Promise<Response> =>
  api.call('/v1/sessions/http:a/events', { headers: { 'last-event-id': lastEventId, ...headers } });
const ended = (event: AgentEvent): boolean => event.type === 'turn_ended';

describe('the position in the answer to a posted message', () => {
  it('leads to all events of a turn that ended before its reader connected, and to none of earlier turns', async () => {
    for (const content of ['first', 'second', 'third']) {
      const { turnId, lastEventId } = await post(content);
      await vi.waitFor(() => expect(api.gateway.turns.get(turnId)?.state).toBe('done'));
      const { events } = await eventsUntil(await follow(lastEventId), ended);
      expect(new Set(events.map((event) => event.turnId))).toEqual(new Set([turnId]));
      expect(events.map(({ type }) => type)).toEqual([
        'turn_started',
        'stream_start',
        'stream_chunk',
        'stream_chunk',
        'stream_end',
        'turn_ended',
      ]);
    }
  });

  it('is the very first one for a repeated message, whose turn may be after others', async () => {
    const first = await post('one', { 'idempotency-key': 'k' });
    await post('two');
    const again = await post('one', { 'idempotency-key': 'k' });
    expect(again).toMatchObject({ turnId: first.turnId, seq: first.seq, lastEventId: '0-0' });
    await vi.waitFor(() => expect(api.gateway.turns.get(first.turnId)?.state).toBe('done'));
    const { events } = await eventsUntil(await follow(again.lastEventId), ended);
    expect(events[0]?.turnId).toBe(first.turnId);
  });

  it('leads past a turn whose end the reader has from another node, though this one is still in the middle of it', async () => {
    const { turnId } = await post('one');
    await vi.waitFor(() => expect(api.gateway.turns.get(turnId)?.state).toBe('done'));
    const response = await follow(`1-2-${turnId}`);
    const next = await post('two');
    const { events } = await eventsUntil(response, ended);
    const turns = events.flatMap((event) => event.turnId ?? []);
    expect(new Set(turns)).toEqual(new Set([next.turnId]));
  });

  it('opens nothing before the session exists, or for another token: both look the same', async () => {
    const none = await follow('0-0');
    await post('mine');
    const others = await follow('0-0', { authorization: OTHER });
    expect([none.status, others.status]).toEqual([404, 404]);
    expect(await others.json()).toEqual(await none.json());
  });
});

describe('a deleted session', () => {
  it('ends its event streams, and every completion that waits for one of its turns', async () => {
    let turn: FakeTurn | undefined;
    api.gateway.script = (started) => {
      turn = started;
      turn.say('Half');
    };
    const complete = (stream: boolean) =>
      api.call('/v1/chat/completions', {
        json: { messages: [{ role: 'user', content: 'x' }], stream },
        headers: { 'x-session-id': 'a' },
      });
    const running = complete(true).then(allFrames);
    await vi.waitFor(() => expect(turn?.state).toBe('running'));
    const queued = complete(false);
    await vi.waitFor(() => expect(api.gateway.turns.size).toBe(2));
    const events = eventsUntil(await follow('0-0'), () => false);
    const asked = performance.now();
    expect((await api.call('/v1/sessions/http:a', { method: 'DELETE' })).status).toBe(200);
    expect((await events).events.slice(-2).map(({ type }) => type)).toEqual([
      'turn_ended',
      'session_deleted',
    ]);
    expect((await running).at(-1)?.data).toBe('[DONE]');
    const refused = await queued;
    expect(refused.status).toBe(410);
    expect(await refused.json()).toMatchObject({ error: { code: 'session_deleted' } });
    expect(performance.now() - asked).toBeLessThan(1_000);
    expect(turn?.stopped.signal.aborted).toBe(true);
  });

  it('ends a completion even if the event for it was lost', async () => {
    api.gateway.script = (turn) => turn.say('Half');
    const asked = api.call('/v1/chat/completions', {
      json: { messages: [{ role: 'user', content: 'x' }] },
      headers: { 'x-session-id': 'a' },
    });
    await vi.waitFor(() => expect([...api.gateway.turns.values()][0]?.state).toBe('running'));
    api.gateway.turns.clear();
    expect((await asked).status).toBe(410);
  });
});
