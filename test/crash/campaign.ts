/** A run with failures: users write, one failure after another strikes, and everything is judged in the end. */
import { setTimeout as pause } from 'node:timers/promises';
import { judge, type Verdict } from './judge/checker.ts';
import { People } from './clients.ts';
import { drained, keptUp } from './drained.ts';
import { type Failure, type FailureResult, gatewayAt, type Stage } from './failure.ts';
import { orphansOf } from './orphans.ts';
import { EventReader } from './readers.ts';
import { countTurns, readFinal } from './rows.ts';
import { type Round, seeded } from './script.ts';
import { type Scenario, type ScenarioOptions, startScenario, TOKEN } from './scenario.ts';
import type { SessionCounts } from './places.ts';
import { type Spread, timesOf } from './judge/times.ts';
import type { Strike } from './judge/windows.ts';

export interface CampaignOptions extends ScenarioOptions {
  seed: number;
  sessions: SessionCounts;
  /** Messages in total; each session sends its share. */
  messages: number;
  /** In sequence. */
  failures: readonly Failure[];
  /** Cycles through the failures for a time, while each session sends this many messages a minute; overrides `messages`. */
  timed?: { forMs: number; perMinute: number };
  /** Each failure waits until no message is suspected of having ended its process. */
  calm?: boolean;
  /** How a third of the questions use tools; default: with every effect. */
  tools?: readonly Round[][];
  /** Sessions whose messages may join a running turn. */
  joining?: readonly string[];
  /** Prepares what the failures need, once every session has sent something; returns a cleanup function. */
  prepare?: (stage: Stage) => Promise<() => Promise<void>>;
  /** Further violations, checked at the end. */
  audit?: (stage: Stage) => Promise<Partial<Verdict>>;
  /** Called after each failure, to report progress. */
  progress?: ((line: string) => void) | undefined;
}

export interface Outcome {
  verdict: Verdict;
  /** What each kill struck. */
  strikes: Strike[];
  /** By name of the failure, in the order of their first strike. */
  times: Map<string, Spread>;
  /** From the start of the next process until it is ready, in milliseconds. */
  readyMs: number[];
  messages: number;
}

/** Messages a session is ahead of the failures, so that there is always something to interrupt. */
const AHEAD = 2;
/** How long it may take until a new chat is known, in milliseconds. */
const KNOWN_WITHIN_MS = 60_000;

/** Runs everything from the first start to the verdict. Throws when a gateway does not start. */
export async function runCampaign(options: CampaignOptions): Promise<Outcome> {
  const { failures, messages, timed, progress } = options;
  const scenario = await startScenario(options);
  let turn = 0;
  const url = (): Promise<string> => gatewayAt(scenario, (turn += 1)).url();
  const people = new People({ ...scenario, seed: options.seed, tools: options.tools, token: TOKEN, url });
  const readers: EventReader[] = [];
  const stage: Stage = { scenario, people, random: seeded(options.seed) };
  let unprepare: (() => Promise<void>) | undefined;
  const results: (FailureResult & { name: string })[] = [];
  try {
    await startAll(scenario);
    await sayFirst(stage);
    const overHttp = scenario.places.filter(({ channel }) => channel === 'http');
    readers.push(...overHttp.map(({ key }) => new EventReader({ url, session: key, token: TOKEN })));
    unprepare = await options.prepare?.(stage);
    const perSession = Math.ceil(messages / scenario.places.length);
    let released = 1;
    const began = performance.now();
    for (const [at, failure] of schedule(options)) {
      await keptUp(scenario, options.calm === true);
      const share = timed
        ? ((performance.now() - began) / 60_000) * timed.perMinute
        : Math.min(perSession, Math.ceil((perSession * (at + 1)) / failures.length) + AHEAD);
      const due = Math.max(released, Math.ceil(share));
      people.release(due - released);
      released = due;
      const result = { name: failure.name, ...(await failure.strike(stage, at)) };
      results.push(result);
      await startExited(scenario);
      progress?.(
        `${Math.round((performance.now() - began) / 1_000)} s, failure ${at + 1}: ${failure.name}${hitsOf(result)}`,
      );
    }
    people.release(Math.max(0, perSession - released));
    await drained(scenario, { accepted: () => people.accepted.length, quiet: () => people.quiet });
    const final = await scenario.read(readFinal);
    const seen = { effects: scenario.effects.counts(), screens: scenario.screens(), asked: scenario.asked };
    const said = { accepted: people.accepted, refused: people.refused };
    const streams = readers.map((reader) => reader.turns);
    const kills = results.flatMap((result) => result.kill ?? []);
    const orphans = await orphansOf(scenario);
    const exits = scenario.gateways.flatMap((gateway) => gateway.exits);
    const joining = new Set(options.joining);
    const verdict = judge({ ...said, final, kills, streams, orphans, exits, joining, ...seen });
    return {
      verdict: joined(verdict, (await options.audit?.(stage)) ?? {}),
      strikes: kills.map((kill) => kill.strike),
      times: timesOf(results, scenario.asked),
      readyMs: results.flatMap((result) => result.readyMs ?? []),
      messages: people.accepted.length,
    };
  } finally {
    await unprepare?.();
    await Promise.all([people.close(), ...readers.map((reader) => reader.close())]);
    await scenario.close();
  }
}

function joined(verdict: Verdict, more: Partial<Verdict>): Verdict {
  const both = (kind: keyof Verdict): string[] => [...verdict[kind], ...(more[kind] ?? [])];
  return Object.fromEntries(
    (Object.keys(verdict) as (keyof Verdict)[]).map((kind) => [kind, both(kind)]),
  ) as unknown as Verdict;
}

function* schedule({ failures, timed }: CampaignOptions): Generator<[number, Failure]> {
  if (timed === undefined) {
    yield* failures.entries();
    return;
  }
  const end = performance.now() + timed.forMs;
  for (let at = 0; performance.now() < end; at += 1) {
    const failure = failures[at % failures.length];
    if (failure !== undefined) yield [at, failure];
  }
}

/** One after another: the first one creates the tables. */
async function startAll({ gateways }: Scenario): Promise<void> {
  for (const gateway of gateways) {
    gateway.start();
    await gateway.url();
  }
}

/** Acts as a supervisor: restarts what ended on its own. */
async function startExited({ gateways }: Scenario): Promise<void> {
  for (const gateway of gateways) {
    if (gateway.running) continue;
    await gateway.kill();
    gateway.start();
    await gateway.url();
  }
}

/**
 * Every session sends one message undisturbed: missed Discord and Slack messages are read only in chats with a
 * session, Matrix ones from the first sync on.
 */
async function sayFirst({ scenario, people }: Stage): Promise<void> {
  const { places, discord, slack, matrix } = scenario;
  if (places.some(({ channel }) => channel === 'discord'))
    await within(() => discord.gateway.counts.identifies > 0);
  if (places.some(({ channel }) => channel === 'slack')) await within(() => slack.socketMode.open > 0);
  if (places.some(({ channel }) => channel === 'matrix')) await within(() => matrix.confirmed > 0);
  people.release(1);
  await within(async () => (await scenario.read(countTurns)) >= places.length);
}

async function within(holds: () => boolean | Promise<boolean>): Promise<void> {
  const end = performance.now() + KNOWN_WITHIN_MS;
  while (!(await holds())) {
    if (performance.now() > end) throw new Error('The first messages of a run were not taken.');
    await pause(20);
  }
}

function hitsOf({ kill }: FailureResult): string {
  if (kill === undefined) return '';
  const hits = Object.entries(kill.strike.hits).filter(([, count]) => count > 0);
  return ` (${kill.strike.running} running, ${hits.map((hit) => hit.join(' ')).join(', ')})`;
}
