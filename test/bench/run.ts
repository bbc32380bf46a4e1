/** `npm run bench`: measures the budgets on both databases in one run, prints the table, exits 1 on a missed bar. */
import { cpus, loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { burstsOfQuestions } from './chats/bursts.ts';
import { type Helper, startHelper } from './children.ts';
import { chatsOnScreen } from './chats/chats.ts';
import { manyChatsOnScreen } from './chats/many-chats.ts';
import { manySessions } from './many-sessions.ts';
import { cpuPerTurn } from './cpu.ts';
import { openPostgres } from './databases.ts';
import { type Figure, isMissed, table } from './figures.ts';
import { addedToFirstToken, firstTokenUnderLoad, firstTokenInOldSession } from './first-token.ts';
import { openGateway, RAISED, type RunningGateway } from './gateway-setup.ts';
import { answerToNote } from './chats/notes.ts';
import { pageFrames } from './page.ts';
import { idleMemory, startToReady } from './process.ts';
import { renderedLongAnswers } from './rendering.ts';
import { longestStall } from './stall.ts';
import { stopToClosed } from './stop.ts';
import { pacedStreams } from './streams.ts';
import { memorySlope, turnsPerSecond } from './turns.ts';
import { severalWorkers } from './workers.ts';

type Measure = (gateway: RunningGateway, proxy: Helper) => Promise<Figure | Figure[]>;

/** The rows in measuring order: what needs a fresh process comes last. */
const MEASURES: [row: string, what: string, take: Measure][] = [
  ['1', 'what the gateway adds to the first token', addedToFirstToken],
  ['2', 'the first token with 64 sessions at once', firstTokenUnderLoad],
  ['3', 'durable turns per second', turnsPerSecond],
  [
    'cpu',
    'CPU per turn of each process beside a plain proxy, at 64, 256 and 1,000 streams (minutes)',
    cpuPerTurn,
  ],
  ['workers', 'turns per second of two workers beside one process, on Postgres', severalWorkers],
  ['memory', 'how memory grows over many turns', memorySlope],
  ['5', 'the first token in a session of 10,000 turns (minutes)', firstTokenInOldSession],
  ['8', 'from /stop to the closed model connection', stopToClosed],
  ['stall', 'the longest stall of the event loop by one request', longestStall],
  ['chats', 'what people in chats on Telegram and Discord see, and when', chatsOnScreen],
  ['bursts', 'many people on Telegram who ask in the same instant (minutes)', burstsOfQuestions],
  ['many', '100 chats at once on Telegram and Discord, 16 on Slack and Matrix (minutes)', manyChatsOnScreen],
  ['4', '256 and 1,000 sessions streaming (minutes)', pacedStreams],
  ['notes', 'from the answer to a first message to the note of its id', answerToNote],
  [
    'sessions',
    'a gateway with 10,000 conversations: start, first token, lists, search, memory',
    manySessions,
  ],
  ['rendering', 'an answer of 64 KiB on every network', renderedLongAnswers],
  ['page', 'frames of the page while an answer streams below 2,500 turns', pageFrames],
  ['6', 'from start to ready', startToReady],
  ['7', 'memory of an idle gateway', idleMemory],
];

/** Rows that take minutes each, measured only on request. */
const DEFAULT_ROWS = '1,2,3,memory,6,7,8,stall,chats,rendering';
const PLACES = ['embedded', 'postgres'];
const HELP = `npm run bench -- [--rows 1,3,memory] [--on embedded|postgres]

Measures the gateway on both databases, prints a table, and exits 1 where a bar is missed. Leave the machine alone meanwhile.

  --rows LIST   which rows, by comma; default ${DEFAULT_ROWS}:
${MEASURES.map(([row, what]) => `                  ${row.padEnd(6)}  ${what}`).join('\n')}
  --on PLACE    only the embedded database, or only Postgres (DATABASE_URL, else a server of its own where initdb is found)
`;
const { rows, on, help } = readOptions();
const wanted = rows.split(',');

/** The options; anything else ends the process with the help text. */
function readOptions(): { rows: string; on: string | undefined; help: boolean } {
  const options = { rows: { type: 'string' }, on: { type: 'string' }, help: { type: 'boolean' } } as const;
  try {
    const { values } = parseArgs({ options });
    const named = (values.rows ?? DEFAULT_ROWS).split(',');
    const strange = named.find((name) => !MEASURES.some(([row]) => row === name));
    if (strange !== undefined) throw new Error(`There is no row "${strange}".`);
    if (values.on !== undefined && !PLACES.includes(values.on))
      throw new Error(`--on takes ${PLACES.join(' or ')}.`);
    return { rows: named.join(','), on: values.on, help: values.help === true };
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n\n${HELP}`);
    return process.exit(2);
  }
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

async function measure(gateway: RunningGateway, proxy: Helper): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const [row, , take] of MEASURES) {
    if (!wanted.includes(row)) continue;
    const load = loadavg()[0]?.toFixed(1) ?? '?';
    const taken = [await take(gateway, proxy)].flat();
    say(
      taken
        .map(
          (figure) =>
            `${gateway.on}: ${figure.what}: ${figure.value.toFixed(2)} ${figure.unit} (load ${load})`,
        )
        .join('\n'),
    );
    figures.push(...taken);
  }
  return figures;
}

async function measureOn(databaseUrl: string | undefined): Promise<Figure[]> {
  const model = await startHelper('model');
  const proxy = await startHelper('proxy', model.url);
  const gateway = await openGateway(model, databaseUrl);
  try {
    return await measure(gateway, proxy);
  } finally {
    await gateway.close();
    await proxy.stop();
    await model.stop();
  }
}

async function main(): Promise<void> {
  if (help) return say(HELP);
  say(
    `${cpus().length} cores, load ${loadavg()
      .map((load) => load.toFixed(1))
      .join(' ')}, Node ${process.version}`,
  );
  say(`rows ${wanted.join(', ')} (--rows 4,5,workers,bursts,many measures the long ones)`);
  say(`raised for this run, in config.json: ${JSON.stringify(RAISED)}\n`);
  const figures: Figure[] = [];
  if (on !== 'postgres') figures.push(...(await measureOn(undefined)));
  if (on !== 'embedded') {
    const postgres = await openPostgres();
    if (postgres === undefined) {
      say('\nNOT MEASURED ON POSTGRES: set DATABASE_URL, or install a server so that initdb is found.\n');
    } else {
      say(`postgres: a database of its own on ${postgres.server}`);
      try {
        figures.push(...(await measureOn(postgres.url)));
      } finally {
        await postgres.close();
      }
    }
  }
  say(`\n${table(figures)}\n`);
  const missed = figures.filter(isMissed);
  say(missed.length === 0 ? 'Every bar that was measured is met.' : `${missed.length} missed.`);
  if (missed.length > 0) process.exitCode = 1;
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));
await main();
