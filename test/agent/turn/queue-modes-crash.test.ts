/** Queue modes while processes die: nothing is lost, reordered or answered twice. */
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { campaignSize } from '../../campaign.ts';
import { LaneAbort } from '../../../src/protocol/bus.ts';
import type { LaneHead } from '../../../src/protocol/store/lanes.ts';
import type { Ledger } from '../../../src/protocol/store/ledger.ts';
import type { ChatProvider } from '../../../src/protocol/agent/provider.ts';
import type { QueueMode } from '../../../src/protocol/store/records.ts';
import { describeStore, type TestStore } from '../../database.ts';
import { moment, nextTurn } from '../../fakes/moments.ts';
import { TurnScenario } from '../../fakes/agent/turn-setup.ts';

const SESSION = 'telegram:42' as const;
const MODES: QueueMode[] = ['queue', 'steer', 'interrupt', 'collect'];

class SimulatedCrash extends Error {}

/** What happens next in a run of the property below. */
type Happening = { say: true } | { mode: QueueMode } | { crashAt: number; after: boolean } | { age: true };

const happening: fc.Arbitrary<Happening> = fc.oneof(
  { weight: 5, arbitrary: fc.constant<Happening>({ say: true }) },
  { weight: 2, arbitrary: fc.constantFrom(...MODES).map((one): Happening => ({ mode: one })) },
  {
    weight: 2,
    arbitrary: fc.record({ crashAt: fc.integer({ min: 0, max: 7 }), after: fc.boolean() }),
  },
  { weight: 1, arbitrary: fc.constant<Happening>({ age: true }) },
);

/** A model that thinks for as many tool calls as the turn's first message asks for, and then answers. */
function patientModel(steps: () => number): ChatProvider {
  return {
    name: 'patient',
    models: async () => ['test-model'],
    capabilities: async () => ({ contextWindow: 65_536, tools: true, thinking: false, vision: false }),
    async *streamChat(request, signal) {
      signal.throwIfAborted();
      if (steps() > 0) yield { type: 'tool_call', call: { id: 'c', name: 'moment', args: {} } };
      else yield { type: 'text', delta: `seen ${request.messages.length}` };
      const usage = { promptTokens: 1, completionTokens: 1, modelMs: 1 };
      yield { type: 'done', finishReason: 'stop', usage };
    },
    close: async () => undefined,
  };
}

describeStore('under random modes and kills', (databases) => {
  it('every message has one answer, in order, or an answer that the next message interrupted', async () => {
    const script = fc.array(happening, { minLength: 8, maxLength: 40 });
    await fc.assert(
      fc.asyncProperty(
        script,
        fc.array(fc.integer({ min: 0, max: 3 }), { maxLength: 30 }),
        async (all, depths) => {
          const store = await databases.open();
          const said = await play(store, [...all], [...depths]);
          expect(await answered(store, said)).toEqual(Array.from({ length: said }, (_, n) => n + 1));
        },
      ),
      { numRuns: campaignSize(30) },
    );
  });
});

/** Plays a script to its end and drains the session; returns how many messages were sent. */
async function play(store: TestStore, script: Happening[], depths: number[]): Promise<number> {
  let said = 0;
  let ledgerCalls = 0;
  let crash: { at: number; after: boolean } | undefined;
  let abort = new AbortController();
  let left = 0;
  const count = async <T>(work: () => Promise<T>): Promise<T> => {
    const dies = crash !== undefined && ledgerCalls === crash.at ? crash : undefined;
    ledgerCalls += 1;
    if (dies?.after === false) throw new SimulatedCrash();
    const done = await work();
    if (dies !== undefined) throw new SimulatedCrash();
    return done;
  };
  const around = (ledger: Ledger): Ledger => ({
    ...ledger,
    openTurn: (...args) => count(() => ledger.openTurn(...args)),
    journalAnswer: (...args) => count(() => ledger.journalAnswer(...args)),
    waitingBehind: (...args) => count(() => ledger.waitingBehind(...args)),
    joinTurn: (...args) => count(() => ledger.joinTurn(...args)),
    toolResult: (...args) => count(() => ledger.toolResult(...args)),
    finishTurn: (...args) => count(() => ledger.finishTurn(...args)),
  });
  const age = async (): Promise<void> => {
    await store.sql`update turn set created_at = created_at - interval '7 s', ended_at = ended_at - interval '7 s'`;
  };
  const happen = async (one: Happening, node: string | undefined): Promise<void> => {
    if ('say' in one) {
      said += 1;
      const message = { id: `m${said}`, ...PERSON, content: `#${said}` };
      const result = await store.ledger.accept({ message, address: SESSION, entry: 'runStream', node });
      if (result.kind === 'accepted' && result.interrupts) abort.abort(new LaneAbort('interrupted'));
    } else if ('mode' in one) await store.ledger.updateSession(SESSION, { queueMode: one.mode });
    else if ('age' in one) await age();
    else crash = { at: ledgerCalls + one.crashAt, after: one.after };
  };
  const tool = moment(async () => {
    for (const one of script.splice(0, 2)) await happen(one, undefined);
  });
  const provider = patientModel(() => (left -= 1) + 1);
  const scenario = new TurnScenario({ store, provider, tools: [tool], around });
  await scenario.start();
  await happen({ say: true }, undefined);
  for (let round = 0; round < 400; round += 1) {
    const head: LaneHead | undefined = await scenario.sweep();
    if (head === undefined) {
      const nextOne = script.shift();
      const { waiting } = await store.ledger.queue(SESSION);
      if (nextOne !== undefined) await happen(nextOne, undefined);
      else if (waiting === 0) break;
      else await store.sql`update lane set wake_at = now()`;
      continue;
    }
    await runOne(head);
  }
  await scenario.close();
  return said;

  async function runOne(first: LaneHead): Promise<void> {
    for (let head: LaneHead | undefined = first; head !== undefined;) {
      const held = head;
      abort = new AbortController();
      left = depths.shift() ?? 0;
      const [flag] = await store.lanes.flags(scenario.node);
      if (flag?.interruptSeq === head.seq) abort.abort(new LaneAbort('interrupted'));
      try {
        const outcome = await scenario.run(head, abort.signal);
        head = nextTurn(outcome);
        if (outcome.kind === 'released') {
          await store.lanes.release(held, { delayMs: 0, attempt: false });
          await age();
        }
      } catch (error) {
        if (!(error instanceof SimulatedCrash)) throw error;
        crash = undefined;
        await scenario.start();
        head = undefined;
      }
    }
  }
}

const PERSON = {
  channel: 'telegram',
  chatId: '42',
  senderId: '42',
  timestamp: 0,
  media: [],
  place: 'private' as const,
  mentioned: true,
};

interface TurnRow {
  id: string;
  state: string;
  reason: string;
  hasFinal: boolean;
}

/** The numbers in the contexts of the turns, in lane order: each turn with an answer has some, a joined one has none. */
async function answered(store: TestStore, said: number): Promise<number[]> {
  const turns = await store.sql<TurnRow[]>`
    select id, state, reason, final_seq is not null as "hasFinal" from turn order by lane_seq`;
  expect(turns).toHaveLength(said);
  const order: number[] = [];
  for (const { id, state, reason, hasFinal } of turns) {
    expect(state).toBe('done');
    expect(['completed', 'interrupted', 'joined']).toContain(reason);
    expect(hasFinal).toBe(reason !== 'joined');
    const rows = await store.sql<{ content: string }[]>`
      select payload ->> 'content' as content from context where turn_id = ${id} and kind = 'user' order by seq`;
    expect(rows.length > 0).toBe(reason !== 'joined');
    for (const { content } of rows)
      order.push(...[...content.matchAll(/#(\d+)/g)].map((match) => Number(match[1])));
  }
  const finals = await store.sql`select from message where role = 'assistant'`;
  expect(finals).toHaveLength(turns.filter(({ reason }) => reason !== 'joined').length);
  return order;
}
