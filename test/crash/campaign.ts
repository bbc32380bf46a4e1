/** A crash run: people write, processes are killed at chosen moments and started again, and everything is judged in the end. */
import { setTimeout as pause } from 'node:timers/promises';
import { judge } from './checker.ts';
import type { KillEvidence, Verdict } from './checker.ts';
import { People } from './clients.ts';
import type { GatewayProcess } from './gateways.ts';
import { heldLanes, pendingCount, readFinal, readOpen } from './rows.ts';
import type { KillRows } from './rows.ts';
import { readQuestion, seeded } from './script.ts';
import { classify } from './windows.ts';
import type { Strike, Window } from './windows.ts';
import { startScenario, TOKEN } from './scenario.ts';
import type { Scenario } from './scenario.ts';

/** When a process is killed: at any time, at any time with the model busy in many turns, or as a transaction is due. */
export type Moment = 'any' | 'busy' | Window;

export interface CampaignOptions {
  seed: number;
  /** `postgres://…` of a server; undefined = embedded. */
  postgresUrl?: string | undefined;
  messages: number;
  sessions: number;
  telegramSessions: number;
  /** One kill each, in this order. */
  moments: readonly Moment[];
  /** Two share the database and are killed in turn; with one, the run ends with its moments. */
  gateways?: 1 | 2;
  /** Goes through the moments again and again for this long, two messages a session each time; `messages` does not count. */
  forMs?: number;
  /** Called after each kill, for people who wait. */
  progress?: (line: string) => void;
}

export interface Outcome {
  verdict: Verdict;
  strikes: Strike[];
  /**
   * From the start of the next process (or, where the other gateway is left to take over, from the kill) to the first
   * model call of a turn that had been killed, in milliseconds.
   */
  resumeMs: number[];
  /** From the start of the next process until it is ready, in milliseconds. */
  readyMs: number[];
  messages: number;
}

interface Kill extends KillEvidence {
  strike: Strike;
  instance: string;
  restartedAt: number;
  readyMs: number;
}

/** So many streams at once are "busy", and so long is waited for it, in milliseconds. */
const BUSY_STREAMS = 10;
const BUSY_WAIT_MS = 12_000;
/** A kill at any time comes at most so late after the round began, or after the model became busy, in milliseconds. */
const LATEST_MS = 2_200;
/** Messages a session is ahead of the kills, so that there is always something to interrupt. */
const AHEAD = 2;
/** Messages a session may say between two kills of a run that is measured by time. */
const PER_TIMED_ROUND = 2;
/** What is still in a socket when its process is dead arrives within this time. */
const SOCKET_MS = 40;
/** When nothing more gets done for so long, what still waits is lost. Groups get an answer every three seconds. */
const STUCK_MS = 60_000;
/** A dead process's lanes are taken by the other one after its lease, in milliseconds. */
const TAKEOVER_MS = 20_000;

export async function runCampaign(options: CampaignOptions): Promise<Outcome> {
  const { sessions, telegramSessions, moments, messages, gateways: nodes = 1, progress } = options;
  const chats = Array.from({ length: telegramSessions }, (_, at) => sessions - telegramSessions + at);
  const scenario = await startScenario({ ...options, gateways: nodes, telegramSessions: chats });
  for (const chat of chats) scenario.telegram.chats.open(`${-1_000_000_000_000 - chat}`);
  let turn = 0;
  const url = (): Promise<string> => (scenario.gateways[(turn += 1) % nodes] ?? firstOf(scenario)).url();
  const people = new People({ ...options, token: TOKEN, telegram: scenario.telegram, url });
  const random = seeded(options.seed);
  const kills: Kill[] = [];
  try {
    // One after the other: the first one makes the tables.
    for (const gateway of scenario.gateways) {
      gateway.start();
      await gateway.url();
    }
    const perSession = Math.ceil(messages / sessions);
    let released = 0;
    const began = performance.now();
    for (const [at, moment] of schedule(options)) {
      const timed = options.forMs !== undefined;
      const share = timed ? PER_TIMED_ROUND * (at + 1) : Math.ceil((perSession * (at + 1)) / moments.length);
      const due = Math.min(timed ? Infinity : perSession, share + AHEAD);
      people.release(due - released);
      released = due;
      await arrive(moment, scenario, people, random);
      const victim = scenario.gateways[at % nodes] ?? firstOf(scenario);
      const kill = await strike(scenario, people, victim, nodes === 2 && at % 4 === 1);
      kills.push(kill);
      const hits = Object.entries(kill.strike.hits).filter(([, count]) => count > 0);
      progress?.(
        `${Math.round((performance.now() - began) / 1_000)} s, kill ${at + 1} (${moment}): ${kill.strike.running} running, ${hits.map((hit) => hit.join(' ')).join(', ')}`,
      );
    }
    await drained(scenario, people);
    const final = await scenario.read(readFinal);
    const seen = { effects: scenario.effects.counts(), screens: scenario.screens(), asked: scenario.asked };
    return {
      verdict: judge({ accepted: people.accepted, refused: people.refused, final, kills, ...seen }),
      strikes: kills.map((kill) => kill.strike),
      resumeMs: kills.flatMap((kill, at) => resumedAfter(kill, kills[at + 1], scenario)),
      readyMs: kills.map((kill) => kill.readyMs),
      messages: people.accepted.length,
    };
  } finally {
    await people.close();
    await scenario.close();
  }
}

function* schedule({ moments, forMs }: CampaignOptions): Generator<[number, Moment]> {
  if (forMs === undefined) {
    yield* moments.entries();
    return;
  }
  const end = performance.now() + forMs;
  for (let at = 0; performance.now() < end; at += 1) yield [at, moments[at % moments.length] ?? 'any'];
}

function firstOf(scenario: Scenario): GatewayProcess {
  const [first] = scenario.gateways;
  if (first === undefined) throw new Error('There is no gateway.');
  return first;
}

/** Waits for the moment of a kill; one that does not come is replaced by the end of the wait. */
async function arrive(
  moment: Moment,
  scenario: Scenario,
  people: People,
  random: () => number,
): Promise<void> {
  const { telegram, answered } = scenario;
  const before = {
    finals: answered.finals,
    rounds: answered.rounds,
    effects: scenario.effects.counts().size,
    sends: telegram.count('sendMessage'),
    edits: telegram.count('editMessageText'),
  };
  switch (moment) {
    case 'any':
      return await pause(random() * LATEST_MS);
    case 'busy':
      await until(() => scenario.ollama.active >= BUSY_STREAMS, BUSY_WAIT_MS);
      await pause(random() * LATEST_MS);
      // Meanwhile the queues may have run dry, or the next answers begun.
      return await until(() => scenario.ollama.active >= BUSY_STREAMS, BUSY_WAIT_MS);
    case 'T1':
      return await until(() => people.unacknowledged > 0, BUSY_WAIT_MS);
    case 'T2':
    case 'T3':
      await until(() => answered.rounds > before.rounds, BUSY_WAIT_MS);
      return await pause(moment === 'T2' ? 0 : random() * 15);
    case 'T4':
      return await until(() => scenario.effects.counts().size > before.effects, BUSY_WAIT_MS);
    case 'T5':
      return await until(() => telegram.count('sendMessage') > before.sends, BUSY_WAIT_MS);
    case 'T6':
      return await until(() => answered.finals > before.finals, BUSY_WAIT_MS);
    case 'T7':
      return await until(() => telegram.count('editMessageText') > before.edits, BUSY_WAIT_MS);
    default:
      return moment satisfies never;
  }
}

async function until(holds: () => boolean, limitMs: number): Promise<void> {
  const end = performance.now() + limitMs;
  while (!holds() && performance.now() < end) await pause(1);
}

/** Kills a gateway, keeps what is left, and starts it again: at once, or when the other one has taken all its work. */
async function strike(
  scenario: Scenario,
  people: People,
  victim: GatewayProcess,
  wait: boolean,
): Promise<Kill> {
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
  const rows: KillRows = await readRows();
  const own = {
    ...rows,
    turns: rows.turns.filter((turn) => turn.state !== 'running' || turn.instance === instance),
  };
  return {
    rows,
    screens,
    effects,
    instance,
    strike: classify(own, unacknowledged),
    restartedAt: wait ? killedAt : startedAt,
    readyMs,
  };
}

async function takenOver(scenario: Scenario, instance: string): Promise<void> {
  const end = performance.now() + TAKEOVER_MS;
  while ((await scenario.read((sql) => heldLanes(sql, instance))) > 0) {
    if (performance.now() > end) throw new Error('The other gateway did not take the lanes of the dead one.');
    await pause(100);
  }
}

async function drained(scenario: Scenario, people: People): Promise<void> {
  let least = Infinity;
  let end = performance.now() + STUCK_MS;
  for (;;) {
    const pending = await scenario.read(pendingCount);
    if (people.quiet && pending === 0) return;
    if (pending < least) {
      least = pending;
      end = performance.now() + STUCK_MS;
    }
    if (performance.now() > end) return;
    await pause(100);
  }
}

/** Nothing when no turn was running, or when the next kill came first. */
function resumedAfter(kill: Kill, next: Kill | undefined, { asked }: Scenario): number[] {
  const running = kill.rows.turns.filter(
    (turn) => turn.state === 'running' && turn.instance === kill.instance,
  );
  const ids = new Set(running.map((turn) => readQuestion(turn.question)?.id));
  const first = asked.find(
    ({ session, index, at }) => at > kill.restartedAt && ids.has(`${session}#${index}`),
  );
  if (first === undefined || (next !== undefined && first.at > next.restartedAt)) return [];
  return [first.at - kill.restartedAt];
}
