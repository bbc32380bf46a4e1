/** The command line: `parley start`, and the commands of an owner while the gateway runs. */
import { existsSync } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { parseArgs } from 'node:util';
import { channels } from '../channels/index.ts';
import packageFile from '../package.json' with { type: 'json' };
import { helpOf, helpText, unknownCommand } from './commands/command-list.ts';
import { completionCommand } from './commands/completion.ts';
import { withEnvFiles } from './commands/environment.ts';
import { configFile, loadConfig } from './config.ts';
import { secretsOf } from './config-views.ts';
import type { Config } from './config.ts';
import { isId } from './contracts/access.ts';
import { GatewayError, toGatewayError } from './contracts/errors.ts';
import type { Log } from './contracts/log.ts';
import { editableConfig } from './live-config.ts';
import { deadLettersCommand } from './ops/dead-letters.ts';
import { traceCommand } from './ops/trace/commands.ts';
import { createTraces } from './ops/trace/traces.ts';
import { escapeControls, oneLine } from './lib/text.ts';
import { logFileOf } from './ops/log-file.ts';
import { createLog, redactor } from './ops/log.ts';
import { exportCommand, sessionsCommand } from './ops/sessions-command.ts';
import { mcpCommand } from './mcp/command.ts';
import { openCommand, pairCommand, signInsCommand, tokenCommand } from './security/index.ts';
import { configCommand } from './settings/index.ts';
import type { HomeStore } from './store/open-store.ts';

/** Runs one command. Sets the exit code; never throws. */
export async function main(args: string[]): Promise<void> {
  try {
    const { command, rest, help, ...flags } = readArgs(args);
    if (command === undefined || command === 'help') return print(helpText());
    if (command === '--version' || command === '-V') return print(packageFile.version);
    if (help) return print(helpOf(command));
    readEnvFiles();
    if (command === 'start') {
      const { start } = await import('./commands/start.ts');
      return await start(rest);
    }
    const alone = Object.hasOwn(WITHOUT_STORE, command) ? WITHOUT_STORE[command] : undefined;
    if (alone !== undefined) return await alone(rest);
    const read = Object.hasOwn(COMMANDS, command) ? COMMANDS[command] : undefined;
    if (read === undefined) throw unknownCommand(command);
    await withStore(await read(rest, flags));
  } catch (error) {
    process.stderr.write(`${toGatewayError(error).message}\n`);
    process.exitCode = 1;
  }
}

/** Options of single commands. */
interface Flags {
  all: boolean;
  noOwner: boolean;
}

interface Args extends Flags {
  command: string | undefined;
  rest: string[];
  help: boolean;
}

/** Commands on the store that read their own arguments. */
const OWN_ARGUMENTS = new Set([
  'start',
  'token',
  'sessions',
  'schedule',
  'export',
  'person',
  'open',
  'sign-ins',
]);

/** Throws `GatewayError('usage')` for an unknown option. */
function readArgs(args: string[]): Args {
  const [first, ...others] = args;
  if (first === '--help' || first === '-h')
    return { command: undefined, rest: [], all: false, noOwner: false, help: true };
  if (first === '--version' || first === '-V')
    return { command: first, rest: [], all: false, noOwner: false, help: false };
  // These commands read their own arguments.
  if (OWN_ARGUMENTS.has(first ?? '') || Object.hasOwn(WITHOUT_STORE, first ?? '')) {
    const help = args.includes('--help') || args.includes('-h');
    return { command: first, rest: others, all: false, noOwner: false, help };
  }
  const options = {
    all: { type: 'boolean' },
    'no-owner': { type: 'boolean' },
    help: { type: 'boolean', short: 'h' },
  } as const;
  // Ids of chats may begin with a minus and must not be read as options; no option here takes a value.
  const isChatId = (arg: string): boolean => channels.some(({ ids }) => ids && isId(arg, ids.chatId));
  const isOption = (arg: string): boolean => arg.startsWith('-') && !isChatId(arg);
  const sorted = [...args.filter(isOption), '--', ...args.filter((arg) => !isOption(arg))];
  try {
    const { positionals, values } = parseArgs({ args: sorted, options, allowPositionals: true });
    const [command, ...rest] = positionals;
    const { all = false, 'no-owner': noOwner = false, help = false } = values;
    return { command, rest, all, noOwner, help };
  } catch (error) {
    const message = `${toGatewayError(error).message}\n\n${helpText().trimEnd()}`;
    throw new GatewayError('usage', message, { cause: error });
  }
}

/** Variables of files `.env` become the process's own: all commands, and the gateway, read them there. */
function readEnvFiles(): void {
  Object.assign(process.env, withEnvFiles(process.env));
}

/** What a person who has set a gateway up for the first time is asked last. */
const START_NOW = 'Start it now? It prints a link that opens the page (yes, no)';

/** The commands that open no store. They read their own arguments, and throw `GatewayError`. */
const WITHOUT_STORE: Record<string, (args: string[]) => Promise<void> | void> = {
  completion: (args) => print(completionCommand(args)),
  async logs(args) {
    const { logsCommand } = await import('./ops/logs-command.ts');
    const run = logsCommand(args);
    const ending = new AbortController();
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => ending.abort());
    const { stdout } = process;
    // The reader of a pipe, such as head, may have enough.
    stdout.on('error', () => ending.abort());
    await run(logFileOf(loadConfig(process.env).home), {
      write: (text) => void stdout.write(text),
      colours: stdout.isTTY && stdout.hasColors(),
      signal: ending.signal,
    });
  },
  config: (args) => print(configCommand(args)(editableConfig(process.env))),
  async init(args) {
    const { initCommand, readInitFlags } = await import('./commands/init.ts');
    const { openDialog } = await import('./commands/dialog.ts');
    const flags = readInitFlags(args);
    const isFirst = !existsSync(configFile(process.env));
    const isAsked = flags['yes'] !== true && process.stdin.isTTY && process.stdout.isTTY;
    const dialog = openDialog(flags['yes'] === true ? undefined : process.stdin, process.stdout);
    let starts = false;
    try {
      print(await initCommand(flags, process.env, dialog));
      starts = isFirst && isAsked && /^y/i.test(await dialog.ask(START_NOW, 'yes'));
    } finally {
      dialog.close();
    }
    if (!starts) return;
    readEnvFiles();
    const { start } = await import('./commands/start.ts');
    await start([]);
  },
  async backup(args) {
    const { backupCommand, readBackupOptions } = await import('./commands/backup.ts');
    const options = readBackupOptions('backup', args);
    const config = loadConfig(process.env);
    print(await backupCommand(config, commandLog(config), options));
  },
  async restore(args) {
    const { readBackupOptions, restoreCommand } = await import('./commands/backup.ts');
    const options = readBackupOptions('restore', args);
    const config = loadConfig(process.env);
    print(await restoreCommand(config, commandLog(config), options));
  },
  async doctor(args) {
    const { doctorCommand } = await import('./commands/doctor.ts');
    const { text, ok } = await doctorCommand(args, process.env, {
      colours: process.stdout.hasColors?.() ?? false,
    });
    print(text);
    if (!ok) process.exitCode = 1;
  },
};

/** A command that was read, and runs on the store. */
type Act = (store: HomeStore, config: Config) => Promise<string>;

/** The commands besides `start`. Each reads its arguments before the store is opened, and throws `GatewayError('usage')`. */
const COMMANDS: Record<string, (rest: string[], flags: Flags) => Act | Promise<Act>> = {
  pair: (rest, { noOwner }) => {
    return (store, config) => {
      const hasOwners = config.channels.some(({ access }) => (access?.owners.length ?? 0) > 0);
      return pairCommand(store.access, channels, rest, { firstOwns: !noOwner && !hasOwners });
    };
  },
  token: (rest) => {
    const run = tokenCommand(rest);
    return (store, { home }) => run(store.access, home);
  },
  sessions: sessionsCommand,
  open: (rest) => {
    const run = openCommand(rest);
    return async ({ access, signIns }, config) => await run(access, signIns, pageUrl(config));
  },
  'sign-ins': (rest) => {
    const run = signInsCommand(rest);
    return ({ signIns }) => run(signIns);
  },
  export: (rest) => {
    const write = exportCommand(rest);
    return async (store) => {
      await pipeline(Readable.from(write(store)), process.stdout, { end: false });
      return '';
    };
  },
  async person(rest) {
    const { personCommand } = await import('./commands/person.ts');
    const run = personCommand(rest);
    return async (store, config) => {
      await pipeline(Readable.from(run(store, config)), process.stdout, { end: false });
      return '';
    };
  },
  async schedule(rest) {
    const { scheduleCommand } = await import('./commands/schedule.ts');
    return scheduleCommand(rest);
  },
  'dead-letters':
    (rest, { all }) =>
    (store) =>
      deadLettersCommand(store.lanes, rest, all),
  trace:
    (rest) =>
    (store, { prices }) =>
      traceCommand(
        createTraces(store.traces, () => prices),
        rest,
      ),
  status: () => status,
  async mcp(rest) {
    if (rest[0] === 'login' || rest[0] === 'logout') {
      const { mcpLoginCommand } = await import('./commands/mcp-login.ts');
      return mcpLoginCommand(rest);
    }
    return (store, config) => {
      const names = config.mcpServers.map(({ name }) => name);
      return mcpCommand(store.mcp, names, rest);
    };
  },
};

/** The log of a command: errors, on standard error. */
function commandLog(config: Config): Log {
  return createLog({
    level: 'error',
    redact: redactor(secretsOf(config)),
    write: (line) => void process.stderr.write(line),
  });
}

async function withStore(command: Act): Promise<void> {
  const config = loadConfig(process.env);
  const log = commandLog(config);
  const { openStore } = await import('./store/open-store.ts');
  const store = await openStore({
    home: config.home,
    databaseUrl: config.env.DATABASE_URL,
    log,
    attach: true,
  });
  try {
    print(await command(store, config));
  } finally {
    await store.close();
  }
}

/** Where a browser of this machine finds the page. Throws `GatewayError` when the port is chosen by each start. */
function pageUrl({ env }: Config): string {
  const variables = new Map<string, unknown>(Object.entries(env));
  const [host, port] = [String(variables.get('HOST')), Number(variables.get('PORT'))];
  if (port === 0)
    throw new GatewayError('no_port', 'PORT=0 takes another port at each start: set PORT to a number.');
  const name = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host;
  return `http://${name.includes(':') ? `[${name}]` : name}:${port}`;
}

async function status(store: HomeStore, { home }: Config): Promise<string> {
  const counts = await store.ledger.counts();
  const dead = await store.lanes.deadLetters(5);
  const lines = [
    `gateways      ${counts.gateways === 0 ? 'none is running with this home and database' : `${counts.gateways} running`}`,
    `home          ${home}`,
    `store         ${store.kind}`,
    `sessions      ${counts.sessions}`,
    `pending       ${counts.pending}`,
    `running       ${counts.running}`,
    `dead letters  ${counts.deadLetters}`,
    ...dead.map(({ lane, seq, error }) => `  ${escapeControls(`${lane}#${seq}: ${oneLine(error)}`)}`),
  ];
  return lines.join('\n');
}

function print(text: string): void {
  if (text !== '') process.stdout.write(`${text.trimEnd()}\n`);
}
