/** A turn that executes its plan: steps by tools and by the model, repairs, the final answer, and crashes in between. */
import { expect, it } from 'vitest';
import { RUN_PLAN } from '../../../src/agent/plans/run-plan.ts';
import { CORRECTION_PROMPT } from '../../../src/agent/plans/correction.ts';
import { ProviderError, ToolError } from '../../../src/protocol/errors.ts';
import type { ExecutionMode } from '../../../src/protocol/agent/plan.ts';
import { spawnAgent } from '../../../src/tools/spawn-agent.ts';
import { defineTool, type Tool } from '../../../src/protocol/agent/tool.ts';
import { z } from 'zod';
import { describeStore, type TestDatabases } from '../../database.ts';
import {
  asks,
  fails,
  says,
  SCRIPT_USAGE,
  ScriptedProvider,
  type ScriptStep,
} from '../../fakes/agent/scripted-provider.ts';
import { openScenario, type TurnScenario } from '../../fakes/agent/turn-setup.ts';

/** `read {name}` works for every name but `missing`; `write {name}` is recorded. */
function shelf(done: string[]): Tool[] {
  const parameters = z.strictObject({ name: z.string() });
  const bookTool = (
    name: string,
    { description, effect, reach }: Pick<Tool, 'description' | 'effect'> & { reach: 'session' | 'outside' },
    contentOf: (book: string) => string,
  ): Tool =>
    defineTool({
      name,
      description,
      parameters,
      effect,
      risk: () => 'safe',
      results: 'operator',
      reach: () => reach,
      async execute({ name: book }: z.infer<typeof parameters>) {
        done.push(`${name} ${book}`);
        return { content: contentOf(book) };
      },
    });
  const read = bookTool(
    'read',
    { description: 'Reads a book.', effect: 'pure', reach: 'session' },
    (book) => {
      if (book === 'missing') throw new ToolError('missing', 'There is no such book.');
      return `words of ${book}`;
    },
  );
  const write = bookTool(
    'write',
    { description: 'Writes a book.', effect: 'unsafe', reach: 'outside' },
    (book) => `${book} is written`,
  );
  return [read, write];
}

const planned = (...steps: string[]): ScriptStep[] => [
  says('It takes some steps.\nREFLECT: no'),
  says(['Milestones', '- All read', 'Steps', ...steps.map((step, n) => `${n + 1}. ${step}`)].join('\n')),
];
const calls = (name: string, book: string): ScriptStep => asks([{ name, args: { name: book } }]);

async function open(
  databases: TestDatabases,
  done: string[],
  ...steps: ScriptStep[]
): Promise<[TurnScenario, ScriptedProvider]> {
  const provider = new ScriptedProvider(...steps);
  const scenario = await openScenario(databases, {
    provider,
    tools: shelf(done),
    profile: { planningEnabled: true, iterationBudgetEnabled: false },
  });
  return [scenario, provider];
}

const ask = (scenario: TurnScenario, mode: ExecutionMode = 'agentic') =>
  scenario.ask('Read both books', {}, { mode });

describeStore('a plan in agentic mode', (databases) => {
  it('runs inside the turn, step by step, and is reported at the end (S-02, S-20)', async () => {
    const done: string[] = [];
    const [scenario, provider] = await open(
      databases,
      done,
      ...planned('[TOOL: read] Read the first', '[SELF] Compare', '[TOOL: write] Write it down'),
      calls('read', 'first'),
      says('They are alike.'),
      calls('write', 'notes'),
      says('Both are read.'),
    );
    const { turn } = await ask(scenario);
    expect(turn).toMatchObject({ reason: 'completed', final: { content: 'Both are read.' } });
    expect(done).toEqual(['read first', 'write notes']);
    const kinds = scenario.types().filter((type) => /^(plan_|step_|tool_)/.test(type));
    expect(kinds).toEqual([
      'plan_ready',
      'step_changed',
      'tool_call',
      'tool_result',
      'step_changed',
      'step_changed',
      'step_changed',
      'step_changed',
      'tool_call',
      'tool_result',
      'step_changed',
      'plan_completed',
    ]);
    // A step of one call offers that one tool; the agent's own work offers all; the final answer sees every result.
    expect(provider.requests[2]?.tools?.map(({ name }) => name)).toEqual(['read']);
    expect(provider.requests[3]?.tools?.map(({ name }) => name)).toEqual(['read', 'write']);
    expect(JSON.stringify(provider.requests[3]?.messages)).toContain('words of first');
    const last = provider.requests.at(-1)?.messages.at(-2);
    expect(last).toMatchObject({ role: 'tool', toolName: RUN_PLAN });
    expect(last?.content).toContain('They are alike.');
    expect(scenario.shown()).toBe('Both are read.');
    const plan = await scenario.store.plans.latestPlan('telegram:42');
    expect(plan?.plan).toMatchObject({ state: 'completed', mode: 'agentic' });
    expect(plan?.plan.steps.map(({ status }) => status)).toEqual(['done', 'done', 'done']);
    expect(turn?.usage?.completionTokens).toBe(6 * 5);
  });

  it('streams the text of a step as thinking under its title, and never as the answer', async () => {
    const done: string[] = [];
    const broken = new ProviderError('bad_response', 'cut', { retryable: true });
    const muse: ScriptStep = { chunks: [{ type: 'thinking', delta: 'Hm.' }, ...says('Al', 'ike.').chunks] };
    const [scenario] = await open(
      databases,
      done,
      ...planned('[TOOL: read] Read the first', '[SELF] Compare', '[TOOL: write] Write it down'),
      asks([{ name: 'read', args: { name: 'first' } }], 'I take it ', 'down.'),
      fails(broken, 'They'),
      muse,
      calls('write', 'notes'),
      says('Both are read.'),
    );
    const { turn } = await ask(scenario);
    const { turnId } = turn?.final ?? { turnId: '' };
    const thoughts = scenario.events.flatMap((event) => {
      if (!('msgId' in event) || event.msgId.includes('.plan.')) return [];
      const call = event.msgId.slice(turnId.length + 1);
      if (event.type === 'thinking_delta') return [`${call} ${event.delta}`];
      if (event.type === 'thinking_started') return [`${call} begins: ${event.title}`];
      return event.type === 'stream_chunk' ? [] : [`${call} ${event.type}`];
    });
    expect(thoughts).toEqual([
      '1001 begins: Step 1: Read the first',
      '1001 I take it ',
      '1001 down.',
      '1001 thinking_finished',
      '2001 begins: Step 2: Compare',
      '2001 They',
      '2001 thinking_finished',
      '2001 stream_reset',
      '2001 begins: Step 2: Compare',
      '2001 Hm.',
      '2001 \n\nAl',
      '2001 ike.',
      '2001 thinking_finished',
      '2 stream_start',
      '2 stream_end',
    ]);
    expect(scenario.shown()).toBe('Both are read.');
    expect(turn?.final?.content).toBe('Both are read.');
    // Six completed calls, and the one that broke after a word.
    const broke = 2;
    expect(turn?.usage?.completionTokens).toBe(6 * SCRIPT_USAGE.completionTokens + broke);
  });

  it('corrects a failed step with the correction call, which has its own prompt (S-14, S-26)', async () => {
    const done: string[] = [];
    const correction = {
      action: 'modify',
      reason: 'another book',
      command: { tool: 'read', args: { name: 'spare' } },
    };
    const [scenario, provider] = await open(
      databases,
      done,
      ...planned('[TOOL: read] Read the first'),
      calls('read', 'missing'),
      says(JSON.stringify(correction)),
      says('The spare one is read.'),
    );
    await ask(scenario);
    expect(done).toEqual(['read missing', 'read spare']);
    const asked = provider.requests[3];
    expect(asked?.messages.map(({ role }) => role)).toEqual(['system', 'user']);
    expect(asked?.messages[0]?.content).toBe(CORRECTION_PROMPT);
    expect(asked?.messages[1]?.content).toContain('There is no such book.');
    expect(asked?.tools).toBeUndefined();
    const revised = scenario.events.find((event) => event.type === 'plan_revised');
    const stored = await scenario.store.plans.latestPlan('telegram:42');
    expect(revised?.plan.steps[0]).toMatchObject({ args: { name: 'spare' } });
    expect(stored?.plan.steps[0]).toMatchObject({ args: { name: 'spare' }, status: 'done', attempts: 2 });
  });

  it('ends stuck after three corrections, and the answer reports it (S-21, S-36)', async () => {
    const done: string[] = [];
    const retry = says(
      '{"action":"retry","reason":"again","command":{"tool":"read","args":{"name":"missing"}}}',
    );
    const [scenario, provider] = await open(
      databases,
      done,
      ...planned('[TOOL: read] Read the first', '[TOOL: write] Write'),
      calls('read', 'missing'),
      retry,
      retry,
      retry,
      says('The book is not there.'),
    );
    const { turn } = await ask(scenario);
    expect(turn?.final?.content).toBe('The book is not there.');
    expect(done).toHaveLength(4);
    const ends = scenario.types().filter((type) => type === 'plan_cancelled' || type === 'plan_completed');
    expect(ends).toEqual(['plan_cancelled']);
    expect(provider.requests.at(-1)?.messages.at(-2)?.content).toMatch(
      /cancelled\. Why:\n\[.*\]\nStep 1 still fails after 3/,
    );
    const stored = await scenario.store.plans.latestPlan('telegram:42');
    expect(stored?.plan).toMatchObject({
      state: 'cancelled',
      steps: [{ status: 'failed' }, { status: 'pending' }],
    });
  });

  it('is known to later turns by its report, not by its steps (S-20)', async () => {
    const done: string[] = [];
    const [scenario, provider] = await open(
      databases,
      done,
      ...planned('[TOOL: read] Read the first'),
      calls('read', 'first'),
      says('It is read.'),
      says('DIRECT'),
      says('You are welcome.'),
    );
    await ask(scenario);
    await scenario.ask('Thank you');
    const seen = JSON.stringify(provider.requests.at(-1)?.messages);
    expect(seen).toContain(RUN_PLAN);
    expect(seen).toContain('It is read.');
    expect(seen).not.toContain('plan_fact');
    expect(provider.requests.at(-1)?.messages.filter(({ role }) => role === 'tool')).toHaveLength(1);
  });

  it('delegates a step to a subagent, which works independently, and keeps its result (N-21, S-20)', async () => {
    const provider = new ScriptedProvider(
      ...planned('[AGENT: default] Find out which is older', '[SELF] Compare'),
      says('The first is older.'),
      says('So it is.'),
      says('The first one.'),
    );
    const scenario = await openScenario(databases, {
      provider,
      tools: [...shelf([]), spawnAgent],
      profile: { planningEnabled: true },
    });
    await ask(scenario);
    expect(scenario.shown()).toBe('The first one.');
    const stored = await scenario.store.plans.latestPlan('telegram:42');
    expect(stored?.plan.steps.map(({ executor, status }) => `${executor.kind} ${status}`)).toEqual([
      'agent done',
      'self done',
    ]);
    expect(JSON.stringify(provider.requests[2]?.messages)).toContain('which is older');
    expect(JSON.stringify(provider.requests[3]?.messages)).toContain('The first is older.');
    expect(scenario.ofAgents.map(({ type }) => type)).toContain('subagent_completed');
  });

  it('does not execute the plan in planner mode: the loop follows it (S-02)', async () => {
    const done: string[] = [];
    const [scenario, provider] = await open(
      databases,
      done,
      ...planned('[TOOL: read] Read the first'),
      calls('read', 'first'),
      says('Read.'),
    );
    await ask(scenario, 'planner');
    expect(provider.requests).toHaveLength(4);
    expect(provider.requests[2]?.tools).toHaveLength(2);
  });
});
