/** Attempts and refusals in the database: their limits, and what deletes them. */
import { expect, it } from 'vitest';
import { MAX_REFUSALS, MAX_TRACE_ATTEMPTS, type Refusal } from '../../../src/protocol/store/traces.ts';
import { describeStore } from '../../database.ts';
import { accepted } from '../lanes/turns.ts';
import { request } from '../requests.ts';

const ATTEMPT = {
  node: 'n1',
  epoch: 1,
  attempts: 0,
  crashes: 0,
  afterMs: 1,
  ms: 2,
  profile: 'default',
  outcome: 'parked',
  spans: [],
};
const refusals = (count: number, lastAt = new Date()): Refusal[] =>
  Array.from({ length: count }, (_, n) => ({
    address: 'telegram:9',
    senderId: `${n}`,
    code: 'denied',
    detail: '',
    count: 1,
    lastAt,
  }));

describeStore('traces', (databases) => {
  it(`keep the first ${MAX_TRACE_ATTEMPTS} attempts of a turn, and are deleted with its session`, async () => {
    const store = await databases.open();
    const { turnId, session } = accepted(await store.ledger.accept(request('m1', { chatId: '9' })));
    for (let epoch = 1; epoch <= MAX_TRACE_ATTEMPTS + 1; epoch += 1)
      await store.traces.noteAttempt(turnId, { ...ATTEMPT, epoch });
    const facts = await store.traces.turnFacts(turnId);
    expect(facts?.attempts.map(({ epoch }) => epoch)).toEqual(
      Array.from({ length: MAX_TRACE_ATTEMPTS }, (_, n) => n + 1),
    );
    expect(facts).toMatchObject({ session, state: 'queued', queue: { ahead: 0, dueInMs: 0 }, gateways: 0 });
    expect(await store.traces.turnFacts('no-such-turn')).toBeUndefined();
    await store.traces.noteRefusals(refusals(1));
    await store.ledger.deleteSession(session);
    expect(await store.sql`select from turn_trace`).toHaveLength(0);
    expect(await store.traces.refusals('telegram:9', 10)).toEqual([]);
  });

  it('record no attempt of a turn that was deleted in the meantime', async () => {
    const store = await databases.open();
    await store.traces.noteAttempt('gone', ATTEMPT);
    expect(await store.sql`select from turn_trace`).toHaveLength(0);
  });

  it(`add up refusals, newest first, and keep ${MAX_REFUSALS} of them for a limited time`, async () => {
    const store = await databases.open();
    const { traces, sql } = store;
    await traces.noteRefusals(refusals(MAX_REFUSALS + 2));
    await traces.noteRefusals(refusals(1, new Date(Date.now() + 1_000)));
    expect(await traces.refusals(undefined, 1)).toMatchObject([{ senderId: '0', count: 2 }]);
    await traces.purgeTraces(60_000, 1_000);
    expect(await sql`select from refusal`).toHaveLength(MAX_REFUSALS);
    await sql`update refusal set last_at = now() - interval '2 minutes' where sender_id <> '0'`;
    const { turnId } = accepted(await store.ledger.accept(request('m1', { chatId: '9' })));
    await traces.noteAttempt(turnId, ATTEMPT);
    await sql`update turn_trace set at = now() - interval '2 minutes'`;
    expect(await traces.purgeTraces(60_000, 5_000)).toBe(MAX_REFUSALS);
    expect(await sql`select sender_id from refusal`).toEqual([{ sender_id: '0' }]);
    expect(await sql`select from turn_trace`).toHaveLength(0);
  });
});
