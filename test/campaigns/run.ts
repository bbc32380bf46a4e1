/** The campaigns by name: `npm run test:campaign -- --help`. Exits 1 when a zero of a campaign's table row is not zero. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { detailLine, missedBars, TABLE_HEAD, tableRow, violations } from '../crash/judge/report.ts';
import { bundleCrashGateway } from '../runs/crash-gateway.ts';
import { openServer } from '../crash/cluster.ts';
import type { Campaign, DatabaseKind } from './campaign.ts';
import { campaigns } from './index.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** The tests of many random steps sized by `test/campaign.ts`, run at full size by vitest. */
const STEPS = 'steps';
/** Random bytes for every parser of what strangers send, an hour for each in full. */
const FUZZ = 'fuzz';
const FUZZ_MINUTES = 60;

const PAGE = `${ROOT}/docs/campaigns.md`;
/** The last line above the table of the page, which ends it. */
const LAST_RUNS =
  'Each row is the last run of a campaign on a database that was written here with `--write`:';

const USAGE = `npm run test:campaign -- [name …] [--on postgres|embedded] [--size PERCENT] [--seed N] [--bars] [--quiet] [--write]

${[...campaigns.map(({ name, about, databases }) => [name, `${about} (${databases.join(', ')})`]), [STEPS, 'the tests of random or repeated steps, whole (vitest)'], [FUZZ, 'random bytes for each parser of what strangers send, an hour each (vitest)']].map(([name = '', about]) => `  ${name.padEnd(12)}${about}`).join('\n')}
  all         all of them but fuzz

--on      only on this database; default: on each that the campaign knows
--size    percent of the full size, default 100; a campaign keeps a least size
--seed    of everything random, default 1
--bars    a missed bar counts as a violation; without it, it is only said
--quiet   no line for each failure
--write   puts the rows into docs/campaigns.md, in place of those of the same campaign and database

Postgres is the server of DATABASE_URL, where databases are made and dropped; without it, a cluster from the packages. Each campaign ends in a table row for
each database; exit code 1 when anything was lost, reordered, doubled, left over, or failed where it should not.
How to read the row: docs/campaigns.md.
`;

const say = (line: string): void => void process.stdout.write(`${line}\n`);

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(130));
process.exitCode = (await main()) ? 0 : 1;

/** True when there was no violation. */
async function main(): Promise<boolean> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      on: { type: 'string' },
      size: { type: 'string', default: '100' },
      seed: { type: 'string', default: '1' },
      bars: { type: 'boolean', default: false },
      quiet: { type: 'boolean', default: false },
      write: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  const names = positionals.includes('all') ? [...campaigns.map(({ name }) => name), STEPS] : positionals;
  const unknown = names.filter(
    (name) => ![STEPS, FUZZ].includes(name) && !campaigns.some((one) => one.name === name),
  );
  if (values.help || names.length === 0) {
    say(USAGE);
    return true;
  }
  if (unknown.length > 0) {
    say(`There is no campaign ${unknown.join(', ')}; --help lists them.`);
    return false;
  }
  const share = Number(values.size) / 100;
  if (!(share > 0 && share <= 1)) throw new Error('--size is a percentage above 0, at most 100.');
  process.once('exit', await bundleCrashGateway());
  const rows: string[] = [];
  let clean = true;
  const server = await openServer();
  for (const name of names) {
    if (name === STEPS) clean = (await runSteps()) && clean;
    if (name === FUZZ) clean = (await runFuzzers(FUZZ_MINUTES * share, Number(values.seed))) && clean;
    const campaign = campaigns.find((one) => one.name === name);
    for (const database of campaign === undefined ? [] : databasesOf(campaign, values.on)) {
      const setup = { database, postgresUrl: server.url, share, seed: Number(values.seed) };
      clean = (await runOne(campaign!, setup, values, rows)) && clean;
    }
  }
  await server.close();
  if (rows.length > 1) say(['', ...TABLE_HEAD, ...rows].join('\n'));
  return clean;
}

function databasesOf({ name, databases, missing }: Campaign, only: string | undefined): DatabaseKind[] {
  if (missing?.() !== undefined) {
    say(`${name} is skipped here: ${missing()}.`);
    return [];
  }
  const chosen = databases.filter((database) => only === undefined || database === only);
  if (chosen.length === 0) say(`${name} does not run on ${only}; it knows ${databases.join(' and ')}.`);
  return chosen;
}

async function runOne(
  campaign: Campaign,
  setup: { database: DatabaseKind; postgresUrl: string; share: number; seed: number },
  { quiet, bars, write }: { quiet: boolean; bars: boolean; write: boolean },
  rows: string[],
): Promise<boolean> {
  const { name, expected } = campaign;
  say(`\n${name} on ${setup.database}, seed ${setup.seed}`);
  const outcome = await campaign.run({ ...setup, progress: quiet ? undefined : say });
  const row = tableRow({ campaign: name, ...setup }, outcome, campaign.bars);
  if (write) writeRow(row, setup.share);
  say(['', ...TABLE_HEAD, row, '', detailLine(outcome)].join('\n'));
  rows.push(row);
  const found = violations(outcome.verdict, expected);
  const missed = Object.values(missedBars(outcome, campaign.bars ?? {}));
  [...found, ...missed].forEach(say);
  return found.length === 0 && (!bars || missed.length === 0);
}

/** Puts a row into the table of the page, with its size and day, in place of that of the same campaign and database. */
function writeRow(row: string, share: number): void {
  const text = readFileSync(PAGE, 'utf8');
  const start = text.indexOf(LAST_RUNS) + LAST_RUNS.length;
  const nameOf = (line: string): string => line.split(' | ').slice(0, 2).join(' | ');
  const more = ` ${+(share * 100).toPrecision(3)} % | ${new Date().toISOString().slice(0, 10)} |`;
  const rows = text
    .slice(start)
    .split('\n')
    .filter((line) => line.startsWith('| ') && !TABLE_HEAD.some((head) => line.startsWith(head)));
  const others = rows.filter((line) => nameOf(line) !== nameOf(row));
  const head = [`${TABLE_HEAD[0]} size | day |`, `${TABLE_HEAD[1]} --- | --- |`];
  const table = [...head, ...[...others, row + more].toSorted()];
  writeFileSync(PAGE, `${text.slice(0, start)}\n\n${table.join('\n')}\n`);
}

async function runSteps(): Promise<boolean> {
  const files = globSync('test/**/*.test.ts', { cwd: ROOT, exclude: ['test/campaigns/**'] }).filter((file) =>
    readFileSync(`${ROOT}/${file}`, 'utf8').includes('/campaign.ts'),
  );
  return await runTests(files, { CAMPAIGN: 'all' });
}

async function runFuzzers(minutes: number, seed: number): Promise<boolean> {
  return await runTests(['test/fuzz/fuzz.test.ts'], {
    FUZZ_MINUTES: String(minutes),
    FUZZ_SEED: String(seed),
  });
}

async function runTests(files: readonly string[], env: Record<string, string>): Promise<boolean> {
  const child = spawn('npm', ['test', '--', ...files], {
    cwd: ROOT,
    stdio: 'inherit',
    env: { ...process.env, ...env },
  });
  const [code]: unknown[] = await once(child, 'exit');
  return code === 0;
}
