/**
 * A session that is deleted in the middle of its turn, and turns that end before their reader connects, on a whole
 * gateway.
 */
import { expect, it, vi } from 'vitest';
import { allFrames, eventsUntil } from '../../channels/http/client.ts';
import { describeGateway, WAIT } from '../setup.ts';

const words = (count: number): string => Array.from({ length: count }, (_, n) => `word${n}`).join(' ');

describeGateway('HTTP, when a session goes or a turn is fast', {}, (fixture) => {
  const complete = (id: string, content: string, stream: boolean): Promise<Response> =>
    fixture().call('/v1/chat/completions', {
      json: { model: 'default', messages: [{ role: 'user', content }], stream },
      headers: { 'x-session-id': id },
    });

  it('ends the model’s call, the streams and the waiting completions within a second of a deletion', async () => {
    fixture().ollama.answer({ text: words(2_000), perSecond: 25 }, { when: 'to be deleted' });
    const running = complete('gone', 'to be deleted', true).then(allFrames);
    const call = await fixture().modelCall('to be deleted');
    const queued = complete('gone', 'waits behind', false);
    await vi.waitFor(async () => expect(await fixture().messages('http:gone')).toHaveLength(2), WAIT);
    const stream = await fixture().call('/v1/sessions/http:gone/events');
    const events = eventsUntil(stream, () => false);
    const asked = performance.now();
    const deleted = await fixture().call('/v1/sessions/http:gone', { method: 'DELETE' });
    expect(deleted.status).toBe(200);
    const { by, at } = await call.closed;
    expect([by, at - asked < 1_000]).toEqual(['client', true]);
    const types = (await events).events.map(({ type }) => type);
    expect(types.slice(-2)).toEqual(['turn_ended', 'session_deleted']);
    expect((await running).at(-1)?.data).toBe('[DONE]');
    expect((await queued).status).toBeGreaterThanOrEqual(200);
    expect(performance.now() - asked).toBeLessThan(1_000);
    expect((await fixture().call('/v1/sessions/http:gone')).status).toBe(404);
    // Nothing of it is left for the next session of that name.
    await fixture().post('gone', 'anew');
    const anew = await fixture().call('/v1/sessions/http:gone/events', {
      headers: { 'last-event-id': '0-0' },
    });
    const seen = await eventsUntil(anew, ({ type }) => type === 'turn_ended');
    expect(JSON.stringify(seen.events)).not.toContain('word1');
  });

  it('shows all events of 30 turns whose readers connected after their end', async () => {
    for (let n = 0; n < 30; n += 1) {
      const answer = await fixture().call('/v1/sessions/http:fast/messages', {
        json: { content: `fast ${n}` },
      });
      const { turnId, lastEventId }: { turnId: string; lastEventId: string } = await answer.json();
      await fixture().idle('http:fast');
      const headers = { 'last-event-id': lastEventId };
      const stream = await fixture().call('/v1/sessions/http:fast/events', { headers });
      const { events } = await eventsUntil(stream, ({ type }) => type === 'turn_ended');
      expect(new Set(events.map((event) => event.turnId))).toEqual(new Set([turnId]));
      expect(events[0]?.type).toBe('turn_started');
    }
  });

  it('answers a failed turn by its cause, even for a repeat that reads it from the store', async () => {
    const headers = { 'x-session-id': 'failed', 'idempotency-key': 'once' };
    const json = { model: 'default', messages: [{ role: 'user', content: '字'.repeat(60_000) }] };
    const ask = () => fixture().call('/v1/chat/completions', { json, headers });
    const [first, again] = [await ask(), await ask()];
    expect(first.headers.get('x-should-retry')).toBe('false');
    const told = await Promise.all(
      [first, again].map(async (one) => [one.status, (await one.json()).error.code]),
    );
    expect(told[1]).toEqual(told[0]);
    expect(told[0]).toEqual([400, 'context_length_exceeded']);
    expect(await fixture().messages('http:failed')).toHaveLength(2);
  });
});
