/** A gateway killed in the middle of an answer on Matrix: nothing is lost, and nothing is on screen twice. */
import { describe, expect, it, vi } from 'vitest';
import { DATABASES, gatewaysOn, killWhileAnswering, LONG, MINUTES, words } from '../killed.ts';

describe.each(DATABASES)(
  'a gateway killed while it answers on Matrix, on $database',
  ({ postgresUrl, isHere }) => {
    const startOne = gatewaysOn('matrix');
    const start = async () => {
      const { scenario, gateway, place } = await startOne(postgresUrl);
      const { matrix } = scenario;
      await vi.waitFor(() => expect(matrix.confirmed).toBeGreaterThan(0), LONG);
      const room = matrix.rooms.find(place.chatId);
      const says = (text: string) => matrix.says(room, text, matrix.rooms.person('Ada'));
      return { scenario, gateway, matrix, says, screen: () => matrix.screen(room) };
    };

    it.skipIf(!isHere)(
      'finishes the answer in the existing message, and reads what was said in the meantime',
      async () => {
        const started = await start();
        const whole = await killWhileAnswering(started);
        await vi.waitFor(() => expect(started.screen()).toEqual(whole), LONG);
      },
      MINUTES,
    );

    it.skipIf(!isHere)(
      'finishes a message whose answer from the homeserver came too late to be stored, and sends no second one',
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
