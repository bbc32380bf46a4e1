/** Stored plans over HTTP, changes by reply, and what is refused. */
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, it, vi } from 'vitest';
import type { Plan } from '../../../src/protocol/agent/plan.ts';
import { planButtonValue } from '../../../src/protocol/agent/plan-store.ts';
import { hashSecret } from '../../../src/security/token-lookup.ts';
import { describeGateway, FRIENDS, WAIT } from '../setup.ts';
import { answerOn, telegramParticipant } from './plan-participants.ts';
import type { Participant } from './plan-chat.ts';

const people = FRIENDS.values();
const STRANGER = 'a-token-of-a-stranger-123';

describeGateway(
  'stored plans',
  { telegram: true, file: { access: { telegram: { allow: FRIENDS } } } },
  (fixture) => {
    const plansFor = (tag: string): void => {
      fixture().ollama.answer('Three things.\nREFLECT: no', { when: tag });
      const steps = ['Wash', 'Dry', 'Paint'].map((word, n) => `${n + 1}. [SELF] ${word} ${tag}`);
      fixture().ollama.answer(`Steps\n${steps.join('\n')}`, { when: tag });
    };
    const answer = async (route: string, json?: unknown, method = 'POST', headers = {}) => {
      const init = { method, headers, ...(json !== undefined && { json }) };
      const response = await fixture().call(route, init);
      return { status: response.status, body: JSON.parse(await response.text()) };
    };
    const plansOf = async (id: string): Promise<{ number: number; plan: Plan }[]> =>
      (await answer(`/v1/plans?session=http:${id}`, undefined, 'GET')).body.plans;
    const read = async (id: string): Promise<Plan> =>
      (await answer(`/v1/plans/${id}`, undefined, 'GET')).body.plan;
    const words = ({ steps }: Plan): string => steps.map((step) => step.description.split(' ')[0]).join(' ');
    /** A stored plan of an HTTP session. */
    async function made(id: string): Promise<Plan> {
      plansFor(`the ${id} wall`);
      const asked = await answer(`/v1/sessions/http:${id}/plans`, { request: `paint the ${id} wall` });
      expect(asked).toMatchObject({ status: 202, body: { turnId: expect.any(String) } });
      await fixture().idle(`http:${id}`);
      const [newest] = await plansOf(id);
      if (newest === undefined) throw new Error('no plan was made');
      return newest.plan;
    }
    /** A stored plan of a Telegram chat, and its card. */
    async function madeIn(chat: Participant, tag: string) {
      plansFor(tag);
      chat.says(`/plan paint ${tag}`);
      await vi.waitFor(
        () => expect(JSON.stringify(chat.seen())).toContain('None of this plan has run'),
        WAIT,
      );
      await fixture().idle(chat.session);
      const cards = () =>
        fixture()
          .telegram.messages(idOf(chat))
          .filter(({ text }) => text.startsWith('Plan: '));
      return { cards, record: await fixture().store.plans.latestPlan(chat.session) };
    }
    const idOf = ({ session }: Participant): string => session.replace('telegram:', '');

    it('is made, changed under its version, run once per key and run again in another mode, over HTTP', async () => {
      const plan = await made('north');
      expect(plan).toMatchObject({ state: 'stored', version: 1, goal: 'paint the north wall' });
      expect((await fixture().messages('http:north')).at(-1)?.content).toContain('None of this plan has run');
      const change = (version: number, ...edits: object[]) =>
        answer(`/v1/plans/${plan.id}`, { version, edits }, 'PATCH');
      expect(
        await change(1, { op: 'drop', step: 's2' }, { op: 'move', step: 's3', before: 's1' }),
      ).toMatchObject({
        status: 200,
        body: { plan: { version: 2 } },
      });
      expect(await change(1, { op: 'drop', step: 's1' })).toMatchObject({
        status: 409,
        body: { error: { code: 'plan_changed' } },
      });
      expect(await change(2, { op: 'drop', step: 's2' })).toMatchObject({
        status: 409,
        body: { error: { code: 'plan_unchanged', message: expect.stringContaining('Nothing was changed') } },
      });
      expect((await change(2, { op: 'explode', step: 's1' })).status).toBe(400);
      expect(words(await read(plan.id))).toBe('Paint Wash');
      const run = (key: string, json: object) =>
        answer(`/v1/plans/${plan.id}/run`, json, 'POST', { 'idempotency-key': key });
      expect((await run('old', { mode: 'agentic', version: 1 })).body.error.code).toBe('plan_changed');
      const first = await run('one', { mode: 'agentic', version: 2 });
      expect(first.status).toBe(202);
      await fixture().idle('http:north');
      expect(await read(`${plan.id}-r1`)).toMatchObject({
        state: 'completed',
        mode: 'agentic',
        origin: { planId: plan.id, run: 1 },
      });
      const [listed] = await plansOf('north');
      expect(listed).toMatchObject({ number: 1, plan: { state: 'stored', runs: 1 } });
      // Step by step: it waits before its first step, and steps that have not begun can still be changed.
      expect((await run('two', { mode: 'teacher' })).status).toBe(202);
      const second = `${plan.id}-r2`;
      await vi.waitFor(async () => {
        const { body } = await answer('/v1/approvals', undefined, 'GET');
        expect(JSON.stringify(body)).toContain(second);
      }, WAIT);
      expect((await run('three', { mode: 'agentic' })).body.error.code).toBe('already_running');
      const onRun = (version: number, edit: object) =>
        answer(`/v1/plans/${second}`, { version, edits: [edit] }, 'PATCH');
      expect((await onRun(1, { op: 'drop', step: 's3' })).body.error.message).toContain(
        'is waiting for your answer',
      );
      expect((await onRun(1, { op: 'add', description: 'Rest a while' })).status).toBe(200);
      expect((await onRun(2, { op: 'drop', step: 's1' })).status).toBe(200);
      expect(words(await read(second))).toBe('Paint Rest');
      expect((await answer(`/v1/plans/${second}/run`)).status).toBe(200);
      await vi.waitFor(async () => {
        expect((await read(second)).steps.map(({ status }) => status)).toEqual(['done', 'pending']);
      }, WAIT);
      await vi.waitFor(async () => expect((await answer(`/v1/plans/${second}/skip`)).status).toBe(200), WAIT);
      await fixture().idle('http:north');
      expect(await read(second)).toMatchObject({ state: 'completed', version: 3 });
      expect(words(await read(plan.id))).toBe('Paint Wash');
    });

    it('is dropped with stop, and another token sees nothing of it', async () => {
      const plan = await made('east');
      await fixture().store.access.putToken({
        hash: hashSecret(STRANGER),
        name: 'stranger',
        scopes: ['chat'],
      });
      const asStranger = async (method: string, route: string, json?: object): Promise<number> =>
        (await fixture().call(route, { method, token: STRANGER, ...(json && { json }) })).status;
      const edits = [{ op: 'drop', step: 's1' }];
      expect([
        await asStranger('GET', `/v1/plans/${plan.id}`),
        await asStranger('GET', '/v1/plans?session=http:east'),
        await asStranger('PATCH', `/v1/plans/${plan.id}`, { version: 1, edits }),
        await asStranger('POST', `/v1/plans/${plan.id}/run`, { mode: 'agentic' }),
        await asStranger('POST', `/v1/plans/${plan.id}/stop`),
        await asStranger('POST', '/v1/sessions/http:east/plans', { request: 'mine' }),
      ]).toEqual([404, 404, 404, 404, 404, 404]);
      expect((await answer(`/v1/plans/${plan.id}/pause`)).status).toBe(409);
      expect((await answer(`/v1/plans/${plan.id}/stop`)).status).toBe(200);
      expect(await read(plan.id)).toMatchObject({ state: 'cancelled' });
      expect((await answer(`/v1/plans/${plan.id}/stop`)).status).toBe(409);
      expect((await answer('/v1/plans', undefined, 'GET')).status).toBe(400);
      expect((await answer('/v1/plans/none', undefined, 'GET')).status).toBe(404);
    });

    it('is changed by a reply to its card; a line that is not understood changes nothing', async () => {
      const chat = telegramParticipant(fixture(), people.next().value);
      const { cards } = await madeIn(chat, 'the west wall');
      const reply = (text: string): void => {
        const [card] = cards();
        fixture().telegram.says(idOf(chat), text, idOf(chat), { replyTo: card?.id });
      };
      reply('2 drop\nmake it nicer');
      await vi.waitFor(() => expect(JSON.stringify(chat.seen())).toContain('did not understand'), WAIT);
      expect(cards()[0]?.text).toContain('3 steps');
      reply('2 drop\n1: Scrub the west wall');
      await vi.waitFor(() => expect(cards()[0]?.text).toMatch(/2 steps[^]*1\. Scrub the west wall/), WAIT);
      expect(cards()).toHaveLength(1);
    });

    it('refuses buttons of an older version, of strangers and of other chats, and shows the card again', async () => {
      const chat = telegramParticipant(fixture(), people.next().value);
      const { cards, record } = await madeIn(chat, 'the south wall');
      const planId = record?.plan.id ?? '';
      const value = planButtonValue({ planId, action: 'start', version: 1, run: 1 });
      const press = async (chatId: string, from: string, data = value): Promise<string> =>
        await answerOn(fixture(), fixture().telegram.presses(chatId, from, data, cards()[0]));
      const other = people.next().value ?? '';
      expect(await press(other, other)).toContain('another chat');
      expect(await press('555', '555')).toContain('I do not know you yet');
      chat.says('/plan edit 3 drop');
      await vi.waitFor(() => expect(cards()[0]?.text).toContain('2 steps'), WAIT);
      expect(await press(idOf(chat), idOf(chat))).toContain('has changed since');
      expect(await fixture().store.plans.latestPlan(chat.session)).toMatchObject({ plan: { id: planId } });
      expect(await chat.press('Cancel')).toContain('cancelled');
      await vi.waitFor(() => expect(cards()[0]).toMatchObject({ buttons: [] }), WAIT);
      expect(cards()[0]?.text).toContain('Cancelled');
      expect(await press(idOf(chat), idOf(chat))).toContain('has changed since');
    });

    it('explains what to change where planning is off, and /mode shows what is set', async () => {
      const folder = path.join(fixture().home, 'profiles', 'talker');
      await mkdir(folder, { recursive: true });
      await writeFile(
        path.join(folder, 'config.json'),
        JSON.stringify({ planning: 'off', usableBy: 'everyone' }),
      );
      const says = async (content: string): Promise<string> =>
        (await answer('/v1/sessions/http:talker/messages', { content })).body.reply;
      expect(await says('/mode')).toContain('Planning in the profile "default": auto');
      await vi.waitFor(
        async () => expect(await says('/profile talker')).toContain('Profile changed to `talker`'),
        WAIT,
      );
      expect(await says('/plan paint it')).toMatch(
        /Planning is off in the profile "talker"[^]*profiles\/talker\/config\.json/,
      );
      expect(await says('/mode')).toContain('No plans are made here');
      const refused = await answer('/v1/sessions/http:talker/plans', { request: 'paint it' });
      expect(refused).toMatchObject({ status: 409, body: { error: { code: 'planning_off' } } });
      expect(await says('/plans')).toContain('There are no plans');
    });

    it('runs tainted when it was made after text of others was read, whatever has been read since', async () => {
      const plan = await made('grey');
      const { sql, store } = fixture();
      await sql`update plan set doc = doc || '{"sources": ["web:evil.example"]}' where id = ${plan.id}`;
      expect((await store.ledger.session('http:grey'))?.sources).toEqual([]);
      expect((await answer(`/v1/plans/${plan.id}/run`, { mode: 'agentic' })).status).toBe(202);
      await fixture().idle('http:grey');
      expect(await read(`${plan.id}-r1`)).toMatchObject({
        state: 'completed',
        sources: ['web:evil.example'],
      });
      expect((await store.ledger.session('http:grey'))?.sources).toEqual(['web:evil.example']);
    });
  },
);
