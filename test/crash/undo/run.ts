/** A run of turns that are undone, killed while they work and while they are undone: the files are those from before, or a hand's. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Outcome } from '../campaign.ts';
import type { Verdict } from '../judge/checker.ts';
import { emptySpread } from '../judge/times.ts';
import { orphansOf } from '../orphans.ts';
import { type Scenario, type ScenarioOptions, startScenario } from '../scenario.ts';
import { seeded } from '../script.ts';
import { type Files, type State, UndoSession } from './session.ts';

export interface UndoRun extends Pick<ScenarioOptions, 'postgresUrl'> {
  seed: number;
  sessions: number;
  /** Each is killed once while its turns work, and once while they are undone. */
  rounds: number;
  progress?: ((line: string) => void) | undefined;
}

/** Latest kill after the turns were begun, and after the undos were asked for, in milliseconds. */
const TURN_MS = 700;
const UNDO_MS = 400;

/** Runs everything from the first start to the verdict. Throws when a gateway does not start. */
export async function runUndos(options: UndoRun): Promise<Outcome> {
  const { postgresUrl } = options;
  const config = { tools: { enabled: ['write_file', 'edit_file', 'todo', 'scratchpad'] } };
  const scenario = await startScenario({ ...(postgresUrl !== undefined && { postgresUrl }), config });
  const random = seeded(options.seed);
  // On Postgres the files of a home are those of the database: people change them over HTTP.
  const hands = postgresUrl === undefined;
  const sessions = Array.from(
    { length: options.sessions },
    (_, at) => new UndoSession(scenario, `undo-${at}`, random),
  );
  const wrong: string[] = [];
  const struck: Struck = { undos: 0, calls: 0 };
  const readyMs: number[] = [];
  try {
    scenario.gateways[0]?.start();
    await Promise.all(sessions.map((session) => session.begin()));
    for (let round = 0; round < options.rounds; round += 1) {
      const before = await Promise.all(sessions.map((session) => session.state()));
      const turns = sessions.map((session) => session.work(round));
      readyMs.push(await killAfter(scenario, random() * TURN_MS, struck));
      const ids = await Promise.all(turns);
      await Promise.all(sessions.map((session) => session.idle()));
      const left = await Promise.all(sessions.map((session) => session.state()));
      const changed = await Promise.all(hands ? sessions.map((session) => session.changeByHand()) : []);
      const undos = sessions.map((session, at) => session.undo(ids[at] ?? ''));
      readyMs.push(await killAfter(scenario, random() * UNDO_MS, struck));
      await Promise.all(undos);
      for (const [at, session] of sessions.entries()) {
        const first = before[at];
        const last = left[at];
        if (first === undefined || last === undefined) continue;
        wrong.push(
          ...differences(
            `${session.key} round ${round}`,
            first,
            last,
            changed[at] ?? {},
            await session.state(),
          ),
        );
      }
      options.progress?.(`round ${round + 1} of ${options.rounds}`);
    }
    const verdict: Verdict = {
      lost: wrong,
      reordered: [],
      storedTwice: [],
      effectsTwice: sessions.flatMap((session) => session.doubled),
      seenTwice: [],
      ambiguous: [],
      failed: [],
      orphans: await orphansOf(scenario),
      exits: scenario.gateways.flatMap((gateway) => gateway.exits),
    };
    const times: Outcome['times'] = new Map([
      ['kill', emptySpread(2 * options.rounds)],
      ['undo interrupted', emptySpread(struck.undos)],
      ['call interrupted', emptySpread(struck.calls)],
    ]);
    return { verdict, strikes: [], times, readyMs, messages: options.rounds * options.sessions };
  } finally {
    await scenario.close();
  }
}

/** What is not as the rule says: what the turn left goes back, and what a hand changed since stays. */
function differences(name: string, before: State, left: State, byHand: Files, now: State): string[] {
  const expected: Files = Object.fromEntries(
    [...new Set([...Object.keys(before.files), ...Object.keys(left.files), ...Object.keys(byHand)])].flatMap(
      (file) => {
        const content = file in byHand ? byHand[file] : before.files[file];
        return content === undefined ? [] : [[file, content]];
      },
    ),
  );
  const files = [...new Set([...Object.keys(expected), ...Object.keys(now.files)])].filter(
    (file) => expected[file] !== now.files[file],
  );
  return [
    ...files.map((file) => `${name}: ${file} is ${now.files[file]}, not ${expected[file]}`),
    ...(now.notes === before.notes ? [] : [`${name}: the notes are ${now.notes}, not ${before.notes}`]),
  ];
}

/** What a kill has interrupted: undos that were begun, and calls that had no result. */
interface Struck {
  undos: number;
  calls: number;
}

/** Kills the gateway after a time and starts it again; returns how long that took, in milliseconds. */
async function killAfter(scenario: Scenario, afterMs: number, struck: Struck): Promise<number> {
  const { gateways } = scenario;
  await pause(afterMs);
  await gateways[0]?.kill();
  const look = await scenario.keep(async (sql) => {
    const [row] = await sql<Struck[]>`
      select (select count(*)::int from session where undoing is not null) as undos,
        (select count(*)::int from turn_effect where kind = 'call') as calls`;
    return row;
  });
  const startedAt = performance.now();
  gateways[0]?.start();
  await gateways[0]?.url();
  const readyMs = performance.now() - startedAt;
  const { undos, calls } = (await look()) ?? { undos: 0, calls: 0 };
  struck.undos += undos;
  struck.calls += calls;
  return readyMs;
}
