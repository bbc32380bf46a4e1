/**
 * Which mode a plan is followed in: the message's mode before the session's, the session's before the configured one,
 * else planner.
 */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { loadConfig } from '../../../src/config.ts';
import type { ExecutionMode } from '../../../src/protocol/agent/plan.ts';
import { SESSION_START } from '../../../src/protocol/store/records.ts';
import { describeStore } from '../../database.ts';
import { says, ScriptedProvider, type ScriptStep } from '../../fakes/agent/scripted-provider.ts';
import { openScenario } from '../../fakes/agent/turn-setup.ts';
import { describeGateway, FRIENDS, WAIT } from '../setup.ts';

const PLAN = 'Steps\n1. [SELF] Think';
/** What the model says after the plan, in each mode. */
const BEHIND: Readonly<Record<ExecutionMode, ScriptStep[]>> = {
  planner: [says('Done.')],
  agentic: [says('Thought.'), says('Done.')],
  teacher: [says('First I think.')],
};
type Choice = ExecutionMode | undefined;

describeStore('the mode of a plan', (databases) => {
  it.each<[message: Choice, session: Choice, fixture: Choice, used: ExecutionMode]>([
    ['agentic', 'teacher', 'planner', 'agentic'],
    ['planner', 'agentic', 'teacher', 'planner'],
    ['teacher', undefined, undefined, 'teacher'],
    [undefined, 'agentic', 'teacher', 'agentic'],
    [undefined, 'planner', 'agentic', 'planner'],
    [undefined, 'teacher', undefined, 'teacher'],
    [undefined, undefined, 'agentic', 'agentic'],
    [undefined, undefined, undefined, 'planner'],
  ])(
    'asked with the message: %s, set in the session: %s, configured: %s, is %s (S-02, S-04, S-05)',
    async (message, session, configured, used) => {
      const newSessions = { ...SESSION_START, ...(configured && { mode: configured }) };
      const store = await databases.open({ newSessions });
      const provider = new ScriptedProvider(says('One step.\nREFLECT: no'), says(PLAN), ...BEHIND[used]);
      const scenario = await openScenario(databases, { store, provider, profile: { planningEnabled: true } });
      if (session !== undefined) await store.ledger.updateSession('telegram:42', { mode: session }, {});
      const { outcome } = await scenario.ask('Think of it', {}, message && { mode: message });
      expect(outcome.kind).toBe(used === 'teacher' ? 'parked' : 'finished');
      expect((await store.plans.latestPlan('telegram:42'))?.plan.mode).toBe(used);
    },
  );

  it('is not guessed from an old name that a session kept: the user is shown the new name (S-03)', async () => {
    const store = await databases.open();
    const scenario = await openScenario(databases, { store, provider: new ScriptedProvider() });
    const { turnId, head } = await scenario.say('Think of it');
    await store.sql`update session set mode = 'fixer'`;
    const error: unknown = await scenario.run(head).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'bad_mode', retryable: false });
    if (head !== undefined)
      await scenario.agent.turns.onDeadLetter(
        head,
        error as Parameters<typeof scenario.agent.turns.onDeadLetter>[1],
      );
    const turn = await store.ledger.turn(turnId);
    expect(turn?.final).toMatchObject({
      isError: true,
      content: expect.stringContaining('called "planner" now'),
    });
  });
});

it('is planner for new sessions where config.json sets nothing, and its old name is refused (S-03, S-04)', async () => {
  const home = await mkdtemp(path.join(tmpdir(), 'parley-test-'));
  onTestFinished(() => rm(home, { recursive: true }));
  expect(loadConfig({ GATEWAY_HOME: home }).turns.mode).toBe('planner');
  await writeFile(path.join(home, 'config.json'), JSON.stringify({ turns: { mode: 'fixer' } }));
  expect(() => loadConfig({ GATEWAY_HOME: home })).toThrow(/turns\.mode[\s\S]*planner/);
});

const FILE = { access: { telegram: { allow: FRIENDS } }, turns: { mode: 'teacher', queueMode: 'collect' } };

describeGateway('modes of a gateway with a configured default', { telegram: true, file: FILE }, (fixture) => {
  const patch = (key: string, json: unknown): Promise<Response> =>
    fixture().call(`/v1/sessions/${key}`, { method: 'PATCH', json });
  const command = async (id: string, content: string): Promise<string> => {
    const answer = await fixture().call(`/v1/sessions/http:${id}/messages`, { json: { content } });
    const { reply }: { reply?: string } = await answer.json();
    return reply ?? '';
  };
  const stored = async (content: string): Promise<(string | null)[]> => {
    const rows = await fixture().sql<{ mode: string | null }[]>`
      select payload ->> 'mode' as mode from lane_item where payload -> 'message' ->> 'content' = ${content}`;
    return rows.map(({ mode }) => mode);
  };

  it('new sessions begin with it, whether a message or a command creates them (S-04, S-42)', async () => {
    expect(await command('asked', '/mode')).toMatch(/^Mode: teacher\./);
    expect(await command('asked', '/status')).toContain('Mode: teacher');
    await fixture().post('written', 'hello');
    const begun = await fixture().call('/v1/sessions/http:written');
    expect(await begun.json()).toMatchObject({ mode: 'teacher', queueMode: 'collect' });
    expect(await command('made', '/queue steer')).toContain('(steer)');
    const made = await fixture().call('/v1/sessions/http:made');
    expect(await made.json()).toMatchObject({ mode: 'teacher', queueMode: 'steer' });
  });

  it('/mode and /queue may be the first words of a chat (S-42)', async () => {
    const [chat = ''] = FRIENDS;
    fixture().telegram.says(chat, '/mode agentic', chat);
    const screen = (): string[] => fixture().telegram.screen(chat);
    await vi.waitFor(() => expect(screen().at(-1)).toContain('Mode: agentic'), WAIT);
    fixture().telegram.says(chat, '/queue', chat);
    await vi.waitFor(() => expect(screen().at(-1)).toContain('▶ collect'), WAIT);
    const session = await fixture().call(`/v1/sessions/telegram:${chat}`);
    expect(await session.json()).toMatchObject({ mode: 'agentic', queueMode: 'collect', messageCount: 0 });
  });

  it('one message may set its own on either channel, an unknown one is refused there (S-03, S-05)', async () => {
    const messages = [{ role: 'user', content: 'completed so' }];
    const complete = (mode: string): Promise<Response> =>
      fixture().call('/v1/chat/completions', {
        headers: { 'x-session-id': 'completing' },
        json: { messages, mode, stream: true },
      });
    await (await complete('agentic')).text();
    expect(await stored('completed so')).toEqual(['agentic']);
    const old = await complete('fixer');
    expect([old.status, await old.json()]).toMatchObject([
      400,
      { error: { code: 'bad_mode', param: 'mode', message: expect.stringContaining('planner') } },
    ]);
    await fixture().call('/v1/sessions/http:completing/messages', {
      json: { content: 'posted so', mode: 'planner' },
    });
    expect(await stored('posted so')).toEqual(['planner']);
    const session = await fixture().call('/v1/sessions/http:completing');
    expect(await session.json()).toMatchObject({ mode: 'teacher' });
  });

  it('while a plan runs the session keeps its mode on every channel, and one message may still set its own (S-40)', async () => {
    const folder = path.join(fixture().home, 'profiles', 'planner');
    await mkdir(folder, { recursive: true });
    await writeFile(
      path.join(folder, 'config.json'),
      JSON.stringify({ planningEnabled: true, enabledTools: [] }),
    );
    await vi.waitFor(
      async () => expect(await command('busy', '/profile planner')).toContain('`planner`'),
      WAIT,
    );
    for (const answer of ['One step.\nREFLECT: no', PLAN, 'First I think.'])
      fixture().ollama.answer(answer, { when: 'teach me' });
    await fixture().post('busy', 'teach me');
    await vi.waitFor(async () => {
      const waiting = await fixture().call('/v1/approvals');
      expect(await waiting.text()).toContain('First I think.');
    }, WAIT);
    const refused = await patch('http:busy', { mode: 'agentic' });
    expect([refused.status, await refused.json()]).toMatchObject([409, { error: { code: 'plan_running' } }]);
    expect(await command('busy', '/mode agentic')).toContain('A plan is running');
    const own = { content: 'behind it', mode: 'agentic' };
    const posted = await fixture().call('/v1/sessions/http:busy/messages', { json: own });
    expect(posted.status).toBe(202);
    await fixture().call('/v1/sessions/http:busy/stop', { method: 'POST' });
    await fixture().idle('http:busy');
    expect((await patch('http:busy', { mode: 'agentic' })).status).toBe(200);
  });
});
