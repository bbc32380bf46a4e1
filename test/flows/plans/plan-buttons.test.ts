/** The buttons under a plan's card, pressed on both platforms; and what changes a plan from elsewhere, seen on its card. */
import { beforeAll, expect, it } from 'vitest';
import type { ExecutionMode } from '../../../src/contracts/plan.ts';
import type { Reply } from '../../fakes/ollama/ollama.ts';
import { describeGateway, FRIENDS } from '../setup.ts';
import { openWorkshop, PlanRoom, Workshop } from './plan-room.ts';
import type { Participant } from './plan-room.ts';
import { answerOn, discordParticipant, telegramParticipant } from './plan-seats.ts';

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

    let rooms = 0;
    /** A plan of two steps on its way; `script` is what the model says between the plan and its last words. */
    async function open(
      participant: Participant,
      script: (room: PlanRoom) => Reply[],
      mode: ExecutionMode = 'agentic',
    ) {
      rooms += 1;
      const room = new PlanRoom(fixture(), shop, participant, `chore ${rooms} of the gateway`);
      await room.begin(mode, [...script(room), { text: 'That was it.' }]);
      return room;
    }
    const friend = (): Participant => telegramParticipant(fixture(), people.next().value);
    const participantOn = async (platform: (typeof PARTICIPANTS)[number]): Promise<Participant> =>
      platform === 'Telegram' ? friend() : await discordParticipant(fixture());
    const both = (room: PlanRoom): Reply[] => [room.work(), room.work()];
    /** Goes on until the tool runs for the first time. */
    const atWork = async (room: PlanRoom) => {
      const gate = await room.follow(({ what }) => what.startsWith('work'));
      if (gate === undefined) throw new Error('no step was begun');
      await room.settled();
      return gate;
    };
    /** A plan that is paused after its first step. */
    async function paused(participant: Participant): Promise<PlanRoom> {
      const room = await open(participant, both);
      const gate = await atWork(room);
      expect(await participant.press('Pause')).toBe('The plan pauses before its next step.');
      gate.release();
      expect(await room.follow()).toBeUndefined();
      expect((await room.settled()).state).toBe('paused');
      await room.shows(/The plan is paused before step 2/);
      return room;
    }
    const planId = async (room: PlanRoom): Promise<string> => (await room.record())?.plan.id ?? '';
    const overHttp = async (room: PlanRoom, action: string): Promise<number> =>
      (await fixture().call(`/v1/plans/${await planId(room)}/${action}`, { method: 'POST' })).status;
    const marks = (room: PlanRoom) => room.settled().then(({ steps }) => steps.map(({ mark }) => mark));

    it.concurrent.each(PARTICIPANTS)(
      'pause it on %s, and its question lets it go on where it was: the card follows, and has its buttons back',
      async (platform) => {
        const participant = await participantOn(platform);
        const room = await paused(participant);
        expect(room.card().buttons).toEqual([]);
        await participant.press('Resume');
        await room.awake();
        const gate = await atWork(room);
        expect(room.card().buttons).toEqual(['Pause', 'Skip step 2', 'Stop']);
        gate.release();
        await room.follow();
        await fixture().idle(participant.session);
        expect(await marks(room)).toEqual(['done', 'done']);
        expect(room.card().buttons).toEqual([]);
      },
    );

    it.concurrent.each(PARTICIPANTS)(
      'skip the step that runs on %s: it fails, and is not repaired (S-28)',
      async (platform) => {
        const participant = await participantOn(platform);
        const room = await open(participant, both);
        shop.fails.set(room.tag, 1);
        const gate = await atWork(room);
        expect(room.card().buttons).toEqual(['Pause', 'Skip step 1', 'Stop']);
        expect(await participant.press('Skip step 1')).toContain('If it fails, it is skipped');
        expect(await participant.press('Skip step 1')).toBe('Step 1 will already be skipped.');
        gate.release();
        await room.follow();
        await fixture().idle(participant.session);
        expect(await marks(room)).toEqual(['skipped', 'done']);
      },
    );

    it.concurrent.each(PARTICIPANTS)(
      'stop it on %s while a step runs: the card says so, and has no buttons any more (S-36)',
      async (platform) => {
        const participant = await participantOn(platform);
        const room = await open(participant, both);
        await atWork(room);
        expect(await participant.press('Stop')).toBe('The plan is stopped.');
        await fixture().idle(participant.session);
        expect(await room.settled()).toMatchObject({ state: 'cancelled', reason: 'Stopped by the user.' });
        expect(await marks(room)).toEqual(['failed', 'pending']);
        expect(room.card().buttons).toEqual([]);
      },
    );

    it.concurrent('answer who presses them too late, elsewhere, with other data or as a stranger, and change nothing', async () => {
      const person = people.next().value ?? '';
      const participant = telegramParticipant(fixture(), person, GROUP);
      const room = await open(participant, both);
      const gate = await atWork(room);
      const id = await planId(room);
      const presses = async (value: string, chat = GROUP, from = person): Promise<string> =>
        await answerOn(fixture(), fixture().telegram.presses(chat, from, value));
      const other = people.next().value ?? '';
      expect(await presses(`plan-stop:${id}`, other, other)).toContain('another chat');
      expect(await presses(`plan-stop:${id}`, '555', '555')).not.toContain('stopped');
      expect(await presses(`plan-stop:${id}x`)).toContain('unknown');
      expect(await presses(`plan-stop:${id.replaceAll(/.$/g, 'z')}`)).toContain('no longer exists');
      expect(await presses(`plan-skip:${id}`)).toContain('unknown');
      expect(await presses(`plan-skip:${id}:s2`)).toContain('at another step');
      expect(await presses(`plan-explode:${id}`)).toContain('unknown');
      expect(await fixture().store.plans.planRequests(id)).toEqual({});
      gate.release();
      await room.follow();
      await fixture().idle(participant.session);
      expect(await marks(room)).toEqual(['done', 'done']);
      for (const late of [`plan-pause:${id}`, `plan-stop:${id}`, `plan-skip:${id}:s2`])
        expect(await presses(late)).toBe('This plan is over.');
      expect(await fixture().store.plans.planRequests(id)).toEqual({});
    });

    it.concurrent.each([
      ['resume', 'completed', ['done', 'done'], undefined],
      ['stop', 'cancelled', ['done', 'pending'], 'Stopped by the user.'],
    ] as const)(
      'a paused plan that is told to %s over HTTP is %s on the card of its chat',
      async (action, state, steps, why) => {
        const participant = friend();
        const room = await paused(participant);
        expect(await overHttp(room, action)).toBe(200);
        await room.awake();
        await room.follow();
        await fixture().idle(participant.session);
        expect(await room.settled()).toMatchObject({ state, ...(why !== undefined && { reason: why }) });
        expect(await marks(room)).toEqual(steps);
        expect(room.card().buttons).toEqual([]);
      },
    );

    it.concurrent('a paused plan that nobody resumes in time is cancelled on the card of its chat, and its old buttons say so', async () => {
      const participant = friend();
      const room = await paused(participant);
      const { sql } = fixture();
      const lane = `in:${participant.session}`;
      await sql`update approval set expires_at = now() - interval '1 second' where lane = ${lane}`;
      await sql`update lane set wake_at = now() - interval '1 second' where key = ${lane}`;
      await room.awake();
      await room.follow();
      await fixture().idle(participant.session);
      expect(await room.settled()).toMatchObject({
        state: 'cancelled',
        reason: 'Nobody resumed it in time.',
      });
      expect(room.card().buttons).toEqual([]);
      const chat = participant.session.replace('telegram:', '');
      const late = fixture().telegram.presses(chat, chat, `plan-pause:${await planId(room)}`);
      expect(await answerOn(fixture(), late)).toBe('This plan is over.');
    });

    it('stop a plan that waited through a restart, in teacher mode, beside the question of its step (S-02)', async () => {
      const participant = friend();
      const room = await open(participant, () => [{ text: 'First we wash.' }], 'teacher');
      expect(await room.follow()).toBeUndefined();
      await room.shows(/Next: step 1[^]*First we wash/);
      await room.settled();
      expect(room.card().buttons).toEqual(['Stop']);
      await fixture().restart();
      expect(await participant.press('Stop')).toBe('The plan is stopped.');
      await fixture().idle(participant.session);
      expect(await room.settled()).toMatchObject({ state: 'cancelled', reason: 'Stopped by the user.' });
      expect(participant.seen().flatMap(({ buttons }) => buttons)).toEqual([]);
    });
  },
);
