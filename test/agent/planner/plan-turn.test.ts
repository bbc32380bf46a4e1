/** Planning before the loop, on a real store: when it happens, what it costs, what is kept and what users see. */
import { expect, it } from 'vitest';
import { MAX_PLANNING_CHARS, PLANNING_TEMPERATURE } from '../../../src/agent/plans/draft-plan.ts';
import { modePrompt } from '../../../src/agent/plans/step-prompt.ts';
import { LaneAbort } from '../../../src/protocol/bus.ts';
import { ProviderError } from '../../../src/protocol/errors.ts';
import { describeStore } from '../../database.ts';
import {
  ANALYSIS,
  only,
  PLAN,
  planned,
  planningScenario,
  REFLECTING,
  REVIEW,
  update,
} from '../../fakes/gateway/planned-turn.ts';
import { asks, fails, fallsSilent, says } from '../../fakes/agent/scripted-provider.ts';
import type { TurnScenario } from '../../fakes/agent/turn-setup.ts';

describeStore('planning', (databases) => {
  it('happens only where the profile enables it, and never in the plain entry (N-14, N-02)', async () => {
    const { scenario, provider } = await planningScenario(
      databases,
      {},
      says('a'),
      says('b'),
      says('DIRECT'),
      says('c'),
    );
    await scenario.ask('unplanned');
    scenario.profile = { ...scenario.profile, ...planned };
    await scenario.ask('plain', {}, { entry: 'run' });
    expect(provider.requests).toHaveLength(2);
    await scenario.ask('planned');
    expect(provider.requests).toHaveLength(4);
  });

  it('gives the model the planner mode prompt with each call of the loop, and with no other (S-44)', async () => {
    const script = [
      says(ANALYSIS),
      says(PLAN),
      update(1, 'done'),
      says('Bread.'),
      says('DIRECT'),
      says('Hi.'),
    ];
    const { scenario, provider } = await planningScenario(databases, planned, ...script);
    await scenario.ask('Bake');
    await scenario.ask('Hello');
    const holds = provider.requests.map(({ messages }) =>
      messages[0]?.content.endsWith(modePrompt('planner')),
    );
    expect(holds).toEqual([false, false, true, true, false, false]);
    expect(provider.requests[2]?.messages.filter(({ role }) => role === 'system')[0]?.content).toMatch(/---/);
  });

  it('ends with DIRECT after one call, without a plan, and its usage is stored (N-15)', async () => {
    const { scenario, provider } = await planningScenario(databases, planned, says('DIRECT'), says('Hello!'));
    const { turn } = await scenario.ask('Hi');
    expect(turn?.final?.content).toBe('Hello!');
    expect(provider.requests).toHaveLength(2);
    expect(only(scenario.events, 'plan_ready', 'todo_changed')).toEqual([]);
    expect(await databaseRows(scenario)).toMatchObject({ plans: 0, planMessages: 0 });
    expect(turn?.usage?.promptTokens).toBe(20);
  });

  it.each([
    { wanted: false, verdict: ANALYSIS, calls: 2 },
    { wanted: false, verdict: REFLECTING, calls: 2 },
    { wanted: true, verdict: ANALYSIS, calls: 2 },
    { wanted: true, verdict: REFLECTING, calls: 3 },
    { wanted: true, verdict: 'Goal: bread.\nREFLECT: perhaps', calls: 2 },
  ])(
    'reviews only where profile (here: $wanted) and analysis request it: $calls calls (N-16, N-17, N-33)',
    async (row) => {
      const review = row.calls === 3 ? [says(REVIEW)] : [];
      const profile = { ...planned, ...(row.wanted && { planningPhase2Enabled: true }) };
      const script = [says(row.verdict), ...review, says(PLAN), says('Bread.')];
      const { scenario, provider } = await planningScenario(databases, profile, ...script);
      await scenario.ask('Bake');
      expect(provider.requests).toHaveLength(row.calls + 1);
    },
  );

  it('feeds the analysis and the review to the plan (N-19)', async () => {
    const profile = { ...planned, planningPhase2Enabled: true };
    const script = [says(REFLECTING), says(REVIEW), says(PLAN), says('Bread.')];
    const { scenario, provider } = await planningScenario(databases, profile, ...script);
    await scenario.ask('Bake');
    const told = provider.requests.map(({ messages }) => messages.at(-1)?.content ?? '');
    expect(told[1]).toContain('Goal: bread.');
    expect(told[2]).toContain('Goal: bread.');
    expect(told[2]).toContain('Critic:\nthe oven may be cold');
    expect(told[2]).toContain('Plan Adjustments:\nlook first');
    expect(told[2]).toContain('- list_dir: List the files');
  });

  it('calls the model without tools, without thinking, at a low temperature, in the loop’s own window (N-28, N-31)', async () => {
    const { scenario, provider } = await planningScenario(
      databases,
      planned,
      says(ANALYSIS),
      says(PLAN),
      says('Bread.'),
    );
    await scenario.ask('Bake');
    const [first, second, loop] = provider.requests;
    for (const request of [first, second]) {
      expect(request).toMatchObject({ temperature: PLANNING_TEMPERATURE, think: false });
      expect(request?.tools).toBeUndefined();
      expect(request?.maxTokens).toBeLessThanOrEqual(2_048);
      expect(request?.contextWindow).toBe(loop?.contextWindow);
    }
    expect(loop).toMatchObject({ think: true });
    expect(loop?.tools).toHaveLength(2);
  });

  it('adds the plan to the context as a message of the agent, now and in later turns (N-25)', async () => {
    const script = [
      says(ANALYSIS),
      says(PLAN),
      update(1, 'done'),
      says('Bread.'),
      says('DIRECT'),
      says('Yes.'),
    ];
    const { scenario, provider } = await planningScenario(databases, planned, ...script);
    await scenario.ask('Bake');
    const own = provider.requests[2]?.messages ?? [];
    expect(own.map(({ role }) => role)).toEqual(['system', 'user', 'assistant', 'system']);
    expect(own[2]?.content).toContain('1. [TOOL: list_dir] Look around\n2. [SELF] Knead');
    expect(own[3]?.content).toContain('Carry out your plan now');
    expect(provider.requests[3]?.messages.map(({ role }) => role)).toEqual([
      'system',
      'user',
      'assistant',
      'assistant',
      'tool',
      'system',
    ]);
    await scenario.ask('Is it done?');
    const later = provider.requests.at(-1)?.messages ?? [];
    expect(later.slice(1, 3)).toMatchObject([
      { role: 'user', content: 'Bake' },
      { role: 'assistant', content: expect.stringContaining('[SELF] Bake') },
    ]);
  });

  it('stores a card, a todo list in the same order and the usage (N-26, N-27)', async () => {
    const { scenario } = await planningScenario(
      databases,
      planned,
      says(ANALYSIS),
      says(PLAN),
      says('Bread.'),
    );
    const { turn } = await scenario.ask('Bake');
    const messages = await scenario.store.ledger.messages('telegram:42', { limit: 10 });
    expect(messages.map(({ seq, isPlan, content }) => ({ seq, isPlan, content }))).toEqual([
      { seq: 1, isPlan: false, content: 'Bake' },
      { seq: 2, isPlan: true, content: expect.stringContaining('1. Look around *(tool list\\_dir)*') },
      { seq: 3, isPlan: false, content: 'Bread.' },
    ]);
    expect(only(scenario.events, 'todo_changed')[0]).toEqual({
      type: 'todo_changed',
      items: ['Look around', 'Knead', 'Bake'].map((text) => ({ text, status: 'pending' })),
    });
    expect(turn?.usage?.promptTokens).toBe(30);
  });

  it('streams as thinking, and emits the plan once, before any tool call (N-30)', async () => {
    const look = asks([{ name: 'list_dir', args: {} }]);
    const script = [says(ANALYSIS), says('Steps\n1. Lo', 'ok'), look, says('Bread.')];
    const { scenario } = await planningScenario(databases, planned, ...script);
    const { turn } = await scenario.ask('Bake');
    const types = scenario.types();
    expect(types.filter((type) => type === 'plan_ready')).toHaveLength(1);
    expect(types.indexOf('plan_ready')).toBeLessThan(types.indexOf('tool_call'));
    const thoughts = scenario.events.flatMap((event) =>
      event.type === 'thinking_delta' ? [event.delta] : [],
    );
    expect(thoughts.join('')).toContain('Steps\n1. Look');
    expect(types.filter((type) => type === 'thinking_started')).toHaveLength(2);
    expect(types.filter((type) => type === 'thinking_finished')).toHaveLength(2);
    expect(scenario.shown()).toBe(turn?.final?.content);
    expect(scenario.shown()).toBe('Bread.');
  });

  it('continues without a plan when the model wrote no numbered line (N-29)', async () => {
    const prose = says('First I would knead, then I would bake.');
    const { scenario } = await planningScenario(databases, planned, says(ANALYSIS), prose, says('Bread.'));
    const { turn } = await scenario.ask('Bake');
    expect(turn).toMatchObject({ reason: 'completed', final: { content: 'Bread.' } });
    expect(only(scenario.events, 'plan_ready', 'notice')).toEqual([]);
    expect(await databaseRows(scenario)).toMatchObject({ plans: 0 });
  });

  it('continues without a plan when planning fails, with a notice', async () => {
    const gone = new ProviderError('unavailable', 'The server went away.', { retryable: true });
    const { scenario } = await planningScenario(
      databases,
      planned,
      says(ANALYSIS),
      fails(gone, '1. Kn'),
      says('Bread.'),
    );
    const { turn } = await scenario.ask('Bake');
    expect(turn).toMatchObject({ reason: 'completed', final: { content: 'Bread.' } });
    expect(only(scenario.events, 'notice')).toMatchObject([
      { code: 'planning_failed', text: expect.stringContaining('The model is not available right now.') },
    ]);
    expect(scenario.logLines.join('')).toContain('planning_failed');
    // The call that broke is counted as well, as far as its usage is known.
    expect(turn?.usage).toMatchObject({ estimated: true });
    const types = scenario.types();
    expect(types.filter((type) => type === 'thinking_finished')).toHaveLength(2);
  });

  it('retries once with a shorter prompt when the first was too long (B-11)', async () => {
    const tooLong = fails(new ProviderError('context_overflow', 'Too long.'));
    const script = [
      says('DIRECT'),
      says('x'.repeat(30_000)),
      tooLong,
      says(ANALYSIS),
      says(PLAN),
      says('Bread.'),
    ];
    const { scenario, provider } = await planningScenario(databases, planned, ...script);
    await scenario.ask('Tell me much');
    await scenario.ask('Bake');
    expect(provider.requests[2]?.messages.length).toBeGreaterThan(provider.requests[3]?.messages.length ?? 0);
    expect(only(scenario.events, 'plan_ready')).toHaveLength(1);
    expect(only(scenario.events, 'notice')).toEqual([]);
  });

  it(`reads at most ${MAX_PLANNING_CHARS} characters of one planning call, then closes the connection`, async () => {
    const endless = says(`${ANALYSIS}\n`, ...Array.from({ length: 40 }, () => 'and so on '.repeat(100)));
    const { scenario, provider } = await planningScenario(
      databases,
      planned,
      endless,
      says(PLAN),
      says('Bread.'),
    );
    await scenario.ask('Bake');
    expect(provider.hungUp).toBe(1);
    expect(only(scenario.events, 'plan_ready')).toHaveLength(1);
  });

  it('is stopped in the middle of a silent planning call (N-43, N-58)', async () => {
    const { scenario, provider } = await planningScenario(
      databases,
      planned,
      says(ANALYSIS),
      fallsSilent('1. Kn'),
    );
    const { head, turnId } = await scenario.say('Bake');
    const stop = new AbortController();
    const running = scenario.run(head, stop.signal);
    await provider.silence();
    stop.abort(new LaneAbort('stopped'));
    await running;
    expect(provider.hungUp).toBe(1);
    const turn = await scenario.store.ledger.turn(turnId);
    expect(turn).toMatchObject({ reason: 'stopped', usage: { estimated: true } });
    expect(await databaseRows(scenario)).toMatchObject({ plans: 0 });
  });
});

/** What planning left in the store. */
async function databaseRows(scenario: TurnScenario): Promise<{ plans: number; planMessages: number }> {
  const messages = await scenario.store.ledger.messages('telegram:42', { limit: 200 });
  return {
    plans: (await scenario.store.plans.latestPlan('telegram:42')) === undefined ? 0 : 1,
    planMessages: messages.filter(({ isPlan }) => isPlan).length,
  };
}
