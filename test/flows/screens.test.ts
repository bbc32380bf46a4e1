/** One planned turn with subagents as users see it: in a Telegram chat, in a Discord chat, and on the page. */
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { write } from '../channels/http/page/browser/browser.ts';
import { describePage } from '../channels/http/page/browser/describe-page.ts';
import type { FakeToolCall } from '../fakes/ollama/ollama.ts';
import { ANALYSIS, PLAN } from '../fakes/gateway/planned-turn.ts';
import { type GatewayFixture, openGatewayFixture, OWNER, WAIT } from './setup.ts';

const PERSON = '7001';
const SLOW = { ...WAIT, timeout: 30_000 };

const tick = (index: number): FakeToolCall => ({
  name: 'todo',
  args: { action: 'update', index, status: 'done' },
});
const spawn = (task: string, background = false): FakeToolCall => ({
  name: 'spawn_agent',
  args: { task, background },
});

describe('a planned turn with subagents', () => {
  let fixture: GatewayFixture;
  beforeAll(async () => {
    const enabled = ['list_dir', 'todo', 'spawn_agent'];
    const access = { telegram: { allow: [PERSON] } };
    fixture = await openGatewayFixture({
      telegram: true,
      discord: true,
      file: { access, tools: { enabled } },
    });
    const folder = path.join(fixture.home, 'profiles', 'planner');
    await mkdir(folder, { recursive: true });
    const profile = { planningEnabled: true, enabledTools: enabled };
    await writeFile(path.join(folder, 'config.json'), JSON.stringify(profile));
    await vi.waitFor(async () => {
      const models = await (await fixture.call('/v1/models')).json();
      if (!JSON.stringify(models).includes('"planner"')) throw new Error('the profile is not read yet');
    }, SLOW);
  });
  afterAll(() => fixture.close());

  /** What the model does with `tag`: plans, ticks, waits for a subagent, starts one in the background, answers. */
  const play = (tag: string): void => {
    const say = (
      answer: Parameters<GatewayFixture['ollama']['answer']>[0],
      when: string | RegExp = `bake ${tag}`,
    ): void => fixture.ollama.answer(answer, { when });
    say(ANALYSIS);
    say(PLAN);
    say({ text: 'I looked.', toolCalls: [tick(1)] });
    say({ toolCalls: [spawn(`knead for ${tag}`)] });
    say({ text: 'Kneaded.', hold: true }, `knead for ${tag}`);
    say({ toolCalls: [tick(2), spawn(`cool down for ${tag}`, true)] });
    say({ toolCalls: [tick(3)] });
    say('There is bread.');
    say({ text: 'Cold now.', hold: true }, `cool down for ${tag}`);
    const report = new RegExp(`Report of the subagent[^]*cool down for ${tag}`);
    say('DIRECT', report);
    say('The bread is cool.', report);
  };

  /** Follows the turn of `tag` on a screen; `screen` gives its texts, oldest first. */
  const follow = async (
    tag: string,
    screen: () => Promise<string[]> | string[],
    subagent: RegExp,
  ): Promise<void> => {
    const shows = (what: RegExp): Promise<void> =>
      vi.waitFor(async () => expect((await screen()).join('\n')).toMatch(what), SLOW);
    await shows(/Look around[^]*Knead[^]*Bake/);
    await shows(subagent);
    (await fixture.modelCall(`knead for ${tag}`)).release();
    await shows(/There is bread\./);
    (await fixture.modelCall(`cool down for ${tag}`)).release();
    await shows(/The bread is cool\./);
  };

  /**
   * What follows the greeting when everything is over. A model slow to plan is seen thinking first: then the card is
   * below.
   */
  const expectDone = ([, ...texts]: string[]): void => {
    const ticked = /✔[^\n]*Look around[^]*✔[^\n]*Knead[^]*✔[^\n]*Bake/;
    expect(texts.filter((text) => ticked.test(text))).toHaveLength(1);
    const answers = texts.filter((text) => !ticked.test(text));
    expect(answers).toEqual([
      'I looked.\n\nThere is bread.',
      // The card of the background agent is the head of its report.
      expect.stringMatching(/^◆ planner has finished: cool down for \w+$/),
      'The bread is cool.',
    ]);
  };

  it.concurrent('ticks on its card in a Telegram chat, shows the subagent at work, and reports the background one later (N-27, N-56, B-34)', async () => {
    const screen = (): string[] => fixture.telegram.screen(PERSON);
    fixture.telegram.says(PERSON, 'hello', PERSON);
    await vi.waitFor(() => expect(screen()).toHaveLength(1), SLOW);
    await fixture.store.ledger.updateSession(`telegram:${PERSON}`, { profileId: 'planner' });
    play('ada');
    fixture.telegram.says(PERSON, 'bake ada', PERSON);
    await follow('ada', screen, /◆ planner: knead for ada/);
    await fixture.idle(`telegram:${PERSON}`);
    expectDone(screen());
  }, 90_000);

  it.concurrent('ticks on its card in a Discord chat, shows the subagent at work, and reports the background one later (N-27, N-56, B-34)', async () => {
    const { channel, person } = fixture.discord.dm();
    const bot = (): string[] => {
      const seen = fixture.discord.visible(channel);
      return fixture.discord.screen(channel).filter((_, index) => seen[index]?.author.bot === true);
    };
    await fixture.store.access.addGrant('discord', 'dm', person.id);
    fixture.discord.says(channel, 'hello', person);
    await vi.waitFor(() => expect(bot()).toHaveLength(1), SLOW);
    await fixture.store.ledger.updateSession(`discord:${channel.id}`, { profileId: 'planner' });
    play('dee');
    fixture.discord.says(channel, 'bake dee', person);
    await follow('dee', bot, /◆ planner: knead for dee/);
    await fixture.idle(`discord:${channel.id}`);
    expectDone(bot());
  }, 90_000);

  describePage('on the page', (tab) => {
    it('ticks on its card, shows the subagent at work, and reports the background one later (N-27, N-56, B-34)', async () => {
      const page = await tab.open(fixture.gateway.url, { token: OWNER });
      await write(page, 'hello');
      await page.locator('.md', { hasText: 'echo: hello' }).waitFor();
      const [session] = (await (await fixture.call('/v1/sessions')).json()).sessions;
      await fixture.store.ledger.updateSession(session.key, { profileId: 'planner' });
      play('pat');
      await write(page, 'bake pat');
      const screen = async (): Promise<string[]> => [await page.locator('main.chat').innerText()];
      const seen = follow('pat', screen, /Knead[^]*knead for pat/);
      await page.getByText('knead for pat').first().waitFor();
      await tab.screenshot('plan-running');
      await seen;
      await page.locator('.plan-count', { hasText: '3 of 3' }).waitFor();
      await tab.screenshot('plan-done');
      fixture.ollama.answer('Ding.', { when: 'Ring for pat' });
      const at = new Date(Date.now() + 1_500).toISOString();
      const made = await fixture.call('/v1/schedules', {
        json: { session: session.key, task: 'Ring for pat', at },
      });
      expect(made.ok).toBe(true);
      await page.locator('.md', { hasText: 'Ding.' }).waitFor({ timeout: 30_000 });
      await tab.screenshot('scheduled');
    }, 90_000);
  });
});
