/** A gateway killed in the middle of an answer on Matrix: nothing is lost, and nothing is on screen twice. */
import { expect, it, vi } from 'vitest';
import { describeKilledOn, LONG, MINUTES, type Started, words } from '../killed.ts';

async function chatOf({ scenario: { matrix }, place }: Started) {
  await vi.waitFor(() => expect(matrix.confirmed).toBeGreaterThan(0), LONG);
  const room = matrix.rooms.find(place.chatId);
  const says = (text: string) => matrix.says(room, text, matrix.rooms.person('Ada'));
  return { says, screen: () => matrix.screen(room) };
}

describeKilledOn('matrix', { name: 'Matrix', chatOf }, (start) => {
  it(
    'finishes a message whose answer from the homeserver came too late to be stored, and sends no second one',
    async () => {
      const { scenario, gateway, says, screen } = await start();
      const held = Promise.withResolvers<void>();
      scenario.matrix.failures.push({ kind: 'late', until: held.promise, match: /\/send\// });
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
});
