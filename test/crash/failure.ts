/** What goes wrong in a run: waits for its moment, does harm, and reports what it struck. */
import { setTimeout as pause } from 'node:timers/promises';
import type { KillEvidence } from './judge/checker.ts';
import type { People } from './clients.ts';
import type { GatewayProcess } from './gateways.ts';
import { arrive, type Moment } from './moments.ts';
import { heldLanes, type KillRows, readOpen } from './rows.ts';
import { readQuestion } from './script.ts';
import type { Scenario } from './scenario.ts';
import { classify, type Strike } from './judge/windows.ts';

/** What a failure operates on. */
export interface Stage {
  scenario: Scenario;
  people: People;
  /** In [0, 1); follows from the run's seed. */
  random: () => number;
}

/** What a failure has done. */
export interface FailureResult {
  /** Replaces the failure's own name. */
  name?: string;
  /** A process died: what it left behind. */
  kill?: KillEvidence & { strike: Strike };
  /** `performance.now()` from which the time to the next model call is measured. */
  since: number;
  /** `resume`: by the restarted process, or on the recovered database; `takeover`: by another node. */
  measure: 'resume' | 'takeover';
  /** `performance.now()` of the failure itself, if that was before `since`. */
  diedAt?: number;
  /** Ids of the questions that were running; undefined = any question counts. */
  struck?: ReadonlySet<string>;
  /** Ids of the questions in progress that nobody was running: an earlier failure had struck them. */
  waiting?: ReadonlySet<string>;
  /** From the start of the next process until it was ready, in milliseconds. */
  readyMs?: number;
}

export interface Failure {
  /** Its name in the figures. */
  name: string;
  /** Resolves when everything that can recover is up again. */
  strike(stage: Stage, at: number): Promise<FailureResult>;
}

/** Data still in a socket when its process is dead arrives within this time. */
const SOCKET_MS = 40;
/** Time until the other process takes over a dead one's lanes after its lease, in milliseconds. */
const TAKEOVER_MS = 20_000;

/** Kills one gateway after another; with several, every fourth time it stays dead until another has taken over its work. */
export function killAt(moment: Moment): Failure {
  return {
    name: 'kill',
    async strike(stage, at) {
      const { gateways } = stage.scenario;
      await arrive(moment, stage);
      return await kill(stage, gatewayAt(stage.scenario, at), gateways.length > 1 && at % 4 === 1);
    },
  };
}

/** Cycles through the gateways. */
export function gatewayAt({ gateways }: Scenario, at: number): GatewayProcess {
  const gateway = gateways[at % gateways.length];
  if (gateway === undefined) throw new Error('There is no gateway.');
  return gateway;
}

/** Kills a gateway, saves what is left, and restarts it: immediately, or when another one has taken over all its work. */
export async function kill(stage: Stage, victim: GatewayProcess, wait = false): Promise<FailureResult> {
  const { scenario } = stage;
  const instance = await scenario.instance(victim);
  const { diedAt, read } = await endNodes(stage, [instance], () => victim.kill());
  if (wait) await takenOver(scenario, instance);
  const startedAt = victim.start();
  await victim.url();
  const readyMs = performance.now() - startedAt;
  return {
    ...(await read()),
    diedAt,
    since: wait ? diedAt : startedAt,
    measure: wait ? 'takeover' : 'resume',
    readyMs,
  };
}

/** Ends nodes of these homes or workers and saves what is left; `read` returns it, `diedAt` is a `performance.now()`. */
export async function endNodes(
  { scenario, people }: Stage,
  instances: readonly string[],
  end: () => Promise<void>,
): Promise<{ diedAt: number; read: () => Promise<Pick<FailureResult, 'kill' | 'struck' | 'waiting'>> }> {
  const { unacknowledged } = people;
  await end();
  const diedAt = performance.now();
  await pause(SOCKET_MS);
  const [screens, effects] = [scenario.screens(), scenario.effects.counts()];
  const readRows = await scenario.keep(readOpen);
  return {
    diedAt,
    async read() {
      const rows = await readRows();
      const strike = classify(ownOf(rows, instances), unacknowledged);
      const waiting = questionsOf(rows.turns.filter(({ instance }) => instance === null));
      return { kill: { rows, screens, effects, strike }, struck: runningOf(rows, instances), waiting };
    },
  };
}

/** Without turns that other nodes were running. */
function ownOf(rows: KillRows, instances: readonly string[]): KillRows {
  return { ...rows, turns: rows.turns.filter((turn) => turn.state !== 'running' || isBy(turn, instances)) };
}

/** A worker is named by its home and its number. */
function isBy({ instance }: KillRows['turns'][number], instances: readonly string[]): boolean {
  return instances.some((name) => instance === name || instance?.startsWith(`${name}:`) === true);
}

/** Ids of the questions that these homes or workers were answering. */
export function runningOf(rows: KillRows, instances: readonly string[]): Set<string> {
  return questionsOf(rows.turns.filter((turn) => isBy(turn, instances)));
}

/** Ids of the questions of those turns that had begun. */
function questionsOf(turns: KillRows['turns']): Set<string> {
  const begun = turns.filter(({ state }) => state === 'running');
  return new Set(begun.map(({ id, question }) => readQuestion(question)?.id ?? id));
}

/** Waits until a home's lanes have other owners. Throws when that takes longer than a lease can last. */
async function takenOver(scenario: Scenario, instance: string): Promise<void> {
  const end = performance.now() + TAKEOVER_MS;
  while ((await scenario.read((sql) => heldLanes(sql, instance))) > 0) {
    if (performance.now() > end)
      throw new Error('The other gateways did not take the lanes of the dead one.');
    await pause(100);
  }
}
