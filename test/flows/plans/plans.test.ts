/** Plans that run through a whole gateway: over HTTP on their own, in a chat step by step with buttons. */
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, it, vi } from 'vitest';
import { hashSecret } from '../../../src/security/token-lookup.ts';
import { eventsUntil } from '../../channels/http/client.ts';
import { describeGateway, FRIENDS, WAIT } from '../setup.ts';

const OWNER_ID = FRIENDS[0] ?? '';
const FILE = { access: { telegram: { allow: FRIENDS }, owners: { telegram: [OWNER_ID] } } };
const ANALYSIS = 'Two steps.\nREFLECT: no';
const PLAN = 'Steps\n1. [TOOL: list_dir] Look around\n2. [SELF] Think';
const LOOK = { toolCalls: [{ name: 'list_dir', args: { path: '.' } }] };

describeGateway('a plan', { telegram: true, file: FILE }, (fixture) => {
  type Answer = Parameters<ReturnType<typeof fixture>['ollama']['answer']>[0];
  const answers = (said: string, ...all: Answer[]): void => {
    for (const answer of all) fixture().ollama.answer(answer, { when: said });
  };
  const planningProfile = async (): Promise<void> => {
    const folder = path.join(fixture().home, 'profiles', 'worker');
    await mkdir(folder, { recursive: true });
    const profile = { planningEnabled: true, enabledTools: ['list_dir'] };
    await writeFile(path.join(folder, 'config.json'), JSON.stringify(profile));
  };

  /** Opens the session of a chat with the profile that plans. */
  const greet = async (chat: string, shows: (text: RegExp) => Promise<void>): Promise<void> => {
    fixture().telegram.says(chat, 'hello', chat);
    await shows(/echo: hello/);
    // Polled over HTTP until it is read: each try in the chat would count as a message of its sender.
    await vi.waitFor(async () => {
      const changed = await fixture().call(`/v1/sessions/telegram:${chat}`, {
        method: 'PATCH',
        json: { profileId: 'worker' },
      });
      expect(changed.status).toBe(200);
    }, WAIT);
  };

  it('runs over HTTP in agentic mode, emits its progress, and cannot be changed once it has ended (S-02, S-05)', async () => {
    await planningProfile();
    const key = '/v1/sessions/http:planned';
    await fixture().post('planned', 'hello');
    await vi.waitFor(async () => {
      const changed = await fixture().call(key, { method: 'PATCH', json: { profileId: 'worker' } });
      expect(changed.status).toBe(200);
    }, WAIT);
    await fixture().idle('http:planned');
    answers('tidy up', ANALYSIS, PLAN, LOOK, 'It is tidy.', 'All is tidy now.');
    const content = 'tidy up';
    const posted = await fixture().call(`${key}/messages`, { json: { content, mode: 'agentic' } });
    expect(posted.status).toBe(202);
    const stream = await fixture().call(`${key}/events`);
    const { events } = await eventsUntil(stream, ({ type }) => type === 'turn_ended');
    const statuses = events.flatMap((event) =>
      event.type === 'step_changed' ? [`${event.step.id} ${event.step.status}`] : [],
    );
    expect(statuses).toEqual(['s1 running', 's1 done', 's2 running', 's2 done']);
    expect(events.filter(({ type }) => type === 'plan_completed')).toHaveLength(1);
    const said = events.flatMap((event) => (event.type === 'stream_chunk' ? [event.delta] : [])).join('');
    expect(said).toBe('All is tidy now.');
    // Every word of a step is also streamed as thinking: it is not part of the answer.
    const thoughts = events.flatMap((event) => {
      if (event.type === 'thinking_started') return [`${event.title}: `];
      return event.type === 'thinking_delta' ? [event.delta] : [];
    });
    expect(thoughts.join('')).toMatch(/Step 2: Think: It is tidy\.$/);
    expect((await fixture().messages('http:planned')).at(-1)?.content).toBe(said);
    const read = await fixture().call(`${key}/plan`);
    const { plan, todos } = (await read.json()) as {
      plan: { id: string; state: string };
      todos: { status: string }[];
    };
    expect(plan.state).toBe('completed');
    expect(todos.map(({ status }) => status)).toEqual(['done', 'done']);

    const over = await fixture().call(`/v1/plans/${plan.id}/pause`, { method: 'POST' });
    expect(over.status).toBe(409);
    expect(await over.json()).toMatchObject({ error: { message: 'This plan has ended.' } });
    expect((await fixture().call('/v1/plans/nobody/run', { method: 'POST' })).status).toBe(404);
    expect((await fixture().call(`/v1/plans/${plan.id}/explode`, { method: 'POST' })).status).toBe(404);
    const token = 'a-stranger-to-this-plan-1';
    await fixture().store.access.putToken({ hash: hashSecret(token), name: 'other', scopes: ['chat'] });
    const foreign = await fixture().call(`/v1/plans/${plan.id}/run`, { method: 'POST', token });
    expect(foreign.status).toBe(404);
  });

  it('waits in a chat for the Run button before each step in teacher mode, and keeps the mode in the meantime (S-02, S-40)', async () => {
    await planningProfile();
    const chat = OWNER_ID;
    const screen = (): string => fixture().telegram.screen(chat).join('\n');
    const shows = (text: RegExp): Promise<void> => vi.waitFor(() => expect(screen()).toMatch(text), WAIT);
    await greet(chat, shows);
    fixture().telegram.says(chat, '/mode teacher', chat);
    await shows(/Mode: teacher/);
    answers(
      'tidy up',
      ANALYSIS,
      PLAN,
      'First we look, to see what lies around.',
      LOOK,
      'Then we think.',
      'We have learned to look.',
    );
    fixture().telegram.says(chat, 'tidy up', chat);
    await shows(/Next: step 1.*First we look/s);
    fixture().telegram.says(chat, '/mode agentic', chat);
    await shows(/mode can change once it has ended/);
    fixture().telegram.press(chat, 'Run', chat);
    await shows(/Next: step 2.*Then we think/s);
    fixture().telegram.says(chat, '/skip', chat);
    await shows(/was skipped/);
    await shows(/We have learned to look/);
    const record = await fixture().store.plans.latestPlan(`telegram:${chat}`);
    expect(record?.plan).toMatchObject({
      mode: 'teacher',
      state: 'completed',
      steps: [{ status: 'done' }, { status: 'skipped' }],
    });
  });

  it('shows its card and the answer in a chat, not what a step says', async () => {
    await planningProfile();
    const chat = FRIENDS[1] ?? '';
    const screen = (): string => fixture().telegram.screen(chat).join('\n');
    const shows = (text: RegExp): Promise<void> => vi.waitFor(() => expect(screen()).toMatch(text), WAIT);
    await greet(chat, shows);
    fixture().telegram.says(chat, '/mode agentic', chat);
    await shows(/Mode: agentic/);
    answers('once more', ANALYSIS, PLAN, LOOK, 'Words of a step.', 'All is neat.');
    fixture().telegram.says(chat, 'once more', chat);
    await shows(/All is neat\./);
    expect(screen()).not.toContain('Words of a step.');
  });
});
