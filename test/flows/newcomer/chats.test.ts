/**
 * A newcomer on Telegram and Discord, without any configuration: a plan, a page, a subagent, an approval, and a file to
 * download.
 */
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { type FakeWebsite, startFakeWebsite } from '../../fakes/network/web-pages.ts';
import { discordParticipant, telegramParticipant } from '../plans/plan-participants.ts';
import type { Participant } from '../plans/plan-chat.ts';
import { describeGateway, WAIT } from '../setup.ts';
import { askForThreeSteps, scriptThreeSteps } from './three-steps.ts';

let website: FakeWebsite;
beforeAll(async () => {
  website = await startFakeWebsite();
});
afterAll(() => website.close());

const options = { telegram: true, discord: true, file: {}, reachable: () => [website.origin] };

describeGateway('a newcomer without any configuration', options, (fixture) => {
  const onTelegram = async (): Promise<Participant> => {
    await fixture().store.access.addGrant('telegram', 'dm', '7001');
    return telegramParticipant(fixture(), '7001');
  };
  const onDiscord = (): Promise<Participant> => discordParticipant(fixture());

  /** What people see, files included. */
  const shown = (chat: Participant): string[] =>
    chat.session.startsWith('telegram')
      ? fixture().telegram.screen('7001')
      : chat.seen().map(({ text }) => text);

  it.each([
    ['Telegram', onTelegram, '[document telegram-prices.md]'],
    ['Discord', onDiscord, '[file discord-prices.md]'],
  ])(
    'on %s sees the plan tick, approves what a page has led to, and gets the file',
    async (name, join, sent) => {
      const chat = await join();
      const tag = `${name.toLowerCase()} prices`;
      const texts = () => chat.seen().map(({ text }) => text);
      const card = () => chat.seen().find(({ text }) => text.startsWith('Plan: '))?.text;
      scriptThreeSteps(fixture().ollama, website, { tag });
      chat.says(askForThreeSteps(website, tag));
      await vi.waitFor(() => expect(texts().join('\n')).toMatch(/May I do this[\s\S]*\/rye/), WAIT);
      await vi.waitFor(() => expect(card()).toMatch(/1 of 3/), WAIT);
      expect(await chat.press('Approve')).toContain('Approved');
      await vi.waitFor(
        () => expect(texts().join('\n')).toContain('Bread costs 3 euros and rye 4 euros'),
        WAIT,
      );
      await fixture().idle(chat.session);
      expect(shown(chat)).toContain(sent);
      expect(card()).toMatch(/Completed · 3 of 3/);
    },
  );
});
