/** Schedules through a whole gateway: from the request, across restarts, to the screen. */
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, it, vi } from 'vitest';
import { FAKE_BOT } from '../fakes/telegram/telegram.ts';
import { lastUserText } from '../fakes/model/spoken-text.ts';
import { describeGateway, FRIENDS, WAIT } from './setup.ts';

/** A driver checks every five seconds what was changed behind its back. */
const LOOKED = { ...WAIT, timeout: 30_000 };
const [ada = '', bo = '', cy = '', owner = ''] = FRIENDS;
const FILE = {
  access: { telegram: { allow: FRIENDS }, owners: { telegram: [owner] } },
  schedules: { timeZone: 'UTC' },
  heartbeat: { everyMinutes: 30 },
};

/** Two checks and two turns, on a slow machine. */
const TEST_TIMEOUT_MS = 60_000;

describeGateway('schedules', { telegram: true, discord: true, file: FILE }, (fixture) => {
  const screen = (chat: string): string[] => fixture().telegram.screen(chat);
  const stored = async (session: string): Promise<string[]> => {
    const messages = await fixture().messages(session);
    return messages.filter(({ role }) => role === 'assistant').map(({ content }) => content);
  };
  /** Everything a user finds there later. */
  const said = async (session: string): Promise<string[]> =>
    (await fixture().messages(session)).map(({ content }) => content);
  const soon = (ms = 1_200): string => new Date(Date.now() + ms).toISOString();
  /** The schedule's time has come. */
  const comes = (id: string): PromiseLike<unknown> =>
    fixture().sql`update schedule set next_at = date_trunc('milliseconds', now()) where id = ${id}`;
  /** Calls to the model whose last messages contain this text. */
  const modelCalls = (text: string): number =>
    fixture().ollama.calls.filter(({ body }) => JSON.stringify(body.messages.slice(-3)).includes(text))
      .length;
  const asked = (...texts: string[]): number =>
    fixture().ollama.calls.filter(({ body }) => texts.every((one) => lastUserText(body).includes(one)))
      .length;

  it.concurrent(
    'a task created with /schedule arrives in its Telegram chat as a new message (B-36)',
    async () => {
      fixture().ollama.answer({ text: 'The news: none.' }, { when: 'Tell Ada the news' });
      fixture().telegram.says(ada, `/schedule add "at ${soon(4_200).slice(0, 19)}Z" Tell Ada the news`, ada);
      await vi.waitFor(() => expect(screen(ada)[0]).toMatch(/^Scheduled: once, next .* \(UTC\)/), WAIT);
      await vi.waitFor(() => expect(screen(ada)).toHaveLength(2), LOOKED);
      await vi.waitFor(() => expect(screen(ada)[1]).toBe('The news: none.'), LOOKED);
      expect(await stored(`telegram:${ada}`)).toEqual(['The news: none.']);
      expect(asked('[A task scheduled earlier in this chat', 'Tell Ada the news')).toBe(1);
    },
    TEST_TIMEOUT_MS,
  );

  it.concurrent(
    'a task the model created with cron arrives in its Discord chat (B-24)',
    async () => {
      const { channel, person } = fixture().discord.dm();
      await fixture().store.access.addGrant('discord', 'dm', person.id);
      const args = { action: 'add', task: 'Remind Dee to stretch', in_minutes: 0.02 };
      fixture().ollama.answer({ toolCalls: [{ name: 'cron', args }] }, { when: 'stretch later' });
      fixture().ollama.answer({ text: 'I will.' }, { when: 'stretch later' });
      fixture().ollama.answer({ text: 'Stretch now!' }, { when: 'Remind Dee to stretch' });
      fixture().discord.says(channel, 'stretch later', person);
      const shown = () => fixture().discord.screen(channel);
      await vi.waitFor(() => expect(shown()).toContain('Stretch now!'), LOOKED);
      expect(shown()).toContain('I will.');
      expect(await stored(`discord:${channel.id}`)).toEqual(['I will.', 'Stretch now!']);
      const [schedule] = await fixture().store.schedules.schedules({
        session: `discord:${channel.id}`,
        limit: 9,
      });
      expect(schedule?.creatorId).toBe(`discord:${person.id}`);
    },
    TEST_TIMEOUT_MS,
  );

  it.concurrent(
    'a task created over HTTP is a stored message, without planning (N-03)',
    async () => {
      await fixture().post('clock', 'hello');
      await fixture().idle('http:clock');
      const planner = path.join(fixture().home, 'profiles', 'planner');
      await mkdir(planner, { recursive: true });
      await writeFile(path.join(planner, 'config.json'), JSON.stringify({ planningEnabled: true }));
      await vi.waitFor(async () => {
        const change = { method: 'PATCH', json: { profileId: 'planner' } };
        expect((await fixture().call('/v1/sessions/http:clock', change)).status).toBe(200);
      }, LOOKED);
      // What a person writes is planned under this profile: more than one call to the model.
      await fixture().post('clock', 'Write a book');
      await fixture().idle('http:clock');
      expect(modelCalls('Write a book')).toBeGreaterThan(1);
      fixture().ollama.answer({ text: 'Ding.' }, { when: 'Ring the bell' });
      const request = { session: 'http:clock', task: 'Ring the bell', at: soon() };
      const made = await fixture().call('/v1/schedules', { json: request });
      expect(made.status).toBe(201);
      const { id } = await made.json();
      await vi.waitFor(async () => expect(await stored('http:clock')).toContain('Ding.'), LOOKED);
      const [row] = await fixture()
        .sql`select payload from lane_item where dedupe like ${`schedule:${id}:%`}`;
      expect(row?.['payload']).toMatchObject({ entry: 'run' });
      const last = (await fixture().messages('http:clock')).slice(-2).map(({ role }) => role);
      expect(last).toEqual(['system', 'assistant']);
      expect(modelCalls('Ring the bell')).toBe(1);
    },
    TEST_TIMEOUT_MS,
  );

  it.concurrent(
    'lists its own schedules to a token, and all of them to an admin',
    async () => {
      const create = async (name: string): Promise<string> => {
        const token = `token-of-${name}-0123456789`;
        const { hashSecret } = await import('../../src/security/token-lookup.ts');
        await fixture().store.access.putToken({ hash: hashSecret(token), name, scopes: ['chat'] });
        return token;
      };
      const [mine, other] = [await create('mine'), await create('other')];
      const call = (token: string, route: string, json?: unknown, method?: string) =>
        fixture().call(route, {
          token,
          ...(json !== undefined && { json }),
          ...(method !== undefined && { method }),
        });
      await call(mine, '/v1/sessions/http:mine/messages', { content: 'hello' });
      const request = { session: 'http:mine', task: 'Later.', everyMinutes: 600 };
      expect((await call(other, '/v1/schedules', request)).status).toBe(404);
      expect((await call(mine, '/v1/schedules', { ...request, session: `telegram:${ada}` })).status).toBe(
        404,
      );
      const made = await (await call(mine, '/v1/schedules', request)).json();
      const listed = async (token?: string): Promise<string[]> => {
        const answer = await fixture().call('/v1/schedules', { ...(token !== undefined && { token }) });
        const { schedules } = await answer.json();
        return schedules.map(({ id }: { id: string }) => id);
      };
      expect(await listed(mine)).toEqual([made.id]);
      expect(await listed(other)).toEqual([]);
      expect(await listed()).toContain(made.id);
      expect((await call(other, `/v1/schedules/${made.id}`, undefined, 'DELETE')).status).toBe(404);
      expect((await call(mine, `/v1/schedules/${made.id}`, undefined, 'DELETE')).status).toBe(200);
    },
    TEST_TIMEOUT_MS,
  );

  it.concurrent(
    'in a group only owners add schedules: a member, who may leave, gets a refusal, and the model cannot do it for them',
    async () => {
      const group = '-51';
      await fixture().store.access.addGrant('telegram', 'group', group);
      const name = `@${FAKE_BOT.username}`;
      fixture().ollama.answer(
        { toolCalls: [{ name: 'cron', args: { action: 'add', everyMinutes: 60, task: 'Ping' } }] },
        { when: 'ping us every hour' },
      );
      fixture().telegram.says(group, '/schedule add "every 1m" Shout', ada);
      await vi.waitFor(
        () => expect(screen(group)).toEqual([expect.stringMatching(/^In a group only an owner/)]),
        WAIT,
      );
      fixture().telegram.says(group, `${name} ping us every hour`, bo);
      await vi.waitFor(() => expect(screen(group)).toHaveLength(2), WAIT);
      await fixture().idle(`telegram:${group}`);
      expect(await fixture().store.schedules.schedules({ session: `telegram:${group}`, limit: 9 })).toEqual(
        [],
      );
      fixture().telegram.says(group, '/schedule add "every 60m" Sum up', owner);
      await vi.waitFor(() => expect(screen(group)[2]).toMatch(/^Scheduled: every hour/), WAIT);
    },
    TEST_TIMEOUT_MS,
  );

  it.concurrent(
    'a schedule ends when its creator may no longer write',
    async () => {
      await fixture().store.access.addGrant('telegram', 'dm', '5005');
      fixture().telegram.says('5005', '/schedule add "every 60m" Spy on them', '5005');
      await vi.waitFor(() => expect(screen('5005')).toHaveLength(1), WAIT);
      await fixture().store.access.removeGrant('telegram', 'dm', '5005');
      const [schedule] = await fixture().store.schedules.schedules({ session: 'telegram:5005', limit: 1 });
      await comes(schedule?.id ?? '');
      await vi.waitFor(async () => {
        expect((await fixture().store.schedules.schedule(schedule?.id ?? ''))?.nextAt).toBeUndefined();
      }, LOOKED);
      expect(asked('Spy on them')).toBe(0);
      await vi.waitFor(() => expect(fixture().log.join('')).toContain('schedule_switched_off'), WAIT);
    },
    TEST_TIMEOUT_MS,
  );

  it.concurrent(
    'a task created in a Telegram group arrives in the supergroup that the group became',
    async () => {
      const [group, supergroup] = ['-50', '-1005000'];
      await fixture().store.access.addGrant('telegram', 'group', group);
      fixture().ollama.answer({ text: 'The minutes are due.' }, { when: 'Ask for the minutes' });
      fixture().telegram.says(group, '/schedule add "every 60m" Ask for the minutes', owner);
      await vi.waitFor(() => expect(screen(group)).toHaveLength(1), WAIT);
      fixture().telegram.chats.open(supergroup);
      fixture().telegram.chats.open(group).movedTo = supergroup;
      const [schedule] = await fixture().store.schedules.schedules({
        session: `telegram:${group}`,
        limit: 1,
      });
      await comes(schedule?.id ?? '');
      await vi.waitFor(() => expect(screen(supergroup)).toEqual(['The minutes are due.']), LOOKED);
      expect(screen(group)).toHaveLength(1);
      // The send reported the new id: the people there are known, and so is what was said.
      const name = `@${FAKE_BOT.username}`;
      await vi.waitFor(async () => {
        expect(await fixture().store.ledger.sessionOf(`telegram:${supergroup}`)).toBe(`telegram:${group}`);
      }, WAIT);
      fixture().telegram.says(supergroup, `${name} thank you`, ada);
      await vi.waitFor(() => expect(screen(supergroup)[1]).toContain('thank you'), WAIT);
      expect(await stored(`telegram:${group}`)).toHaveLength(2);
      expect((await fixture().store.schedules.schedule(schedule?.id ?? ''))?.address).toBe(
        `telegram:${supergroup}`,
      );
    },
    TEST_TIMEOUT_MS,
  );

  it.concurrent(
    'a schedule that was removed does not run',
    async () => {
      fixture().telegram.says(cy, '/schedule add "every 60m" Nag Cy', cy);
      await vi.waitFor(() => expect(screen(cy)).toHaveLength(1), WAIT);
      fixture().telegram.says(cy, '/schedule remove 1', cy);
      await vi.waitFor(() => expect(screen(cy)[1]).toMatch(/^Removed: every hour/), WAIT);
      expect(await fixture().store.schedules.schedules({ session: `telegram:${cy}`, limit: 9 })).toEqual([]);
    },
    TEST_TIMEOUT_MS,
  );

  it(
    'a slot that is missed while the gateway is down runs once after the start',
    async () => {
      fixture().ollama.answer({ text: 'Good morning, Bo.' }, { when: 'Wake Bo' });
      const at = Date.now() + 4_000;
      fixture().telegram.says(
        bo,
        `/schedule add "at ${new Date(at).toISOString().slice(0, 19)}Z" Wake Bo`,
        bo,
      );
      await vi.waitFor(() => expect(screen(bo)).toHaveLength(1), WAIT);
      await fixture().restart(async () => {
        await vi.waitFor(() => expect(Date.now()).toBeGreaterThan(at), LOOKED);
      });
      await vi.waitFor(() => expect(screen(bo)[1]).toBe('Good morning, Bo.'), LOOKED);
      expect(asked('Wake Bo')).toBe(1);
      await fixture().restart();
      await fixture().idle(`telegram:${bo}`);
      expect(screen(bo)).toHaveLength(2);
      expect(asked('Wake Bo')).toBe(1);
    },
    TEST_TIMEOUT_MS,
  );

  it(
    'the heartbeat writes to the owner’s chat when there is something to report, and is otherwise invisible (B-45)',
    async () => {
      const workspace = path.join(fixture().home, 'workspace');
      await mkdir(workspace, { recursive: true });
      await writeFile(path.join(workspace, 'HEARTBEAT.md'), '# Every interval\n- water the plants');
      const chat = `telegram:${owner}`;
      const calls = (): number =>
        fixture().telegram.count('sendMessage') + fixture().telegram.count('sendChatAction');
      fixture().telegram.says(owner, 'hello', owner);
      await vi.waitFor(() => expect(screen(owner)).toEqual(['echo: hello']), WAIT);
      await fixture().idle(chat);

      const before = calls();
      fixture().ollama.answer({ text: '**HEARTBEAT_OK**', perSecond: 10 }, { when: 'water the plants' });
      await comes('heartbeat');
      await vi.waitFor(() => expect(asked('water the plants')).toBe(1), LOOKED);
      await fixture().idle(chat);
      expect(calls()).toBe(before);
      expect(await said(chat)).toEqual(['hello', 'echo: hello']);

      fixture().ollama.answer({ text: 'The plants are dry.', perSecond: 10 }, { when: 'water the plants' });
      await comes('heartbeat');
      await vi.waitFor(() => expect(screen(owner)).toEqual(['echo: hello', 'The plants are dry.']), LOOKED);
      await fixture().idle(chat);
      expect(await said(chat)).toEqual(['hello', 'echo: hello', 'The plants are dry.']);
      const last = fixture().ollama.calls.findLast(({ body }) =>
        lastUserText(body).includes('water the plants'),
      );
      // What was quiet does not get in the way of what comes later.
      expect(last?.body.messages.filter(({ role }) => role === 'user')).toHaveLength(2);
      const shown = fixture()
        .telegram.messages(owner)
        .flatMap((message) => message.shown);
      expect(shown.filter((text) => text.includes('HEART'))).toEqual([]);
    },
    TEST_TIMEOUT_MS,
  );
});
