/** A gateway killed in the middle of an answer on Matrix: nothing is lost, and nothing is on screen twice. */
import { afterEach, describe, expect, it, vi } from 'vitest';
import { startScenario } from '../../../crash/scenario.ts';
import type { Scenario } from '../../../crash/scenario.ts';

const SERVER = process.env['DATABASE_URL'];
const LONG = { timeout: 60_000, interval: 50 };
/** Three starts of a gateway, each of which may take its time. */
const MINUTES = 180_000;
const DATABASES = [
  { database: 'embedded', postgresUrl: undefined, isHere: process.env['ONLY_DATABASE'] !== 'postgres' },
  { database: 'postgres', postgresUrl: SERVER, isHere: SERVER !== undefined },
];
const words = (count: number): string => Array.from({ length: count }, (_, n) => `word${n}`).join(' ');

let open: Scenario | undefined;
afterEach(() => open?.close());

describe.each(DATABASES)(
  'a gateway killed while it answers on Matrix, on $database',
  ({ postgresUrl, isHere }) => {
    const start = async () => {
      const scenario = (open = await startScenario({ postgresUrl, sessions: { matrix: 1 } }));
      const [gateway] = scenario.gateways;
      const [place] = scenario.places;
      if (gateway === undefined || place === undefined)
        throw new Error('a scenario has a gateway and a place');
      gateway.start();
      await gateway.url();
      const { matrix } = scenario;
      await vi.waitFor(() => expect(matrix.confirmed).toBeGreaterThan(0), LONG);
      const room = matrix.rooms.find(place.chatId);
      const says = (text: string) => matrix.says(room, text, matrix.rooms.person('Ada'));
      const screen = (): string[] => matrix.screen(room);
      return { scenario, gateway, matrix, says, screen };
    };

    it.skipIf(!isHere)(
      'finishes the answer in the message that is there, and reads what was said meanwhile',
      async () => {
        const { scenario, gateway, says, screen } = await start();
        scenario.ollama.answer({ text: words(200), perSecond: 20 }, { when: 'tell me' });
        says('tell me');
        await vi.waitFor(() => expect(screen().join('')).toContain('word9'), LONG);
        await gateway.kill();
        scenario.ollama.answer(words(200), { when: 'tell me' });
        scenario.ollama.answer('The second answer.', { when: 'said while it was dead' });
        says('said while it was dead');
        gateway.start();
        await gateway.url();
        await vi.waitFor(() => expect(screen()).toEqual([words(200), 'The second answer.']), LONG);
      },
      MINUTES,
    );

    it.skipIf(!isHere)(
      'finishes a message whose answer from the homeserver came too late to be kept, and sends no second one',
      async () => {
        const { scenario, gateway, matrix, says, screen } = await start();
        const held = Promise.withResolvers<void>();
        matrix.failures.push({ kind: 'late', until: held.promise, match: /\/send\// });
        scenario.ollama.answer({ text: words(200), perSecond: 20 }, { when: 'how often' });
        says('how often');
        await vi.waitFor(() => expect(screen()).toHaveLength(1), LONG);
        await gateway.kill();
        held.resolve();
        scenario.ollama.answer('all of it', { when: 'how often' });
        gateway.start();
        await gateway.url();
        await vi.waitFor(() => expect(screen()[0]).toBe('all of it'), LONG);
        scenario.ollama.answer('last', { when: 'and now' });
        says('and now');
        await vi.waitFor(() => expect(screen().at(-1)).toBe('last'), LONG);
        expect(screen()).toHaveLength(2);
      },
      MINUTES,
    );
  },
);
