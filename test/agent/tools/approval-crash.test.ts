/** A process that dies anywhere around an approval: asked once, decided once, run once. */
import { expect, it } from 'vitest';
import { describeStore, type TestStore } from '../../database.ts';
import { dyingAt, SimulatedCrash } from '../../fakes/agent/dying-store.ts';
import { riskyTools } from '../../fakes/agent/risky-tools.ts';
import { replaySteps } from '../../fakes/agent/replay-provider.ts';
import { asks, says } from '../../fakes/agent/scripted-provider.ts';
import { TurnScenario } from '../../fakes/agent/turn-setup.ts';

/** What a process does around an approval, each a point before or after which it can die. */
const STEPS = ['openTurn', 'journalAnswer', 'park', 'enqueue', 'toolIntent', 'toolResult', 'finishTurn'];

describeStore('an approval whose process dies', (databases) => {
  const call = [{ name: 'wipe', args: { word: 'disk' } }];

  /** One turn across as many processes as it takes; the first may die, a user approves every request. */
  async function live(store: TestStore, at: number, when: 'before' | 'after') {
    const death = dyingAt(at, when, STEPS);
    const ran: string[] = [];
    const provider = replaySteps(asks(call, 'Let me.'), says('Done.'));
    const chatId = `${when}-${at}`;
    const session = `telegram:${chatId}` as const;
    let turnId: string | undefined;
    let asked = 0;
    const approve = async (): Promise<void> => {
      for (const { id } of await store.approvals.pendingApprovals({ session, limit: 9 })) {
        asked += 1;
        expect(await store.lanes.decide(id, 'approved', session)).toBe(true);
      }
    };
    for (let process = 0; process < 6; process += 1) {
      const dying = { ...store, ledger: death.of(store.ledger), lanes: death.of(store.lanes) };
      const own = process === 0 ? dying : store;
      const scenario = new TurnScenario({ store: own, provider, tools: riskyTools(ran) });
      await scenario.start();
      const head = turnId === undefined ? await scenario.say('clean up', { chatId }) : undefined;
      turnId ??= head?.turnId;
      for (let claimed = head?.head ?? (await scenario.sweep()); claimed; claimed = await scenario.sweep()) {
        const died = await scenario.run(claimed).then(
          () => false,
          (error: unknown) => error instanceof SimulatedCrash,
        );
        await approve();
        if (died) break;
      }
      await scenario.close();
      if ((await store.ledger.turn(turnId ?? ''))?.state === 'done') break;
    }
    const questions = await store.sql<{ dedupe: string }[]>`
      select dedupe from lane_item where lane = ${`out:${session}`} and dedupe like 'approval:%' order by seq`;
    return { seen: death.seen, ran, asked, turn: await store.ledger.turn(turnId ?? ''), questions };
  }

  it('is requested once, and its call runs once, wherever the process died (S-45)', async () => {
    const store = await databases.open();
    const whole = await live(store, Number.POSITIVE_INFINITY, 'after');
    expect(whole.ran).toEqual(['wipe disk']);
    expect(new Set(whole.seen)).toEqual(new Set(STEPS));
    const failures: string[] = [];
    for (const at of whole.seen.keys()) {
      for (const when of ['before', 'after'] as const) {
        const { ran, asked, turn, questions } = await live(store, at, when);
        // Its intent was journaled and the process died: it must never run again.
        const unknown = whole.seen[at] === 'toolIntent' && when === 'after';
        const found = [
          asked !== 1 && `asked ${asked} times`,
          ran.length !== (unknown ? 0 : 1) && `ran ${ran.length} times`,
          questions.length !== 2 && `showed ${questions.map(({ dedupe }) => dedupe).join()}`,
          turn?.reason !== 'completed' && `ended as ${turn?.reason}`,
        ].filter((failure) => failure !== false);
        failures.push(...found.map((failure) => `${when} ${whole.seen[at]} (${at}): ${failure}`));
      }
    }
    expect(failures).toEqual([]);
  }, 120_000);
});
