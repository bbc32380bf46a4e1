/** A gateway killed in the middle of an answer on Slack: nothing is lost, and nothing is on screen twice. */
import { describe, expect, it, vi } from 'vitest';
import { textOf } from '../../../fakes/slack/slack.ts';
import { DATABASES, gatewaysOn, killWhileAnswering, LONG, MINUTES } from '../killed.ts';

describe.each(DATABASES)(
  'a gateway killed while it answers on Slack, on $database',
  ({ postgresUrl, isHere }) => {
    const startOne = gatewaysOn('slack');
    const start = async () => {
      const { scenario, gateway, place } = await startOne(postgresUrl);
      const { slack } = scenario;
      await vi.waitFor(() => expect(slack.socketMode.open).toBe(1), LONG);
      const chat = slack.workspace.chat(place.chatId);
      const { threadId = '' } = place;
      const says = (text: string) =>
        slack.says(chat, text, slack.workspace.person('Ada'), { threadTs: threadId });
      const screen = (): string[] => slack.visible(chat).map((message) => textOf(message));
      return { scenario, gateway, slack, says, screen };
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
      'sends no second message when the answer of Slack came too late to be stored',
      async () => {
        const { scenario, gateway, slack, says, screen } = await start();
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
  },
);
