/** What goes wrong in a run: waits for its moment, does harm, and says what it has struck. */
import { setTimeout as pause } from 'node:timers/promises';
import type { KillEvidence } from './checker.ts';
import type { People } from './clients.ts';
import type { GatewayProcess } from './gateways.ts';
import { arrive } from './moments.ts';
import type { Moment } from './moments.ts';
import { heldLanes, readOpen } from './rows.ts';
import type { KillRows } from './rows.ts';
import { readQuestion } from './script.ts';
import type { Scenario } from './scenario.ts';
import { classify } from './windows.ts';
import type { Strike } from './windows.ts';

/** What a failure has before it. */
export interface Stage {
  scenario: Scenario;
  people: People;
  /** In [0, 1); follows from the run's seed. */
  random: () => number;
}

/** What a failure has done. */
export interface FailureResult {
  /** In place of the failure's own name. */
  name?: string;
  /** A process died: what it left. */
  kill?: KillEvidence & { strike: Strike };
  /** `performance.now()` from which the time to the next model call is measured. */
  since: number;
  /** `resume`: by the process that was started again, or on the database that is back; `takeover`: by another node. */
  measure: 'resume' | 'takeover';
  /** Ids of the questions that were running; undefined = any question counts. */
  struck?: ReadonlySet<string>;
  /** From the start of the next process until it was ready, in milliseconds. */
  readyMs?: number;
}

export interface Failure {
  /** Names it in the figures. */
  name: string;
  /** Resolves when all that can be up again is up. */
  strike(stage: Stage, at: number): Promise<FailureResult>;
}

/** What is still in a socket when its process is dead arrives within this time. */
const SOCKET_MS = 40;
/** A dead process's lanes are taken by the other one after its lease, in milliseconds. */
const TAKEOVER_MS = 20_000;

/** Kills one gateway after the other; where there are several, every fourth time it stays dead until another has its work. */
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

/** Counts round and round. */
export function gatewayAt({ gateways }: Scenario, at: number): GatewayProcess {
  const gateway = gateways[at % gateways.length];
  if (gateway === undefined) throw new Error('There is no gateway.');
  return gateway;
}

/** Kills a gateway, keeps what is left, and starts it again: at once, or when another one has taken all its work. */
export async function kill(
  { scenario, people }: Stage,
  victim: GatewayProcess,
  wait = false,
): Promise<FailureResult> {
  const instance = await scenario.instance(victim);
  const { unacknowledged } = people;
  await victim.kill();
  const killedAt = performance.now();
  await pause(SOCKET_MS);
  const [screens, effects] = [scenario.screens(), scenario.effects.counts()];
  const readRows = await scenario.keep(readOpen);
  if (wait) await takenOver(scenario, instance);
  const startedAt = victim.start();
  await victim.url();
  const readyMs = performance.now() - startedAt;
  const rows = await readRows();
  return {
    kill: { rows, screens, effects, strike: classify(ownOf(rows, instance), unacknowledged) },
    since: wait ? killedAt : startedAt,
    measure: wait ? 'takeover' : 'resume',
    struck: runningOf(rows, instance),
    readyMs,
  };
}

/** Without turns that another home was running. */
function ownOf(rows: KillRows, instance: string): KillRows {
  const isOwn = (turn: KillRows['turns'][number]): boolean =>
    turn.state !== 'running' || turn.instance === instance;
  return { ...rows, turns: rows.turns.filter(isOwn) };
}

/** Ids of the questions that a home was answering. */
export function runningOf(rows: KillRows, instance: string): Set<string> {
  const running = rows.turns.filter((turn) => turn.state === 'running' && turn.instance === instance);
  return new Set(running.map((turn) => readQuestion(turn.question)?.id ?? turn.id));
}

/** Waits until a home's lanes have other owners. Throws when that takes longer than a lease can last. */
export async function takenOver(scenario: Scenario, instance: string): Promise<void> {
  const end = performance.now() + TAKEOVER_MS;
  while ((await scenario.read((sql) => heldLanes(sql, instance))) > 0) {
    if (performance.now() > end)
      throw new Error('The other gateways did not take the lanes of the dead one.');
    await pause(100);
  }
}
