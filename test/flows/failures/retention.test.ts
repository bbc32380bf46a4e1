/** What `retention.messagesDays` deletes while turns of the same sessions run: nothing of them. */
import { expect, it, vi } from 'vitest';
import { purgeOld } from '../../../src/ops/retention.ts';
import { silentLog } from '../../database.ts';
import { lastUserText } from '../../fakes/model/spoken-text.ts';
import type { ChatBody } from '../../fakes/ollama/ollama.ts';
import { describeGateway, type GatewayFixture, WAIT } from '../setup.ts';

const DAYS = 30;
const SESSIONS = Array.from({ length: 6 }, (_, n) => `diary${n}`);

describeGateway('old messages', {}, (fixture) => {
  const textsOf = async (session: string): Promise<string[]> =>
    (await fixture().messages(`http:${session}`)).map(({ content }) => content).filter(Boolean);

  it('are deleted while the sessions run a turn, which ends with all that it had begun', async () => {
    const { ollama, sql } = fixture();
    for (const session of SESSIONS) {
      await fixture().post(session, `old ${session}.`);
      await vi.waitFor(async () => expect(await textsOf(session)).toHaveLength(2), WAIT);
      await fixture().idle(`http:${session}`);
    }
    await sql`update turn set ended_at = ended_at - interval '40 days'`;
    await sql`update session set updated_at = updated_at - interval '40 days'`;
    await sql`update lane_item set done_at = done_at - interval '40 days'`;
    await sql`update delivery set updated_at = updated_at - interval '40 days'`;

    // Each turn has the result of a tool, and waits for the model, when everything old is deleted.
    const note = { name: 'write_file', args: { path: 'note.txt', content: 'tea' } };
    for (const session of SESSIONS) {
      const when = `new ${session}.`;
      ollama.answer({ toolCalls: [note] }, { when });
      ollama.answer({ text: 'never shown', hold: true }, { when });
      await fixture().post(session, when);
    }
    for (const session of SESSIONS) expect(await resultIn(session)).toContain('note.txt');
    await deleteOld(fixture());
    for (const session of SESSIONS) expect(await textsOf(session)).toEqual([`new ${session}.`]);
    expect(await sql`select from turn`).toHaveLength(SESSIONS.length);

    // After a restart, each goes on from what it has stored: the call and its result.
    for (const session of SESSIONS)
      ollama.answer((body) => `after ${lastResult(body)}`, { when: `new ${session}.` });
    await fixture().restart();
    await deleteOld(fixture());
    for (const session of SESSIONS) {
      const texts = [`new ${session}.`, expect.stringContaining('after Wrote 3 bytes to "note.txt"')];
      await vi.waitFor(async () => expect(await textsOf(session)).toEqual(texts), WAIT);
    }
  });

  /** The result of the tool in the newest request of a session, as soon as it is there. */
  const resultIn = (session: string): Promise<string> =>
    vi.waitFor(() => {
      const call = fixture().ollama.calls.findLast(({ body }) =>
        lastUserText(body).includes(`new ${session}.`),
      );
      const result = call && lastResult(call.body);
      if (!result) throw new Error(`${session} has no result yet`);
      return result;
    }, WAIT);
});

function lastResult({ messages }: ChatBody): string {
  return messages.findLast(({ role }) => role === 'tool')?.content ?? '';
}

/** What every node does at intervals, as another node of the database. */
async function deleteOld({ store, sql }: GatewayFixture): Promise<void> {
  await purgeOld(store.retention, DAYS, silentLog);
  await store.lanes.purge(7 * 24 * 3_600_000, 1_000);
  await store.traces.purgeTraces(0, 1_000);
  expect(await sql`select from message where content like 'old %'`).toHaveLength(0);
}
