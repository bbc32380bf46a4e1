/**
 * A plan whose failed step is corrected, in a Telegram and in a Discord chat: at every moment the card matches the
 * stored plan.
 */
import { beforeAll, expect, it } from 'vitest';
import type { CorrectionAction } from '../../../src/protocol/agent/plan.ts';
import type { Reply } from '../../fakes/ollama/ollama.ts';
import type { ReadCard } from '../../fakes/gateway/read-card.ts';
import { describeGateway, FRIENDS } from '../setup.ts';
import { openWorkshop, type Participant, PlanChat, Workshop } from './plan-chat.ts';
import { discordParticipant, telegramParticipant } from './plan-participants.ts';

const shop = new Workshop();
const file = { access: { telegram: { allow: FRIENDS } } };

/** What the model says about the failed step, and what it is asked after that, up to its last words. */
interface Play {
  action: CorrectionAction;
  script: (planned: PlanChat) => Reply[];
  /** The steps of the last card: mark, number, words, attempt, why. */
  last: string[];
  /** What the card says in between, in this order. */
  between: RegExp;
  /** The passing notes of the card while the model or a tool waits, by the number of that moment. */
  notes?: Record<number, string>;
}

const decide = (correction: object): Reply => ({ text: JSON.stringify(correction) });
const PLAYS: Play[] = [
  {
    action: 'retry',
    script: (planned) => [decide({ action: 'retry', reason: 'it was busy' }), planned.work(), planned.work()],
    last: ['done 1. Wash (2) it was busy', 'done 2. Paint (1) '],
    between: /failed 1\. .*⚡ Step 1 failed.*running 1\. Wash \(2\) it was busy.*Retrying step 1\./s,
    notes: { 3: 'Retrying step 1.' },
  },
  {
    action: 'modify',
    script: (planned) => [
      decide({
        action: 'modify',
        reason: 'more gently',
        command: { tool: 'work', args: { name: `${planned.tag} gently` } },
      }),
      planned.work(),
    ],
    last: ['done 1. Wash (2) more gently', 'done 2. Paint (1) '],
    between: /failed 1\. .*⚡ Step 1 failed.*running 1\. Wash \(2\) more gently.*running 2\. Paint/s,
  },
  {
    action: 'insert_steps',
    script: (planned) => [
      decide({
        action: 'insert_steps',
        reason: 'no soap',
        newSteps: [{ description: 'Buy soap', tool: 'work', args: { name: `soap for ${planned.tag}` } }],
      }),
      planned.work(),
      planned.work(),
    ],
    last: ['done 1. Buy soap (1) no soap', 'done 2. Wash (2) ', 'done 3. Paint (1) '],
    between:
      /failed 1\. Wash.*⚡ Step 1 failed.*running 1\. Buy soap \(1\) no soap\s+pending 2\. Wash.*running 2\. Wash \(2\)/s,
  },
  {
    action: 'skip',
    script: (planned) => [decide({ action: 'skip', reason: 'clean enough' }), planned.work()],
    last: ['skipped 1. Wash (1) clean enough', 'done 2. Paint (1) '],
    between: /failed 1\. .*⚡ Step 1 failed.*skipped 1\. Wash \(1\) clean enough\s+running 2\. Paint/s,
  },
  {
    action: 'abort',
    script: () => [decide({ action: 'abort', reason: 'there is no water' })],
    last: ['failed 1. Wash (1) ', 'pending 2. Paint (1) '],
    between: /failed 1\. .*⚡ Step 1 failed.*cancelled.*there is no water/s,
  },
];

const stepsOf = ({ steps }: ReadCard): string[] =>
  steps.map(
    ({ mark, number, description, attempt, revision = '' }) =>
      `${mark} ${number}. ${description} (${attempt}) ${revision}`,
  );
const told = (card: ReadCard): string =>
  [card.state, ...stepsOf(card), card.reason ?? '', card.note ?? ''].join('\n');

describeGateway(
  'a corrected plan',
  { telegram: true, discord: true, file, tools: [shop.tool()] },
  (fixture) => {
    beforeAll(() => openWorkshop(fixture(), shop));

    /** Plays it to its end; returns what is on screen then, and what was in between. */
    async function play(participant: Participant, { action, script, notes }: Play) {
      const planned = new PlanChat(
        fixture(),
        shop,
        participant,
        `the ${action} of ${participant.session.split(':')[0]}`,
      );
      shop.fails.set(planned.tag, 1);
      await planned.begin('agentic', [planned.work(), ...script(planned), { text: 'That was it.' }]);
      await planned.follow(undefined, { ...notes, 2: '⚡ Step 1 failed; thinking about what to do…' });
      await fixture().idle(participant.session);
      const card = await planned.settled();
      return {
        state: card.state,
        left: card.left,
        steps: stepsOf(card),
        buttons: planned.card().buttons,
        between: planned.cards.map(told).join('\n\n'),
        answer: participant.seen().at(-1)?.text,
      };
    }
    const endOf = ({ action, last, between }: Play) => ({
      state: action === 'abort' ? 'cancelled' : 'completed',
      left: action === 'abort' ? undefined : 9,
      steps: last,
      buttons: [],
      between: expect.stringMatching(between),
      answer: 'That was it.',
    });

    it.concurrent.each(PLAYS)(
      'is shown in a Telegram chat as it is stored, at every moment: $action (S-12, S-35, S-48)',
      async (one) => {
        expect(await play(telegramParticipant(fixture(), FRIENDS[PLAYS.indexOf(one)]), one)).toEqual(
          endOf(one),
        );
      },
    );

    it.concurrent.each(PLAYS)(
      'is shown in a Discord chat as it is stored, at every moment: $action (S-12, S-35, S-48)',
      async (one) => {
        expect(await play(await discordParticipant(fixture()), one)).toEqual(endOf(one));
      },
    );
  },
);
