/** `/plan`: the plan first, and its run when a user wants it, on each channel. */
import { expect, it, vi } from 'vitest';
import type { Plan } from '../../../src/protocol/agent/plan.ts';
import type { PlanRecord } from '../../../src/protocol/agent/plan-store.ts';
import { lastUserText } from '../../fakes/model/spoken-text.ts';
import { describeGateway, FRIENDS, type GatewayFixture, WAIT } from '../setup.ts';
import { discordParticipant, telegramParticipant } from './plan-participants.ts';
import type { Participant } from './plan-chat.ts';

const people = FRIENDS.values();

/** What the model says when this is planned: an analysis and three steps. */
function plansFor({ ollama }: GatewayFixture, tag: string): void {
  ollama.answer('Three things.\nREFLECT: no', { when: tag });
  ollama.answer(`Steps\n1. [SELF] Wash ${tag}\n2. [SELF] Dry ${tag}\n3. [SELF] Paint ${tag}`, { when: tag });
}

/** How often the model was asked to do a step. */
function stepsDone({ ollama }: GatewayFixture, tag: string): string[] {
  return ollama.calls.flatMap(({ body }) => {
    const asked = lastUserText(body);
    // Results of earlier steps repeat their requests.
    const [, step] = [...asked.matchAll(/Do this step now, and none of the others: (.*)/g)].at(-1) ?? [];
    return step !== undefined && asked.includes(tag) ? [step.replace(` ${tag}`, '')] : [];
  });
}

const card = (chat: Participant) => chat.seen().filter(({ text }) => text.startsWith('Plan: '));
const shows = (chat: Participant, what: RegExp): Promise<void> =>
  vi.waitFor(
    () =>
      expect(
        chat
          .seen()
          .map(({ text }) => text)
          .join('\n'),
      ).toMatch(what),
    WAIT,
  );
const latest = async ({ store }: GatewayFixture, session: PlanRecord['session']): Promise<Plan> => {
  const record = await store.plans.latestPlan(session);
  if (record === undefined) throw new Error('there is no plan');
  return record.plan;
};

describeGateway(
  'a plan that is created first and run later',
  {
    telegram: true,
    discord: true,
    file: { access: { telegram: { allow: FRIENDS } } },
  },
  (fixture) => {
    const onTelegram = (): Participant => telegramParticipant(fixture(), people.next().value);
    const onDiscord = (): Promise<Participant> => discordParticipant(fixture());

    it.each([
      ['Telegram', async () => onTelegram(), /2 drop/, /Reply to this message/],
      // Discord shows a form with the steps.
      ['Discord', onDiscord, /2: Dry the Discord fence/, /None of this plan has run yet/],
    ])(
      'on %s stops with a card, is changed, run with a button, and run again',
      async (name, join, help, told) => {
        const chat = await join();
        const tag = `the ${name} fence`;
        plansFor(fixture(), tag);
        chat.says(`/plan paint ${tag}`);
        await shows(chat, /None of this plan has run yet/);
        await fixture().idle(chat.session);
        expect(card(chat)).toEqual([
          {
            text: expect.stringMatching(/3 steps · not started[^]*1\. Wash[^]*2\. Dry[^]*3\. Paint/),
            buttons: ['Run', 'Step by step', 'Edit', 'Cancel'],
          },
        ]);
        expect(stepsDone(fixture(), tag)).toEqual([]);
        expect(await latest(fixture(), chat.session)).toMatchObject({
          state: 'stored',
          goal: `paint ${tag}`,
        });
        const edit = await chat.press('Edit');
        expect(edit).toMatch(help);
        await shows(chat, told);

        chat.says('/plan edit 2 drop; 3 before 1');
        await shows(chat, /The plan has been changed/);
        await vi.waitFor(
          () => expect(card(chat)[0]?.text).toMatch(/2 steps · not started[^]*1\. Paint[^]*2\. Wash/),
          WAIT,
        );

        expect(await chat.press('Run')).toBe('Running the plan.');
        await vi.waitFor(() => expect(stepsDone(fixture(), tag)).toEqual(['Paint', 'Wash']), WAIT);
        await shows(chat, /echo: Run the plan/);
        await fixture().idle(chat.session);
        const [stored, run] = card(chat);
        expect(stored).toMatchObject({
          text: expect.stringContaining('run once'),
          buttons: ['Run again', 'Step by step', 'Edit', 'Cancel'],
        });
        expect(run).toMatchObject({
          text: expect.stringMatching(/Completed · 2 of 2 steps done/),
          buttons: [],
        });

        chat.says('/plan run 1 agentic');
        await vi.waitFor(() => expect(stepsDone(fixture(), tag)).toHaveLength(4), WAIT);
        await fixture().idle(chat.session);
        expect(card(chat)).toHaveLength(3);
        chat.says('/plans');
        await shows(chat, new RegExp(`paint ${tag} \\(2 steps, run 2 times\\)`));
      },
    );
  },
);
