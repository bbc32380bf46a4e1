/** A planned turn through a whole gateway: what grows on the stream, what is stored, what a chat shows, what a restart does. */
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, it, vi } from 'vitest';
import type { AgentEvent } from '../../../src/protocol/event.ts';
import { eventsUntil } from '../../channels/http/client.ts';
import { ANALYSIS, PLAN } from '../../fakes/gateway/planned-turn.ts';
import { describeGateway, FRIENDS, WAIT } from '../setup.ts';
import { messagesWithoutNotes } from '../../fakes/model/spoken-text.ts';

const OWNER_ID = FRIENDS[0] ?? '';
const FILE = { access: { telegram: { allow: FRIENDS }, owners: { telegram: [OWNER_ID] } } };

const tick = (index: number, status: string): { name: string; args: unknown } => ({
  name: 'todo',
  args: { action: 'update', index, status },
});

describeGateway('planning', { telegram: true, file: FILE }, (fixture) => {
  /** A session whose profile plans. */
  const planningSession = async (id: string): Promise<void> => {
    const folder = path.join(fixture().home, 'profiles', 'planner');
    await mkdir(folder, { recursive: true });
    const profile = { planningEnabled: true, enabledTools: ['list_dir', 'todo'] };
    await writeFile(path.join(folder, 'config.json'), JSON.stringify(profile));
    const content = '/profile planner';
    await vi.waitFor(async () => {
      const answer = await fixture().call(`/v1/sessions/http:${id}/messages`, { json: { content } });
      expect(await answer.text()).toContain('`planner`');
      const session = await fixture().call(`/v1/sessions/http:${id}`);
      expect(await session.json()).toMatchObject({ profileId: 'planner' });
    }, WAIT);
  };
  const untilEnded = async (id: string): Promise<AgentEvent[]> => {
    const stream = await fixture().call(`/v1/sessions/http:${id}/events`);
    const { events } = await eventsUntil(stream, ({ type }) => type === 'turn_ended');
    return events;
  };
  /** What the model says about this message, one answer after another. */
  const answers = (
    said: string,
    ...all: Parameters<ReturnType<typeof fixture>['ollama']['answer']>[0][]
  ): void => {
    for (const answer of all) fixture().ollama.answer(answer, { when: said });
  };

  it('shows the plan growing, then the plan, then its steps as they go; the deltas are the answer (N-30, N-49)', async () => {
    await planningSession('shown');
    const slow = { text: ANALYSIS, perSecond: 20 };
    answers(
      'bake bread',
      slow,
      PLAN,
      { toolCalls: [tick(1, 'done')] },
      { toolCalls: [tick(2, 'failed')] },
      'Bread.',
    );
    await fixture().post('shown', 'bake bread');
    const events = await untilEnded('shown');
    const types = events.map(({ type }) => type);
    expect(types.indexOf('thinking_delta')).toBeLessThan(types.indexOf('plan_ready'));
    expect(types.filter((type) => type === 'plan_ready')).toHaveLength(1);
    expect(types.indexOf('plan_ready')).toBeLessThan(types.indexOf('tool_call'));
    const ticked = events.flatMap((event) => (event.type === 'step_changed' ? [event.step.status] : []));
    expect(ticked).toEqual(['done', 'failed']);
    const lists = events.flatMap((event) =>
      event.type === 'todo_changed' ? [event.items.map(({ status }) => status).join(' ')] : [],
    );
    expect(lists).toEqual(['pending pending pending', 'done pending pending', 'done failed pending']);
    const deltas = events.flatMap((event) => (event.type === 'stream_chunk' ? [event.delta] : []));
    expect(deltas.join('')).toBe('Bread.');
    const stored = await fixture().messages('http:shown');
    expect(stored.map(({ role, isPlan, content }) => [role, isPlan, content])).toEqual([
      ['user', false, 'bake bread'],
      ['assistant', true, expect.stringContaining('2. Knead')],
      ['assistant', false, 'Bread.'],
    ]);
    // Planning requests the same window as the answers: the model was loaded once.
    expect(fixture().ollama.loads.filter(({ model }) => model === 'fake:latest')).toHaveLength(1);
  });

  it('answers a completion with a plan like one without, and counts what planning cost (N-15)', async () => {
    await planningSession('completed');
    answers(
      'quick question',
      { text: 'DIRECT', completionTokens: 1_000 },
      { text: 'Yes.', completionTokens: 7 },
    );
    const request = {
      model: 'default',
      messages: [{ role: 'user', content: 'quick question' }],
    };
    const options = { stream: true, stream_options: { include_usage: true } };
    const stream = await fixture().call('/v1/chat/completions', {
      headers: { 'x-session-id': 'completed' },
      json: { ...request, ...options },
    });
    const told = await stream.text();
    expect(told).toContain('Yes.');
    expect(told).toContain('"completion_tokens":1007');
    const turns = await fixture().sql`
      select purpose, completion_tokens as tokens from usage 
      where session = 'http:completed' and purpose <> 'title' order by id`;
    expect(turns).toMatchObject([
      { purpose: 'plan', tokens: 1_000 },
      { purpose: 'turn', tokens: 7 },
    ]);
  });

  it('plans neither a cron turn nor a completion without streaming: the plain entry has no plan (N-02, N-03)', async () => {
    await planningSession('plain');
    const request = { model: 'default', messages: [{ role: 'user', content: 'plain words' }] };
    const headers = { 'x-session-id': 'plain' };
    const answer = await fixture().call('/v1/chat/completions', { headers, json: request });
    expect(JSON.stringify(await answer.json())).toContain('echo: plain words');
    expect(
      fixture().ollama.calls.filter(({ body }) => JSON.stringify(body).includes('plain words')),
    ).toHaveLength(1);
  });

  it('shows the card of the plan above the answer in a chat (N-26)', async () => {
    await planningSession('for-chats');
    const screen = (): string[] => fixture().telegram.screen(OWNER_ID);
    fixture().telegram.says(OWNER_ID, '/profile planner', OWNER_ID);
    await vi.waitFor(() => expect(screen().join()).toContain('planner'), WAIT);
    const before = screen().length;
    answers('bake in the chat', ANALYSIS, PLAN, { toolCalls: [tick(1, 'done')] }, 'Bread in the chat.');
    fixture().telegram.says(OWNER_ID, 'bake in the chat', OWNER_ID);
    await vi.waitFor(() => expect(screen().at(-1)).toContain('Bread in the chat.'), {
      ...WAIT,
      timeout: 20_000,
    });
    await fixture().idle(`telegram:${OWNER_ID}`);
    expect(screen().slice(before)).toEqual([
      expect.stringMatching(/Look around[\s\S]*Knead[\s\S]*Bake/),
      'Bread in the chat.',
    ]);
  });

  it('plans again after a restart in the middle of planning, and keeps a finished plan across a later restart (N-25)', async () => {
    await planningSession('restarted');
    const hang = { text: PLAN, failure: { kind: 'hang', after: 2 } } as const;
    const slow = { text: 'one two three four five six seven eight', perSecond: 1 };
    answers(
      'bake twice',
      ANALYSIS,
      hang,
      ANALYSIS,
      PLAN,
      { toolCalls: [tick(1, 'done')] },
      slow,
      'Bread again.',
    );
    await fixture().post('restarted', 'bake twice');
    const asked = (): number =>
      fixture().ollama.calls.filter(({ body }) =>
        messagesWithoutNotes(body.messages).some(({ content }) => content === 'bake twice'),
      ).length;
    await vi.waitFor(() => expect(asked()).toBe(2), WAIT);
    await fixture().restart();
    await vi.waitFor(() => expect(asked()).toBe(6), { ...WAIT, timeout: 20_000 });
    const first = await fixture().store.plans.latestPlan('http:restarted');
    await fixture().restart();
    await vi.waitFor(
      async () => {
        expect((await fixture().messages('http:restarted')).at(-1)?.content).toBe('Bread again.');
      },
      { ...WAIT, timeout: 20_000 },
    );
    expect(asked()).toBe(7);
    const stored = await fixture().messages('http:restarted');
    expect(stored.filter(({ isPlan }) => isPlan)).toHaveLength(1);
    const last = await fixture().store.plans.latestPlan('http:restarted');
    expect(last?.plan.id).toBe(first?.plan.id);
    expect(last?.plan.steps.map(({ status }) => status)).toEqual(['done', 'pending', 'pending']);
  });
});
