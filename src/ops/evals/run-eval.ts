/** An evaluation: every turn of a set on every model, a few at a time; after an interruption it goes on where it was. */
import { createHash } from 'node:crypto';
import type {
  EvalCheck,
  EvalItem,
  Replay,
  ReplayPayer,
  ReplayReport,
  Replays,
  ReplayStore,
} from '../../protocol/agent/replays.ts';
import type { Profile } from '../../protocol/agent/profile.ts';
import { GatewayError } from '../../protocol/errors.ts';
import { PARLEY } from '../../protocol/texts/parley.ts';
import { forEachConcurrently } from '../../lib/async/run-concurrently.ts';
import { sortKeys } from '../../lib/json/json.ts';
import { checkReplay } from './checks.ts';
import { duration } from '../trace/explain.ts';

/** Models of one evaluation. */
export const MAX_EVAL_MODELS = 10;
/** Replays that run at the same time: by default, and at most. */
export const EVAL_CONCURRENCY = 2;
export const MAX_EVAL_CONCURRENCY = 16;

/** What is evaluated. */
export interface EvalPlan {
  set: string;
  models: readonly string[];
  /** Replaces the prompts and tools of the turns. */
  profile?: Profile | undefined;
  /** Besides those of the single turns. */
  checks: readonly EvalCheck[];
  judge?: string | undefined;
}

/** How it runs. */
export interface EvalDeps {
  store: ReplayStore;
  replays: Replays;
  report: (replay: Replay) => ReplayReport;
  payer: ReplayPayer;
  concurrency: number;
  /** Forgets what an interrupted run of the same evaluation has done. */
  fresh: boolean;
  /** Told each step. */
  progress: (line: string) => void;
  signal: AbortSignal;
}

/** The outcome, in the order of models and marks. */
export interface EvalReport {
  set: string;
  models: readonly string[];
  profile: string | null;
  startedAt: string;
  endedAt: string;
  items: EvalItem[];
}

/**
 * Runs it. Throws `GatewayError`: `unknown_set` for one without turns, `stopped` when the signal aborts, `unknown_model`,
 * and `StoreError`.
 */
export async function runEval(plan: EvalPlan, deps: EvalDeps): Promise<EvalReport> {
  const { store, progress, signal, concurrency } = deps;
  const startedAt = new Date().toISOString();
  const marks = await store.marks({ set: plan.set });
  if (marks.length === 0)
    throw new GatewayError(
      'unknown_set',
      `The set ${plan.set} has no turns. Mark some: ${PARLEY} eval mark TURN --set ${plan.set}`,
    );
  for (const model of [...plan.models, ...(plan.judge === undefined ? [] : [plan.judge])])
    await deps.replays.check({ model }, signal);
  const run = runOf(plan);
  if (deps.fresh) await store.endEval(run);
  const previous = await store.evalItems(run);
  const items = new Map(previous.map((item) => [keyOf(item.model, item.report.turnId), item]));
  const work = plan.models.flatMap((model) => marks.map(({ turnId }) => ({ model, turnId })));
  const rest = work.filter(({ model, turnId }) => !items.has(keyOf(model, turnId)));
  if (rest.length < work.length)
    progress(`Going on where it was: ${work.length - rest.length} of ${work.length} are done.`);
  // One model after the other: a machine with room for one would load them in turn.
  for (const model of plan.models) {
    const ofModel = rest.filter((one) => one.model === model);
    await forEachConcurrently(ofModel, concurrency, async ({ turnId }) => {
      signal.throwIfAborted();
      const item = await evaluate(plan, deps, model, turnId);
      if (item === undefined) return;
      items.set(keyOf(model, turnId), item);
      // A replay that failed is tried again.
      if (item.report.replay.error === undefined) await store.keepEvalItem(run, item);
      progress(progressLine(item, items.size, work.length));
    }).catch((error: unknown) => {
      if (!signal.aborted) throw error;
      const text = `Stopped: ${items.size} of ${work.length} are done. The same command goes on from there.`;
      throw new GatewayError('stopped', text, { cause: error });
    });
  }
  await store.endEval(run);
  return {
    set: plan.set,
    models: plan.models,
    profile: plan.profile?.id ?? null,
    startedAt,
    endedAt: new Date().toISOString(),
    items: work.flatMap(({ model, turnId }) => items.get(keyOf(model, turnId)) ?? []),
  };
}

/** One turn on one model; undefined when it is no longer marked. */
async function evaluate(
  { set, profile, checks, judge: judgeModel }: EvalPlan,
  { store, replays, report, payer, signal }: EvalDeps,
  model: string,
  turnId: string,
): Promise<EvalItem | undefined> {
  const marked = await store.evalCase(set, turnId);
  if (marked === undefined) return undefined;
  const replay = await replays.run(marked.record, { model, profileId: profile?.id }, payer, signal);
  const judge = { replays, model: judgeModel, payer, signal };
  const results = await checkReplay(replay, [...marked.checks, ...checks], judge);
  return { model, pass: results.every(({ pass }) => pass), checks: results, report: report(replay) };
}

/** The same for the same evaluation: also the profile as it is now, because a change of it is what is evaluated. */
function runOf(plan: EvalPlan): string {
  return createHash('sha256')
    .update(JSON.stringify(sortKeys(plan)))
    .digest('hex');
}

function keyOf(model: string, turnId: string): string {
  return `${model} ${turnId}`;
}

function progressLine({ model, pass, report }: EvalItem, count: number, total: number): string {
  return `[${count}/${total}] ${model}  ${report.turnId}  ${pass ? 'passed' : 'failed'}  ${duration(report.replay.ms)}`;
}
