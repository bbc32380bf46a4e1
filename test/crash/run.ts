/**
 * The crash figures: `node test/crash/run.ts [--kills 50] [--aimed 0] [--messages 1000] [--sessions 20] [--telegram 5]
 * [--database embedded|postgres] [--two --minutes 3] [--seed 1]`. Postgres is the server of DATABASE_URL; a database is
 * made there and dropped. `--outlive [--silence 100] [--tokens 80]` (seconds) is one turn through two restarts of its
 * Postgres instead. Exits 1 when anything was lost, reordered or done twice.
 */
import { parseArgs } from 'node:util';
import { runCampaign } from './campaign.ts';
import type { Moment } from './campaign.ts';
import { postgresBinaries } from './cluster.ts';
import { outliveRestarts } from './outlive.ts';
import { errorLines, reportLine } from './report.ts';
import { WINDOWS } from './windows.ts';

const text = { type: 'string' } as const;
const { values } = parseArgs({
  options: {
    kills: { ...text, default: '50' },
    aimed: { ...text, default: '0' },
    messages: { ...text, default: '1000' },
    sessions: { ...text, default: '20' },
    telegram: { ...text, default: '5' },
    database: { ...text, default: 'embedded' },
    minutes: { ...text, default: '3' },
    seed: { ...text, default: '1' },
    outlive: { type: 'boolean', default: false },
    silence: { ...text, default: '100' },
    tokens: { ...text, default: '80' },
    two: { type: 'boolean', default: false },
    verbose: { type: 'boolean', default: false },
  },
});

const say = (line: string): void => void process.stdout.write(`${line}\n`);
process.exitCode = (await (values.outlive ? outlive() : campaign())) ? 0 : 1;

/** True when there was no failure. */
async function campaign(): Promise<boolean> {
  const url = process.env['DATABASE_URL'];
  if ((values.database === 'postgres' || values.two) && url === undefined) {
    throw new Error('Set DATABASE_URL to a Postgres server on which a database may be made.');
  }
  const random = Array.from({ length: Number(values.kills) }, (_, at): Moment =>
    at % 4 === 3 ? 'any' : 'busy',
  );
  const aimed = Array.from(
    { length: Number(values.aimed) },
    (_, at): Moment => WINDOWS[at % WINDOWS.length] ?? 'any',
  );
  const outcome = await runCampaign({
    seed: Number(values.seed),
    postgresUrl: values.database === 'postgres' || values.two ? url : undefined,
    messages: Number(values.messages),
    sessions: Number(values.sessions),
    telegramSessions: Number(values.telegram),
    moments: [...random, ...aimed],
    gateways: values.two ? 2 : 1,
    ...(values.two && { forMs: Number(values.minutes) * 60_000 }),
    ...(values.verbose && { progress: say }),
  });
  const name = values.two ? 'kill -9 of two gateways in turn, postgres' : `kill -9, ${values.database}`;
  say(reportLine(name, Number(values.seed), outcome));
  const failures = errorLines(outcome);
  failures.forEach(say);
  return failures.length === 0;
}

/** True when the turn ended with every word, at its first try. */
async function outlive(): Promise<boolean> {
  const binaries = postgresBinaries();
  if (binaries === undefined) throw new Error('This machine has no initdb; install a Postgres server.');
  const silenceMs = Number(values.silence) * 1_000;
  const tokensMs = Number(values.tokens) * 1_000;
  const { answer, expected, modelCalls } = await outliveRestarts({ binaries, silenceMs, tokensMs });
  const whole = answer === expected;
  say(
    `postgres restarted -m fast in ${values.silence} s of silence, -m immediate in ${values.tokens} s of tokens: ` +
      `answer ${whole ? 'whole' : 'not whole'} (${expected.length} characters), model calls ${modelCalls}`,
  );
  return whole && modelCalls === 1;
}
