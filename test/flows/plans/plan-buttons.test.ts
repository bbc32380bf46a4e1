/** The buttons under a plan's card, pressed on both platforms; and changes from elsewhere, seen on its card. */
import { beforeAll, expect, it } from 'vitest';
import type { ExecutionMode } from '../../../src/protocol/agent/plan.ts';
import type { Reply } from '../../fakes/ollama/ollama.ts';
import { describeGateway, FRIENDS } from '../setup.ts';
import { openWorkshop, type Participant, PlanChat, Workshop } from './plan-chat.ts';
import { answerOn, discordParticipant, telegramParticipant } from './plan-participants.ts';

const shop = new Workshop();
const people = FRIENDS.toReversed().values();
const GROUP = '-1009007';
const file = { access: { telegram: { allow: FRIENDS, groups: { [GROUP]: { mention: false } } } } };
const PARTICIPANTS = ['Telegram', 'Discord'] as const;

describeGateway(
  'the buttons of a plan',
  { telegram: true, discord: true, file, tools: [shop.tool()] },
  (fixture) => {
    beforeAll(() => openWorkshop(fixture(), shop));

    let opened = 0;
    /** A running plan of two steps; `script` is what the model says between the plan and its last words. */
    async function open(
      participant: Participant,
      script: (planned: PlanChat) => Reply[],
      mode: ExecutionMode = 'agentic',
    ) {
      opened += 1;
      const planned = new PlanChat(fixture(), shop, participant, `chore ${opened} of the gateway`);
      await planned.begin(mode, [...script(planned), { text: 'That was it.' }]);
      return planned;
    }
    const friend = (): Participant => telegramParticipant(fixture(), people.next().value);
    const participantOn = async (platform: (typeof PARTICIPANTS)[number]): Promise<Participant> =>
      platform === 'Telegram' ? friend() : await discordParticipant(fixture());
    const both = (planned: PlanChat): Reply[] => [planned.work(), planned.work()];
    /** Continues until the tool runs for the first time. */
    const atWork = async (planned: PlanChat) => {
      const gate = await planned.follow(({ what }) => what.startsWith('work'));
      if (gate === undefined) throw new Error('no step was begun');
      await planned.settled();
      return gate;
    };
    /** A plan that is paused after its first step. */
    async function paused(participant: Participant): Promise<PlanChat> {
      const planned = await open(participant, both);
      const gate = await atWork(planned);
      expect(await participant.press('Pause')).toBe('The plan will pause before its next step.');
      gate.release();
      expect(await planned.follow()).toBeUndefined();
      expect((await planned.settled()).state).toBe('paused');
      await planned.shows(/The plan is paused before step 2/);
      return planned;
    }
    const planId = async (planned: PlanChat): Promise<string> => (await planned.record())?.plan.id ?? '';
    const overHttp = async (planned: PlanChat, action: string): Promise<number> =>
      (await fixture().call(`/v1/plans/${await planId(planned)}/${action}`, { method: 'POST' })).status;
    const marks = (planned: PlanChat) => planned.settled().then(({ steps }) => steps.map(({ mark }) => mark));

    it.concurrent.each(PARTICIPANTS)(
      'pause it on %s, and Resume continues where it was: the card follows, and its buttons return',
      async (platform) => {
        const participant = await participantOn(platform);
        const planned = await paused(participant);
        expect(planned.card().buttons).toEqual([]);
        await participant.press('Resume');
        await planned.awake();
        const gate = await atWork(planned);
        expect(planned.card().buttons).toEqual(['Pause', 'Skip step 2', 'Stop']);
        gate.release();
        await planned.follow();
        await fixture().idle(participant.session);
        expect(await marks(planned)).toEqual(['done', 'done']);
        expect(planned.card().buttons).toEqual([]);
      },
    );

    it.concurrent.each(PARTICIPANTS)(
      'skip the running step on %s: it fails, and is not corrected (S-28)',
      async (platform) => {
        const participant = await participantOn(platform);
        const planned = await open(participant, both);
        shop.fails.set(planned.tag, 1);
        const gate = await atWork(planned);
        expect(planned.card().buttons).toEqual(['Pause', 'Skip step 1', 'Stop']);
        expect(await participant.press('Skip step 1')).toContain('If it fails, it is skipped');
        expect(await participant.press('Skip step 1')).toBe('Step 1 is already set to be skipped.');
        gate.release();
        await planned.follow();
        await fixture().idle(participant.session);
        expect(await marks(planned)).toEqual(['skipped', 'done']);
      },
    );

    it.concurrent.each(PARTICIPANTS)(
      'stop it on %s while a step runs: the card says so, and its buttons are gone (S-36)',
      async (platform) => {
        const participant = await participantOn(platform);
        const planned = await open(participant, both);
        await atWork(planned);
        expect(await participant.press('Stop')).toBe('The plan is stopped.');
        await fixture().idle(participant.session);
        expect(await planned.settled()).toMatchObject({ state: 'cancelled', reason: 'Stopped by the user.' });
        expect(await marks(planned)).toEqual(['failed', 'pending']);
        expect(planned.card().buttons).toEqual([]);
      },
    );

    it.concurrent('answer presses that are too late, from elsewhere, with other data or from strangers, and change nothing', async () => {
      const person = people.next().value ?? '';
      const participant = telegramParticipant(fixture(), person, GROUP);
      const planned = await open(participant, both);
      const gate = await atWork(planned);
      const id = await planId(planned);
      const presses = async (value: string, chat = GROUP, from = person): Promise<string> =>
        await answerOn(fixture(), fixture().telegram.presses(chat, from, value));
      const other = people.next().value ?? '';
      expect(await presses(`plan-stop:${id}`, other, other)).toContain('another chat');
      expect(await presses(`plan-stop:${id}`, '555', '555')).not.toContain('stopped');
      expect(await presses(`plan-stop:${id}-r1234`)).toContain('unknown');
      expect(await presses(`plan-stop:${id.replaceAll(/.$/g, 'z')}`)).toContain('no longer exists');
      expect(await presses(`plan-skip:${id}`)).toContain('unknown');
      expect(await presses(`plan-skip:${id}:s2`)).toContain('at another step');
      expect(await presses(`plan-explode:${id}`)).toContain('unknown');
      expect(await fixture().store.plans.planRequests(id)).toEqual({});
      gate.release();
      await planned.follow();
      await fixture().idle(participant.session);
      expect(await marks(planned)).toEqual(['done', 'done']);
      for (const late of [`plan-pause:${id}`, `plan-stop:${id}`, `plan-skip:${id}:s2`])
        expect(await presses(late)).toBe('This plan has ended.');
      expect(await fixture().store.plans.planRequests(id)).toEqual({});
    });

    it.concurrent.each([
      ['resume', 'completed', ['done', 'done'], undefined],
      ['stop', 'cancelled', ['done', 'pending'], 'Stopped by the user.'],
    ] as const)(
      'a paused plan that gets %s over HTTP is %s on the card of its chat',
      async (action, state, steps, why) => {
        const participant = friend();
        const planned = await paused(participant);
        expect(await overHttp(planned, action)).toBe(200);
        await planned.awake();
        await planned.follow();
        await fixture().idle(participant.session);
        expect(await planned.settled()).toMatchObject({ state, ...(why !== undefined && { reason: why }) });
        expect(await marks(planned)).toEqual(steps);
        expect(planned.card().buttons).toEqual([]);
      },
    );

    it.concurrent('a paused plan that no one resumes in time is cancelled on the card of its chat, and its old buttons report it', async () => {
      const participant = friend();
      const planned = await paused(participant);
      const { sql } = fixture();
      const lane = `in:${participant.session}`;
      await sql`update approval set expires_at = now() - interval '1 second' where lane = ${lane}`;
      await sql`update lane set wake_at = now() - interval '1 second' where key = ${lane}`;
      await planned.awake();
      await planned.follow();
      await fixture().idle(participant.session);
      expect(await planned.settled()).toMatchObject({
        state: 'cancelled',
        reason: 'It was not resumed in time.',
      });
      expect(planned.card().buttons).toEqual([]);
      const chat = participant.session.replace('telegram:', '');
      const late = fixture().telegram.presses(chat, chat, `plan-pause:${await planId(planned)}`);
      expect(await answerOn(fixture(), late)).toBe('This plan has ended.');
    });

    it('stop a plan that waited through a restart, in teacher mode, next to the question of its step (S-02)', async () => {
      const participant = friend();
      const planned = await open(participant, () => [{ text: 'First we wash.' }], 'teacher');
      expect(await planned.follow()).toBeUndefined();
      await planned.shows(/Next: step 1[^]*First we wash/);
      await planned.settled();
      expect(planned.card().buttons).toEqual(['Stop']);
      await fixture().restart();
      expect(await participant.press('Stop')).toBe('The plan is stopped.');
      await fixture().idle(participant.session);
      expect(await planned.settled()).toMatchObject({ state: 'cancelled', reason: 'Stopped by the user.' });
      expect(participant.seen().flatMap(({ buttons }) => buttons)).toEqual([]);
    });
  },
);
