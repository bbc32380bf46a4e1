/** A message that ends the process, with nine others in progress: real processes, restarted by a supervisor. */
import { afterEach, describe, expect, it, vi } from 'vitest';
import { runsAll } from '../../campaign.ts';
import { answers, say } from '../../crash/chat-actions.ts';
import type { GatewayProcess } from '../../crash/gateways.ts';
import { pendingCount } from '../../crash/rows.ts';
import { type Scenario, startScenario } from '../../crash/scenario.ts';
import { serverUrl } from '../../database.ts';
import { SUSPECT_CRASHES } from '../../../src/protocol/store/lanes.ts';
import { MAX_LONE_CRASHES } from '../../../src/bus/attempt.ts';

const SERVER = serverUrl();
const INNOCENTS = Array.from({ length: 9 }, (_, at) => `innocent${at}`);
const ANSWER = 'one two three four five six';
const CASES = [
  { database: 'embedded', postgresUrl: undefined, tool: 'exit_process', isUsual: true },
  { database: 'embedded', postgresUrl: undefined, tool: 'throw_later', isUsual: false },
  { database: 'postgres', postgresUrl: SERVER, tool: 'exit_process', isUsual: false },
  { database: 'postgres', postgresUrl: SERVER, tool: 'throw_later', isUsual: true },
].filter(({ isUsual }) => isUsual || runsAll);

/** Deaths of a suspect next to others, before it runs alone for long enough: 250 ms, 500 ms, 1 s, 2 s; 4 s on a busy machine. */
const UNCLEAR_DEATHS = 5;

let scenario: Scenario | undefined;
afterEach(() => scenario?.close());

/** Plays the supervisor: restarts what has ended. Throws while a message is still in progress. */
async function untilAllOver(run: Scenario, gateway: GatewayProcess): Promise<void> {
  if (!gateway.running) {
    await gateway.kill();
    gateway.start();
  }
  expect(await run.read(pendingCount)).toBe(0);
}

describe.each(CASES)('a message that ends the process ($tool, $database)', ({ postgresUrl, tool }) => {
  it('is reported once, and nine that were in progress with it are answered', async () => {
    const run = (scenario = await startScenario({ postgresUrl }));
    const { ollama, gateways } = run;
    // However late each begins, all nine are in progress at the first death.
    const unfinished = { text: ANSWER, failure: { kind: 'hang', after: 2 } } as const;
    ollama.answer(unfinished, { when: 'innocent', times: INNOCENTS.length });
    ollama.answer({ text: ANSWER, perSecond: 4 }, { when: 'innocent', times: Infinity });
    ollama.answer({ toolCalls: [{ name: tool, args: {} }] }, { when: 'poison', times: Infinity });
    const gateway = gateways[0]!;
    gateway.start();
    const url = await gateway.url();
    for (const session of INNOCENTS) await say(url, session, 'innocent');
    await vi.waitFor(() => expect(ollama.active).toBe(INNOCENTS.length), { timeout: 20_000 });
    await say(url, 'poison', 'poison');
    await vi.waitFor(() => untilAllOver(run, gateway), { timeout: 240_000, interval: 200 });
    // Until it is alone for longer than it takes to end the process, others run next to it and no death is
    // conclusive.
    const deaths = gateway.exits.length;
    expect(deaths).toBeGreaterThanOrEqual(SUSPECT_CRASHES + MAX_LONE_CRASHES);
    expect(deaths).toBeLessThanOrEqual(SUSPECT_CRASHES + UNCLEAR_DEATHS + MAX_LONE_CRASHES);
    const now = await gateway.url();
    const said = await Promise.all(INNOCENTS.map((session) => answers(now, session)));
    expect(said).toEqual(INNOCENTS.map(() => [ANSWER]));
    expect(await answers(now, 'poison')).toEqual([
      expect.stringMatching(new RegExp(`^Sorry, .*crashed ${deaths} times`, 'u')),
    ]);
  }, 300_000);
});
