/** Plans for tests, and an executor around scripted steps and corrections that keeps its journal in memory. */
import type { EventBody } from '../../../src/protocol/event.ts';
import type { AgentCorrection, Failure } from '../../../src/agent/plans/correction.ts';
import type { Classify } from '../../../src/agent/plans/edits.ts';
import type { GateVerdict } from '../../../src/agent/plans/gate.ts';
import { PlanExecutor } from '../../../src/agent/plans/plan-executor.ts';
import { RollingContext } from '../../../src/agent/plans/rolling-context.ts';
import { foldFacts, type PlanRun, type StepOutcome } from '../../../src/agent/plans/run-state.ts';
import type { Plan, PlanFact, PlanStep } from '../../../src/protocol/agent/plan.ts';

/** A plan of `length` steps that all call `probe`, deeply frozen. */
export function testPlan(length: number, over: Partial<Plan> = {}): Plan {
  const steps = Array.from({ length }, (_, index) => testStep(index));
  const plan: Plan = {
    id: 'plan-1',
    goal: 'The fence is painted',
    milestones: [],
    steps,
    mode: 'agentic',
    state: 'running',
    originalLength: length,
    ...over,
  };
  return deepFreeze(plan);
}

export function testStep(index: number, over: Partial<PlanStep> = {}): PlanStep {
  return {
    id: `s${index + 1}`,
    index,
    description: `Do part ${index + 1}`,
    executor: { kind: 'tool', tool: 'probe' },
    args: { part: index + 1 },
    risk: 'safe',
    status: 'pending',
    attempts: 0,
    corrections: 0,
    ...over,
  };
}

/** Anything that calls `danger` is dangerous. */
export const classifyByName: Classify = ({ executor }) =>
  executor.kind === 'tool' && executor.tool === 'danger' ? 'dangerous' : 'safe';

export function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const part of Object.values(value)) deepFreeze(part);
  }
  return value;
}

export interface PlanScenarioOptions {
  plan: Plan;
  /** Returns the result of a step's run; by default it succeeds. */
  step?: (step: PlanStep, run: number) => { content: string; isError: boolean };
  correct?: (failure: Failure, nth: number) => AgentCorrection;
  gate?: (step: PlanStep, run: PlanRun) => GateVerdict;
  /** Called before (`committed` false) and after each commit: throw to die there. */
  commit?: (n: number, fact: PlanFact, committed: boolean) => void;
  /** True for a fact that is not stored, because users have changed the plan in the meantime. */
  refuse?: (fact: PlanFact) => boolean;
  signal?: AbortSignal;
}

/** A scenario in which one plan runs, and continues after a crash with another `run`. */
export class PlanScenario {
  readonly facts: PlanFact[];
  /** The plan as the last commit left it. */
  stored: Plan;
  readonly events: EventBody[] = [];
  /** Runs of steps that did something, as `<step id>#<run>`. */
  readonly runs: string[] = [];
  readonly failures: Failure[] = [];
  parked = 0;
  /** Called for each event as it happens. */
  onEvent: ((event: EventBody) => void | Promise<void>) | undefined;
  readonly #options: PlanScenarioOptions;
  /** Settles when every event so far was passed on: nothing continues before that. */
  #eventsPassedOn: Promise<void> = Promise.resolve();

  constructor(options: PlanScenarioOptions) {
    this.#options = options;
    this.facts = [{ type: 'started', plan: options.plan }];
    this.stored = options.plan;
  }

  /** Continues the plan from its journal, as a new process would. */
  async run(): Promise<PlanRun> {
    const start = foldFacts(this.facts);
    if (start === undefined) throw new Error('There is no plan.');
    const end = await this.#executor(deepFreeze(start)).execute();
    await this.#eventsPassedOn;
    return end;
  }

  types(): string[] {
    return this.events.map(({ type }) => type);
  }

  #executor(start: PlanRun): PlanExecutor {
    const { step = worked, correct = noCorrection, gate = goes, commit, refuse } = this.#options;
    const { signal = new AbortController().signal } = this.#options;
    const context = new RollingContext(async () => 'a sentence');
    for (const { step: ran, result } of start.results) context.addStep(ran, result);
    const emit = (event: EventBody): void => {
      this.events.push(event);
      const { onEvent } = this;
      if (onEvent !== undefined) this.#eventsPassedOn = this.#eventsPassedOn.then(() => onEvent(event));
    };
    // oxlint-disable-next-line typescript/no-this-alias -- the executor has its own `this`
    const scenario = this;
    class ScriptedExecutor extends PlanExecutor {
      protected override async journal(n: number, fact: PlanFact, plan: Plan): Promise<boolean> {
        await scenario.#eventsPassedOn;
        if (refuse?.(fact) === true) return false;
        commit?.(n, fact, false);
        const { facts } = scenario;
        if (facts.length !== n) throw new Error(`Fact ${n} came when there were ${facts.length}.`);
        facts.push(deepFreeze(fact));
        scenario.stored = deepFreeze(plan);
        commit?.(n, fact, true);
        return true;
      }
      protected override async runStep(ran: PlanStep, run: number): Promise<StepOutcome> {
        await scenario.#eventsPassedOn;
        scenario.runs.push(`${ran.id}#${run}`);
        return step(ran, run);
      }
      protected override async correct(failure: Failure): Promise<AgentCorrection> {
        await scenario.#eventsPassedOn;
        scenario.failures.push(failure);
        return deepFreeze(correct(failure, scenario.failures.length));
      }
      protected override async gate(next: PlanStep, run: PlanRun): Promise<GateVerdict> {
        await scenario.#eventsPassedOn;
        return gate(next, run);
      }
      protected override async park(): Promise<void> {
        await scenario.#eventsPassedOn;
        scenario.parked += 1;
      }
    }
    return new ScriptedExecutor(start, context, classifyByName, emit, signal);
  }
}

const worked = (): { content: string; isError: boolean } => ({ content: 'ok', isError: false });
const goes = (): GateVerdict => ({ kind: 'go' });
const noCorrection = (): AgentCorrection => ({ action: 'abort', reason: 'nobody knows' });
