/** Turns that plan: what the model says in each phase, and a scenario whose model says it. */
import { onTestFinished } from 'vitest';
import type { EventBody } from '../../../src/protocol/event.ts';
import type { Profile } from '../../../src/protocol/agent/profile.ts';
import type { ChatChunk, ChatRequest } from '../../../src/protocol/agent/provider.ts';
import { listDir } from '../../../src/tools/files/list-dir.ts';
import { createTodoTool } from '../../../src/tools/todo.ts';
import type { TestDatabases } from '../../database.ts';
import { ReplayProvider } from '../agent/replay-provider.ts';
import { asks, says, ScriptedProvider, type ScriptStep } from '../agent/scripted-provider.ts';
import { TurnScenario } from '../agent/turn-setup.ts';

export const ANALYSIS = 'Goal: bread.\nREFLECT: no';
export const REFLECTING = 'Goal: bread.\nREFLECT: yes';
export const REVIEW = 'Critic: the oven may be cold\nPlan Adjustments: look first';
export const PLAN =
  'Milestones\n- Dough\nSteps\n1. [TOOL: list_dir] Look around\n2. [SELF] Knead\n3. [SELF] Bake';
export const planned = { planningEnabled: true };

/** A scenario whose model follows the steps, with the tools `list_dir` and `todo`. */
export async function planningScenario(
  databases: TestDatabases,
  profile: Partial<Profile>,
  ...steps: ScriptStep[]
): Promise<{ scenario: TurnScenario; provider: ScriptedProvider }> {
  const store = await databases.open();
  const provider = new ScriptedProvider(...steps);
  const tools = [listDir, createTodoTool(store.todos)];
  const scenario = new TurnScenario({ store, provider, tools, profile });
  onTestFinished(() => scenario.close());
  await scenario.start();
  return { scenario, provider };
}

/** A step in which the model sets the status of item `index` of its todo list, after the text `words`. */
export const update = (index: number, status: string, ...words: string[]): ScriptStep =>
  asks([{ name: 'todo', args: { action: 'update', index, status } }], ...words);

/** The events of these types. */
export const only = (events: EventBody[], ...types: string[]): EventBody[] =>
  events.filter(({ type }) => types.includes(type));

/** A model that plans when asked to; its answers depend only on the progress of the turn. */
export class PlanningModel extends ReplayProvider {
  planningCalls = 0;
  readonly #answers: readonly ScriptStep[];

  constructor(...answers: ScriptStep[]) {
    super({});
    this.#answers = answers;
  }

  override async *streamChat(request: ChatRequest, signal: AbortSignal): AsyncGenerator<ChatChunk, void> {
    yield* new ScriptedProvider(this.#stepFor(request)).streamChat(request, signal);
  }

  #stepFor({ messages, tools }: ChatRequest): ScriptStep {
    const prompt = messages.at(-1)?.content ?? '';
    const plan = prompt.includes('first judge')
      ? ANALYSIS
      : prompt.includes('write the plan')
        ? PLAN
        : undefined;
    if (plan !== undefined && tools === undefined) {
      this.planningCalls += 1;
      return says(plan);
    }
    const question = messages.findLastIndex(({ role }) => role === 'user');
    const own = messages
      .slice(question)
      .filter(({ role, content }) => role === 'assistant' && !content.startsWith('My plan.')).length;
    const step = this.#answers[own];
    if (step === undefined) throw new Error(`The model has no answer ${own}.`);
    return step;
  }
}
