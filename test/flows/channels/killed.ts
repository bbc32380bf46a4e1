/**
 * A gateway in a separate process, killed in the middle of an answer: what the tests of editing channels have in
 * common.
 */
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { GatewayProcess } from '../../crash/gateways.ts';
import type { Place } from '../../crash/places.ts';
import { type Scenario, startScenario } from '../../crash/scenario.ts';
import { serverUrl } from '../../database.ts';

export const LONG = { timeout: 60_000, interval: 50 };
/** Three starts of a gateway, each of which may take a while. */
export const MINUTES = 180_000;

export const words = (count: number): string => Array.from({ length: count }, (_, n) => `word${n}`).join(' ');

/** The chat that a person has with the bot. */
interface Chat {
  says: (text: string) => unknown;
  /** The bot's messages, oldest first. */
  screen: () => string[];
}

export interface Started {
  scenario: Scenario;
  gateway: GatewayProcess;
  place: Place;
}

/** A gateway that runs, and the chat of a person with it. */
type StartedChat = Pick<Started, 'scenario' | 'gateway'> & Chat;

/**
 * Describes a gateway that is killed while it answers on a channel: that it finishes the answer, and
 * the further `tests`. `chatOf` waits until the channel is connected and finds its chat.
 */
export function describeKilledOn(
  channel: 'slack' | 'matrix',
  { name, chatOf }: { name: string; chatOf: (started: Started) => Promise<Chat> },
  tests: (start: () => Promise<StartedChat>) => void,
): void {
  describe(`a gateway killed while it answers on ${name}`, () => {
    let open: Scenario | undefined;
    afterEach(() => open?.close());
    const start = async (): Promise<StartedChat> => {
      const scenario = (open = await startScenario({ postgresUrl: serverUrl(), sessions: { [channel]: 1 } }));
      const [gateway] = scenario.gateways;
      const [place] = scenario.places;
      if (gateway === undefined || place === undefined)
        throw new Error('a scenario has a gateway and a place');
      gateway.start();
      await gateway.url();
      return { scenario, gateway, ...(await chatOf({ scenario, gateway, place })) };
    };

    it(
      'finishes the answer in the existing message, and reads what was said in the meantime',
      async () => {
        const started = await start();
        const whole = await killWhileAnswering(started);
        await vi.waitFor(() => expect(started.screen()).toEqual(whole), LONG);
      },
      MINUTES,
    );

    tests(start);
  });
}

/**
 * Kills it in the middle of an answer, writes in the meantime, and restarts it; returns what must be on screen in the
 * end.
 */
async function killWhileAnswering({ scenario, gateway, says, screen }: StartedChat): Promise<string[]> {
  scenario.ollama.answer({ text: words(200), perSecond: 20 }, { when: 'tell me' });
  says('tell me');
  await vi.waitFor(() => expect(screen().join('')).toContain('word9'), LONG);
  await gateway.kill();
  scenario.ollama.answer(words(200), { when: 'tell me' });
  scenario.ollama.answer('The second answer.', { when: 'said while it was dead' });
  says('said while it was dead');
  gateway.start();
  await gateway.url();
  return [words(200), 'The second answer.'];
}
