/** A run with linked chats: randomly linked, separated and used while the gateway is killed, and judged at the end. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Outcome } from '../campaign.ts';
import { drained } from '../drained.ts';
import type { Verdict } from '../judge/checker.ts';
import { orphansOf } from '../orphans.ts';
import { readQuestion, seeded } from '../script.ts';
import { type Scenario, type ScenarioOptions, startScenario } from '../scenario.ts';
import { emptySpread } from '../judge/times.ts';
import { CHATS_OF_A_PERSON, sessionsFor } from './chats.ts';
import { judgeLinks } from './judge.ts';
import { Ring } from './people.ts';
import { partsByRef, sharedTurns } from './rows.ts';

export interface LinkRun extends Pick<ScenarioOptions, 'postgresUrl'> {
  seed: number;
  /** Number of users, each with a page session and a chat of every kind. */
  rings: number;
  /** Gateways on the one database; default: one. */
  gateways?: number;
  kills: number;
  /** Messages, links and separations by each user between two kills. */
  stepsPerKill: number;
  progress?: ((line: string) => void) | undefined;
}

/** Share of the steps that link or separate a chat. */
const TOGGLES = 0.25;
/** Longest pause after a step, in milliseconds. */
const LATEST_MS = 250;
/** What appeared on a screen within this time before a kill may be a send whose reply it took, in milliseconds. */
const STRUCK_MS = 250;
/** Longest wait for two more answers of each user, in milliseconds. */
const PROGRESS_MS = 60_000;

/** Runs everything from the first start to the verdict. Throws when a gateway does not start. */
export async function runLinks(options: LinkRun): Promise<Outcome> {
  const scenario = await startScenario({
    ...(options.postgresUrl !== undefined && { postgresUrl: options.postgresUrl }),
    ...(options.gateways !== undefined && { gateways: options.gateways }),
    sessions: sessionsFor(options.rings),
    dm: 'open',
    config: {
      limits: { messagesPerMinute: 6_000, messagesAtOnce: 1_000 },
      // The platform limits have separate tests.
      channels: {
        telegram: { groupCallsPerMinute: 1_000, editIntervalMs: { group: 500 } },
        slack: { editsPerSecond: { start: 20, most: 20 } },
        matrix: { eventsPerSecond: { start: 20 } },
      },
    },
  });
  const random = seeded(options.seed);
  const rings = Array.from({ length: options.rings }, (_, at) => new Ring(scenario, options.seed, at));
  const struck = new Map<string, Set<string>>();
  const readyMs: number[] = [];
  try {
    await start(scenario);
    await begin(scenario, rings);
    for (let kill = 0; kill < options.kills; kill += 1) {
      for (let step = 0; step < options.stepsPerKill; step += 1) {
        for (const ring of rings) act(ring, random);
        await pause(random() * LATEST_MS);
      }
      await progressed(scenario, rings);
      readyMs.push(await killNow(scenario, rings, { struck, random }));
      options.progress?.(`kill ${kill + 1} of ${options.kills}`);
    }
    await settled(scenario, rings);
    const [turns, parts] = [await scenario.read(sharedTurns), await scenario.read(partsByRef)];
    const said = rings.flatMap((ring) => ring.said);
    const judged = judgeLinks({
      said,
      refused: rings.flatMap((ring) => ring.refused),
      turns,
      parts,
      screens: screensOf(rings),
      members: rings.flatMap((ring) => ring.members),
      struck,
    });
    const orphans = await orphansOf(scenario);
    const exits = scenario.gateways.flatMap((gateway) => gateway.exits);
    const verdict: Verdict = { ...judged, effectsTwice: [], orphans, exits };
    const links = rings.reduce((sum, ring) => sum + ring.members.length, 0);
    return {
      verdict,
      strikes: [],
      times: new Map([
        ['kill', emptySpread(options.kills)],
        ['link', emptySpread(links)],
      ]),
      readyMs,
      messages: said.length,
    };
  } finally {
    for (const ring of rings) ring.close();
    await scenario.close();
  }
}

function act(ring: Ring, random: () => number): void {
  if (random() < TOGGLES) ring.toggle(Math.floor(random() * CHATS_OF_A_PERSON));
  else ring.say(Math.floor(random() * (CHATS_OF_A_PERSON + 1)));
}

async function start({ gateways }: Scenario): Promise<void> {
  for (const gateway of gateways) {
    gateway.start();
    await gateway.url();
  }
}

/** Every user writes once in each chat undisturbed, because a bot writes only to users who did, and links them all. */
async function begin(scenario: Scenario, rings: readonly Ring[]): Promise<void> {
  while (scenario.discord.gateway.counts.identifies === 0) await pause(20);
  for (const ring of rings) for (let at = 0; at <= CHATS_OF_A_PERSON; at += 1) ring.say(at);
  await settled(scenario, rings);
  for (const ring of rings) for (let at = 0; at < CHATS_OF_A_PERSON; at += 1) ring.toggle(at);
  await settled(scenario, rings);
}

function screensOf(rings: readonly Ring[]): Map<string, { id: string; text: string }[]> {
  return new Map(rings.flatMap((ring) => ring.screens()));
}

/** Kills a gateway, or all of them, and restarts it; returns how long it took to be ready, in milliseconds. */
async function killNow(
  { gateways }: Scenario,
  rings: readonly Ring[],
  { struck, random }: { struck: Map<string, Set<string>>; random: () => number },
): Promise<number> {
  const chosen = Math.floor(random() * (gateways.length + 1));
  const victims = gateways[chosen] === undefined ? gateways : [gateways[chosen]];
  const before = new Map(
    [...screensOf(rings)].map(([address, shown]) => [address, new Set(shown.map(({ id }) => id))]),
  );
  await pause(STRUCK_MS);
  await Promise.all(victims.map((gateway) => gateway.kill()));
  for (const [address, shown] of screensOf(rings)) {
    const known = struck.get(address) ?? new Set<string>();
    for (const { id } of shown) if (before.get(address)?.has(id) !== true) known.add(id);
    struck.set(address, known);
  }
  const startedAt = performance.now();
  for (const gateway of victims) gateway.start();
  for (const gateway of victims) await gateway.url();
  return performance.now() - startedAt;
}

/** Waits until each user has two more answers, or all: a message struck by every kill is given up in the end. */
async function progressed(scenario: Scenario, rings: readonly Ring[]): Promise<void> {
  const doneIn = async (): Promise<number[]> => {
    const turns = await scenario.read(sharedTurns);
    const done = new Set(
      turns.flatMap(({ state, question }) => (state === 'done' ? [readQuestion(question)?.id] : [])),
    );
    return rings.map((ring) => ring.said.filter(({ id }) => done.has(id)).length);
  };
  const wanted = (await doneIn()).map((done, at) => Math.min(done + 2, rings[at]?.said.length ?? 0));
  const end = performance.now() + PROGRESS_MS;
  while (performance.now() < end && (await doneIn()).some((done, at) => done < (wanted[at] ?? 0)))
    await pause(50);
}

/** Waits until everything sent is done, or nothing moves any more. */
async function settled(scenario: Scenario, rings: readonly Ring[]): Promise<void> {
  await drained(scenario, {
    accepted: () => rings.reduce((sum, ring) => sum + ring.said.length, 0),
    quiet: () => rings.every((ring) => ring.quiet),
  });
}
