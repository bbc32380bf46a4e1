/**
 * A gateway in a separate process, killed in the middle of an answer: what the tests of editing channels have in
 * common.
 */
import { afterEach, expect, vi } from 'vitest';
import type { GatewayProcess } from '../../crash/gateways.ts';
import type { Place } from '../../crash/places.ts';
import { startScenario } from '../../crash/scenario.ts';
import type { Scenario } from '../../crash/scenario.ts';

const SERVER = process.env['DATABASE_URL'];
export const LONG = { timeout: 60_000, interval: 50 };
/** Three starts of a gateway, each of which may take a while. */
export const MINUTES = 180_000;
export const DATABASES = [
  { database: 'embedded', postgresUrl: undefined, isHere: process.env['ONLY_DATABASE'] !== 'postgres' },
  { database: 'postgres', postgresUrl: SERVER, isHere: SERVER !== undefined },
];

export const words = (count: number): string => Array.from({ length: count }, (_, n) => `word${n}`).join(' ');

/** The chat that a person has with the bot. */
interface Chat {
  says: (text: string) => unknown;
  /** The bot's messages, oldest first. */
  screen: () => string[];
}

interface Started {
  scenario: Scenario;
  gateway: GatewayProcess;
  place: Place;
}

/** Returns a function that starts a gateway with one chat on a channel; it ends with the test. */
export function gatewaysOn(
  channel: 'slack' | 'matrix',
): (postgresUrl: string | undefined) => Promise<Started> {
  let open: Scenario | undefined;
  afterEach(() => open?.close());
  return async (postgresUrl) => {
    const scenario = (open = await startScenario({ postgresUrl, sessions: { [channel]: 1 } }));
    const [gateway] = scenario.gateways;
    const [place] = scenario.places;
    if (gateway === undefined || place === undefined) throw new Error('a scenario has a gateway and a place');
    gateway.start();
    await gateway.url();
    return { scenario, gateway, place };
  };
}

/**
 * Kills it in the middle of an answer, writes in the meantime, and restarts it; returns what must be on screen in the
 * end.
 */
export async function killWhileAnswering({
  scenario,
  gateway,
  says,
  screen,
}: Omit<Started, 'place'> & Chat): Promise<string[]> {
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
