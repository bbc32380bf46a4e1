/** A process that dies at each point of a plan's journal: same plan, same answer, no step's work done twice. */
import { expect, it } from 'vitest';
import { SUMMARY_PROMPT } from '../../../src/agent/plans/step-prompt.ts';
import type { Ledger } from '../../../src/protocol/store/ledger.ts';
import type { Plan } from '../../../src/protocol/agent/plan.ts';
import type {
  ChatChunk,
  ChatRequest,
  ChatProvider,
  ModelCapabilities,
} from '../../../src/protocol/agent/provider.ts';
import { describeStore, type TestStore } from '../../database.ts';
import { dyingAt, notOfDeath, TURN_STEPS } from '../../fakes/agent/dying-store.ts';
import { type EffectsServer, effectTools, startEffects } from '../../fakes/agent/effect-tools.ts';
import { asks, says, ScriptedProvider, type ScriptStep } from '../../fakes/agent/scripted-provider.ts';
import { TurnScenario } from '../../fakes/agent/turn-setup.ts';
import { defineTool, type Tool } from '../../../src/protocol/agent/tool.ts';
import { z } from 'zod';

const STEPS = [...TURN_STEPS, 'storePlan', 'planFact'];

/** Tokens of an answer, and of a sentence about earlier steps: such a sentence may be lost or generated again. */
const ANSWER_TOKENS = 100;
const SENTENCE_TOKENS = 1;

const PLAN = [
  '1. [TOOL: unsafe_probe] One',
  '2. [TOOL: broken_probe] Two',
  '3. [SELF] Three',
  '4. [TOOL: idempotent_probe] Four',
  '5. [TOOL: broken_probe] Five',
  '6. [TOOL: unsafe_probe] Six',
].join('\n');

/** A model whose answer depends only on the request, so it says the same thing again after a crash. */
class PlanModel implements ChatProvider {
  readonly name = 'plan';
  calls = 0;
  /** Calls that completed. */
  paid = 0;

  async models(): Promise<string[]> {
    return ['test-model'];
  }

  async capabilities(): Promise<ModelCapabilities> {
    return { contextWindow: 16_384, tools: true, thinking: false, vision: false };
  }

  async *streamChat(request: ChatRequest, signal: AbortSignal): AsyncGenerator<ChatChunk, void> {
    // Sentences about earlier steps are generated in the background, and again after a crash.
    const isSentence = request.messages[0]?.content === SUMMARY_PROMPT;
    const step = isSentence ? says('x') : answerTo(request);
    if (!isSentence) this.calls += 1;
    const completionTokens = isSentence ? SENTENCE_TOKENS : ANSWER_TOKENS;
    const usage = { promptTokens: 1, completionTokens, modelMs: 1 };
    for await (const chunk of new ScriptedProvider({ ...step, usage }).streamChat(request, signal)) {
      if (chunk.type === 'done' && !isSentence) this.paid += 1;
      yield chunk;
    }
  }

  async close(): Promise<void> {}
}

function answerTo({ messages }: ChatRequest): ScriptStep {
  const first = messages[0]?.content ?? '';
  const asked = messages.findLast(({ role }) => role === 'user')?.content ?? '';
  const all = JSON.stringify(messages);
  const last = messages.findLast(({ role }) => role !== 'system');
  if (first.startsWith('A plan is being carried out step by step')) return says(correctionFor(asked));
  if (last?.role === 'tool' && all.includes('carry_out_plan')) return says('All six are done.');
  const [, tool] = /one call of the tool (\w+)/.exec(asked) ?? [];
  if (tool !== undefined) return asks([{ name: tool, args: {} }]);
  if (asked.includes('none of the others: Three')) {
    // Its own work: one call with an effect, then its result.
    return last?.role === 'tool'
      ? says('Three is done.')
      : asks([{ name: 'unsafe_probe', args: { word: 'three' } }]);
  }
  return says(all.includes('write the plan') ? PLAN : 'Six steps.\nREFLECT: no');
}

/** The second step gets a repair inserted before it and then works; the fifth gets another tool. */
function correctionFor(asked: string): string {
  const repair = { description: 'Repair', tool: 'unsafe_probe', args: { word: 'repair' } };
  return asked.includes('Failed: [s2]')
    ? JSON.stringify({ action: 'insert_steps', reason: 'repair it', newSteps: [repair] })
    : JSON.stringify({
        action: 'modify',
        reason: 'other',
        command: { tool: 'idempotent_probe', args: { word: 'five' } },
      });
}

/** Works in the fourth run of a step, which is the second step's after its repair. */
const brokenProbe: Tool = defineTool({
  name: 'broken_probe',
  description: 'Works only after a repair.',
  parameters: z.strictObject({}),
  effect: 'pure',
  risk: () => 'safe',
  results: 'operator',
  reach: () => 'session',
  execute: async (_args, ctx) =>
    ctx.callKey === `${ctx.turnId}.4001.0`
      ? { content: 'works' }
      : { content: 'it is broken', isError: true },
});

interface Ran {
  seen: string[];
  turnId: string;
  died: boolean;
  calls: number;
  plan: Plan | undefined;
  /** For each run of the turn: how often it reported the end of the plan. */
  told: { ends: number; showed: boolean }[];
  text: string | undefined;
  /** Completed answers, those of them with no commit before the crash, and those in the usage table. */
  paid: number;
  unkept: number;
  counted: number;
}

async function dieAndResume(
  store: TestStore,
  effects: EffectsServer,
  at: number,
  when: 'before' | 'after',
): Promise<Ran> {
  const provider = new PlanModel();
  const tools = [...effectTools(effects.url), brokenProbe];
  const death = dyingAt(at, when, STEPS);
  const profile = { planningEnabled: true };
  let kept = 0;
  const around = (ledger: Ledger): Ledger => death.of(afterEach(ledger, () => void (kept = provider.paid)));
  const first = new TurnScenario({ store, provider, tools, profile, around });
  await first.start();
  const { head, turnId } = await first.say('Do six things', { chatId: `${when}-${at}` }, { mode: 'agentic' });
  await first.run(head).catch(notOfDeath);
  const unkept = provider.paid - kept;
  const second = new TurnScenario({ store, provider, tools, profile });
  await second.start();
  const resumed = await second.sweep();
  if (resumed !== undefined) await second.run(resumed);
  await Promise.all([first.close(), second.close()]);
  const stored = await store.plans.latestPlan(`telegram:${when}-${at}`);
  const turn = await store.ledger.turn(turnId);
  const told = [first, second].map((scenario) => {
    const ends = scenario.types().filter((type) => /^plan_(completed|cancelled)$/.test(type));
    return { ends: ends.length, showed: scenario.types().includes('plan_ready') };
  });
  const counted = Math.floor((turn?.usage?.completionTokens ?? 0) / ANSWER_TOKENS);
  const { seen } = death;
  const { calls, paid } = provider;
  const ended = { plan: stored?.plan, told, text: turn?.final?.content };
  return { seen, turnId, died: death.died(), calls, paid, unkept, counted, ...ended };
}

/** Calls `made` after each step that was committed. */
function afterEach(ledger: Ledger, made: () => void): Ledger {
  return new Proxy(ledger, {
    get(target, name) {
      const step: unknown = Reflect.get(target, name);
      if (typeof step !== 'function' || !STEPS.includes(String(name))) return step;
      return async (...args: unknown[]): Promise<unknown> => {
        const done: unknown = await Reflect.apply(step, target, args);
        made();
        return done;
      };
    },
  });
}

const shape = (plan: Plan | undefined): unknown => plan && { ...plan, id: '', steps: plan.steps };

describeStore('a plan whose process dies', (databases) => {
  it('ends with the same plan wherever it died, runs no step twice, and counts each call once except the one in flight (S-01, S-26, S-27)', async () => {
    const store = await databases.open();
    const effects = await startEffects();
    const whole = await dieAndResume(store, effects, Number.POSITIVE_INFINITY, 'after');
    expect(whole.text).toBe('All six are done.');
    expect(whole.plan?.steps.map(({ id, status }) => `${id} ${status}`)).toEqual([
      's1 done',
      'added-1 done',
      's2 done',
      's3 done',
      's4 done',
      's5 done',
      's6 done',
    ]);
    expect(new Set(whole.seen)).toEqual(new Set(STEPS));
    expect(whole).toMatchObject({ unkept: 0, counted: whole.paid });
    const failures: string[] = [];
    for (const at of whole.seen.keys()) {
      for (const when of ['before', 'after'] as const) {
        const run = await dieAndResume(store, effects, at, when);
        // The unsafe call had started and its result is missing: it is not rerun, so its step failed.
        const step = run.seen[at];
        const lost = when === 'after' ? step === 'toolIntent' : step === 'toolResult';
        const counts = [...effects.counts()].filter(([key]) => key.includes(run.turnId));
        const twice = counts.filter(([key, count]) => key.startsWith('unsafe') && count > 1);
        const found = [
          !run.died && 'did not die',
          run.text !== whole.text && `ended with ${run.text}`,
          !lost && JSON.stringify(shape(run.plan)) !== JSON.stringify(shape(whole.plan)) && 'another plan',
          run.told.some(({ ends }) => ends > 1) && 'an end was told twice in one run',
          run.told[1]?.showed === true && run.told[1].ends !== 1 && 'the run that went on told no end',
          run.counted !== run.paid - run.unkept && `counted ${run.counted} of ${run.paid} calls`,
          run.unkept > (step === 'storePlan' ? 2 : 1) && `lost ${run.unkept} calls`,
          run.calls > whole.calls + 2 && `asked the model ${run.calls} times`,
          ...twice.map(([key, count]) => `${key} ran ${count} times`),
        ].filter((failure) => failure !== false);
        failures.push(...found.map((failure) => `${when} ${whole.seen[at]} (${at}): ${failure}`));
      }
    }
    expect(failures).toEqual([]);
    await effects.close();
  }, 300_000);
});
