/** A gateway killed in the middle of an answer on Slack: nothing is lost, and nothing is on screen twice. */
import { expect, it, vi } from 'vitest';
import { textOf } from '../../../fakes/slack/slack.ts';
import { describeKilledOn, LONG, MINUTES, type Started } from '../killed.ts';

async function chatOf({ scenario: { slack }, place }: Started) {
  await vi.waitFor(() => expect(slack.socketMode.open).toBe(1), LONG);
  const chat = slack.workspace.chat(place.chatId);
  const { threadId = '' } = place;
  const says = (text: string) =>
    slack.says(chat, text, slack.workspace.person('Ada'), { threadTs: threadId });
  return { says, screen: () => slack.visible(chat).map((message) => textOf(message)) };
}

describeKilledOn('slack', { name: 'Slack', chatOf }, (start) => {
  it(
    'sends no second message when the answer of Slack came too late to be stored',
    async () => {
      const { scenario, gateway, says, screen } = await start();
      const { slack } = scenario;
      scenario.ollama.answer('first', { when: 'known' });
      says('known');
      await vi.waitFor(() => expect(screen()).toEqual(['first']), LONG);
      const held = Promise.withResolvers<void>();
      slack.failures.push({ kind: 'late', until: held.promise, match: /^chat\.postMessage$/ });
      scenario.ollama.answer('once', { when: 'how often' });
      says('how often');
      await vi.waitFor(() => expect(screen().length).toBe(2), LONG);
      await gateway.kill();
      held.resolve();
      scenario.ollama.answer('once', { when: 'how often' });
      gateway.start();
      await gateway.url();
      await vi.waitFor(() => expect(screen()).toEqual(['first', 'once']), LONG);
      await vi.waitFor(async () => expect(slack.socketMode.waiting).toBe(0), LONG);
      expect(screen()).toEqual(['first', 'once']);
    },
    MINUTES,
  );
});
