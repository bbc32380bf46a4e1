/** kill -9 at named points: the steps of a message's life (K1-K15) and of the process (K18-K20); `work` has K16 and K17. */
import { runCampaign } from '../crash/campaign.ts';
import { type Failure, type FailureResult, gatewayAt, kill, type Stage } from '../crash/failure.ts';
import { until } from '../crash/moments.ts';
import type { WireStatement } from '../fakes/network/wire-statements.ts';
import { type Campaign, type DatabaseKind, repeated, RESUME_MS, runOptions, scaled } from './campaign.ts';
import { killWhileMigrating } from './first-start.ts';

/** How long it may take to reach a point, in milliseconds; then the kill comes anyway, and is counted separately. */
const REACHED_WITHIN_MS = 8_000;
/**
 * While a summary is awaited, each session sends one more message this often, in milliseconds, this many times at most:
 * a session is summarized again after about 40 messages, and a dozen have come since the last kill at this point.
 */
const ROUND_MS = 1_500;
const MOST_ROUNDS = 45;
/** Telegram's reply to a first message is delayed this long, in milliseconds: the kill comes in the meantime. */
const REPLY_KEPT_MS = 400;
/** The longest time between SIGTERM and SIGKILL, in milliseconds. */
const DRAIN_MS = 300;
/** A profile whose sessions are summarized again after some turns; what a turn gathers itself always fits. */
const FORGETFUL = { contextWindow: 8_192, compressionThreshold: 0.2 };

/** Waits until the process of gateway `at` reaches the point; false when it did not get there in time. */
type Reach = (stage: Stage, at: number) => Promise<boolean>;

interface Point {
  name: string;
  /** Statements can be held on Postgres only: the embedded database has no wire outside its process. */
  databases: readonly DatabaseKind[];
  reach: Reach;
}

const inSql =
  (part: string) =>
  ({ sql }: WireStatement): boolean =>
    sql.includes(part);
const journals =
  (kind: string) =>
  ({ sql, values }: WireStatement): boolean =>
    sql.includes('insert into context') &&
    !sql.includes('advanced as') &&
    values.includes(`"kind":"${kind}"`);
const accepts = inSql('insert into turn (id');
const opensTurn = inSql("set state = 'running'");
const finishesTurn = inSql("set state = 'done'");
const notesParts = ({ sql }: WireStatement): boolean =>
  sql.includes('insert into delivery (ref, parts)') && !sql.includes('advanced as');
const delivers = ({ sql }: WireStatement): boolean =>
  sql.includes('insert into delivery (ref, parts)') && sql.includes('advanced as');

/** A point at a statement: `before` the server has it, or `after` it is committed and before the process knows. */
function at(name: string, when: 'before' | 'after', fits: (statement: WireStatement) => boolean): Point {
  const reach: Reach = async ({ scenario }, turn) => {
    const proxy = scenario.proxies[turn % scenario.proxies.length];
    if (proxy === undefined) throw new Error('The points need a proxy before each gateway.');
    let isHeld = false;
    const trap = proxy.hold(fits, when);
    void trap.held.then(() => (isHeld = true));
    const reached = await until(() => isHeld, REACHED_WITHIN_MS);
    trap.forget();
    return reached;
  };
  return { name, databases: ['postgres'], reach };
}

/** A point that the fakes see. */
function seen(name: string, count: (stage: Stage) => number, prepare?: (stage: Stage) => void): Point {
  const reach: Reach = (stage) => {
    prepare?.(stage);
    const before = count(stage);
    return until(() => count(stage) > before, REACHED_WITHIN_MS);
  };
  return { name, databases: ['postgres', 'embedded'], reach };
}

const asked = ({ scenario }: Stage): number => scenario.asked.length;

const POINTS: readonly Point[] = [
  at('K1', 'before', accepts),
  at('K2', 'after', accepts),
  at('K3', 'before', opensTurn),
  at('K4', 'after', opensTurn),
  seen('K5', asked),
  seen('K6', ({ scenario }) => scenario.telegram.count('editMessageText')),
  at('K7', 'before', journals('assistant')),
  at('K8', 'after', journals('assistant')),
  at('K9', 'after', journals('tool_intent')),
  seen('K10', ({ scenario }) => scenario.effects.counts().size),
  at('K11', 'before', journals('tool_result')),
  at('K12', 'after', journals('tool_result')),
  at('K13', 'after', finishesTurn),
  seen(
    'K14',
    ({ scenario }) => scenario.telegram.count('sendMessage'),
    ({ scenario }) => scenario.telegram.failure({ kind: 'delay', method: 'sendMessage', ms: REPLY_KEPT_MS }),
  ),
  at('K15', 'before', notesParts),
  at('K15 (final text)', 'before', delivers),
  {
    name: 'K20',
    databases: ['postgres', 'embedded'],
    async reach({ scenario, people }) {
      const before = scenario.summaries.asked;
      const isAsked = (): boolean => scenario.summaries.asked > before;
      for (let nth = 0; nth < MOST_ROUNDS && !isAsked(); nth += 1) {
        people.release(1);
        await until(isAsked, ROUND_MS);
      }
      return isAsked();
    },
  },
  {
    name: 'K19',
    databases: ['postgres', 'embedded'],
    async reach(stage, turn) {
      await until(() => stage.scenario.ollama.active > 0, REACHED_WITHIN_MS);
      gatewayAt(stage.scenario, turn).terminate();
      const until19 = performance.now() + stage.random() * DRAIN_MS;
      return await until(() => performance.now() >= until19, DRAIN_MS + 1);
    },
  },
];

/** Kills at the point; a point that is not reached in time is counted under another name. */
function killAtPoint({ name, reach }: Point): Failure {
  return {
    name,
    async strike(stage, turn): Promise<FailureResult> {
      const reached = await reach(stage, turn);
      const result = await kill(stage, gatewayAt(stage.scenario, turn));
      return reached ? result : { ...result, name: `${name} (elsewhere)` };
    },
  };
}

export const points: Campaign = {
  name: 'points',
  about: 'kill -9 at 18 named points of a message and of the process (K1-K15, K18-K20), 50 times each',
  databases: ['postgres', 'embedded'],
  bars: { resumeMs: RESUME_MS },
  run(setup) {
    const here = POINTS.filter(({ databases }) => databases.includes(setup.database)).map(killAtPoint);
    const all = [...here, killWhileMigrating(setup)];
    const count = scaled(50 * all.length, setup.share, Math.min(all.length, 3));
    // A small run starts somewhere else with each seed.
    const first = setup.seed % all.length;
    return runCampaign({
      ...runOptions(setup),
      proxied: setup.database === 'postgres',
      profile: FORGETFUL,
      // One in each session for each kill: an idle gateway reaches no point.
      messages: count * 12,
      calm: true,
      sessions: { http: 6, telegram: 3, discord: 3 },
      failures: repeated([...all.slice(first), ...all.slice(0, first)], count),
    });
  },
};
