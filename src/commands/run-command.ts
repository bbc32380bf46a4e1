/** All commands of `parley`: help, `start`, and those of an owner while the gateway runs. */
import { createReadStream, existsSync } from 'node:fs';
import path from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import packageFile from '../../package.json' with { type: 'json' };
import {
  commandNames,
  helpOf,
  helpText,
  notACommand,
  refuseUnknownOptions,
  unknownCommand,
  wordsAfter,
} from './command-list.ts';
import { visibleText } from '../lib/text.ts';
import { urlOfListener } from '../lib/connection-url.ts';
import { GatewayError, optionalModule } from '../protocol/errors.ts';
import { PARLEY } from '../protocol/texts/parley.ts';
import { addEnvFiles } from './environment.ts';
import { start } from './start.ts';
import { createStartNotes, type StartNotes } from '../ops/start.ts';
import { type Config, configFile, loadConfig, secretsOf } from '../config.ts';
import type { Log } from '../protocol/log.ts';
import { editableConfig } from '../live-config.ts';
import { deadLettersCommand } from '../ops/dead-letters.ts';
import { traceCommand } from '../ops/trace/commands.ts';
import { createTraces } from '../ops/trace/traces.ts';
import { logFileOf } from '../ops/log-file.ts';
import { createLog, redactor } from '../ops/log.ts';
import { signingKey, verifyRecord } from '../ops/signed-record.ts';
import { exportCommand, sessionsCommand } from '../ops/sessions-command.ts';
import { mcpCommand } from '../mcp/command.ts';
import { openCommand, pairCommand, signInsCommand, tokenCommand } from '../security/index.ts';
import { configCommand, writeWhole } from '../settings/index.ts';
import type { HomeStore } from '../store/index.ts';

const SCRIPTS: Readonly<Record<string, () => string>> = { bash, zsh, fish };

/** Runs one command. Throws what it failed with, as a `GatewayError` if that is known. */
export async function runCommand([command, ...rest]: readonly string[]): Promise<void> {
  if (command === undefined || ['help', '--help', '-h'].includes(command)) return print(helpText());
  if (command === '--version' || command === '-V') return print(packageFile.version);
  if (command.startsWith('-')) throw notACommand(command);
  if (rest.includes('--help') || rest.includes('-h')) return print(helpOf(command));
  // `init` has options for each channel, which it knows itself; a value of `config set` may begin with a minus.
  const checked = command === 'config' ? rest.slice(0, 2) : rest;
  if (command !== 'init') refuseUnknownOptions(command, checked);
  if (command === 'start') return await start(rest);
  addEnvFiles();
  const runWithoutStore = Object.hasOwn(WITHOUT_STORE, command) ? WITHOUT_STORE[command] : undefined;
  if (runWithoutStore !== undefined) return await runWithoutStore(rest);
  const read = Object.hasOwn(COMMANDS, command) ? COMMANDS[command] : undefined;
  if (read === undefined) throw unknownCommand(command);
  await withStore(await read(rest));
}

/** The last question to a person who has set up a gateway for the first time. */
const START_NOW = 'Start it now? It prints a link that opens the page (yes, no)';

/** The commands that open no store. They read their own arguments, and throw `GatewayError`. */
const WITHOUT_STORE: Record<string, (args: string[]) => Promise<void> | void> = {
  completion: (args) => print(completionCommand(args)),
  async logs(args) {
    const { logsCommand } = await import('../ops/logs-command.ts');
    const run = logsCommand(args);
    const ending = endedBySignals();
    const { stdout } = process;
    // The reader of a pipe, such as head, may close it early.
    stdout.on('error', () => ending.abort());
    await run(logFileOf(loadConfig(process.env).home), {
      write: (text) => void stdout.write(text),
      colours: stdout.isTTY && stdout.hasColors(),
      signal: ending.signal,
    });
  },
  async config(args) {
    const run = configCommand(args);
    if (args[0] === 'set') {
      const { makeHome } = await import('../store/index.ts');
      await makeHome(path.dirname(configFile(process.env)));
    }
    const text = run(editableConfig(process.env));
    // A script reads the value as it is.
    if (process.stdout.isTTY) print(text);
    else printOwn(text);
  },
  async init(args) {
    const { initCommand, readInitFlags } = await import('./init.ts');
    const { openDialog } = await import('./dialog.ts');
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
    if (starts) await start([]);
  },
  async backup(args) {
    const { backupCommand, readBackupOptions } = await import('./backup.ts');
    const options = readBackupOptions('backup', args);
    const config = loadConfig(process.env);
    const { signal } = endedBySignals();
    print(
      await withProgress((progress) =>
        backupCommand(config, { log: commandLog(config), progress, signal }, options),
      ),
    );
  },
  async restore(args) {
    const { readBackupOptions, restoreCommand } = await import('./backup.ts');
    const options = readBackupOptions('restore', args);
    const config = loadConfig(process.env);
    print(
      await withProgress((progress) =>
        restoreCommand(config, { log: commandLog(config), progress }, options),
      ),
    );
  },
  async verify(args) {
    const [file, ...more] = args;
    if (file === undefined || more.length > 0)
      throw new GatewayError('usage', `Expected: verify FILE. See: ${PARLEY} verify --help`);
    print(await verifyFile(file));
  },
  async plugin(args) {
    const { pluginCommand } = await import('./packages/plugin.ts');
    print(await pluginCommand(args, process.env));
  },
  async skill(args) {
    const { skillCommand } = await import('./packages/skill.ts');
    print(await skillCommand(args, process.env));
  },
  async service(args) {
    const { serviceCommand } = await import('./service.ts');
    const { thisMachine } = await import('./service-machine.ts');
    const { text, ok } = serviceCommand(args, process.env, thisMachine());
    print(text);
    if (!ok) process.exitCode = 1;
  },
  async doctor(args) {
    const { doctorCommand } = await import('./doctor.ts');
    const colours = process.stdout.hasColors?.() ?? false;
    const { text, ok } = await withProgress(async (progress) => {
      progress.step('Asking the database, the model servers and the channels…');
      return await doctorCommand(args, process.env, { colours });
    });
    // With colours; the report escapes what others wrote.
    printOwn(text);
    if (!ok) process.exitCode = 1;
  },
};

/** A parsed command, which runs on the store. */
type Act = (store: HomeStore, config: Config) => Promise<string>;

/** The commands besides `start`. Each reads its arguments before the store is opened, and throws `GatewayError('usage')`. */
const COMMANDS: Record<string, (rest: string[]) => Act | Promise<Act>> = {
  pair: (rest) => {
    const words = rest.filter((word) => word !== '--no-owner');
    return (store, config) => {
      const hasOwners = config.channels.some(({ access }) => (access?.owners.length ?? 0) > 0);
      const firstOwns = words.length === rest.length && !hasOwners;
      return pairCommand(store.access, config.manifests, words, { firstOwns });
    };
  },
  token: (rest) => {
    const run = tokenCommand(rest);
    return (store, { home }) => run(store.access, home);
  },
  sessions: sessionsCommand,
  async open(rest) {
    const words = rest.filter((word) => word !== '--lan');
    const run = openCommand(words);
    if (words.length === rest.length)
      return async (store, config) => await run(store.access, store.signIns, await pageUrl(store, config));
    const { openOnNetwork } = await import('./open.ts');
    return async (store, config) =>
      await openOnNetwork(config, await pageUrl(store, config), (url) =>
        run(store.access, store.signIns, url),
      );
  },
  'sign-ins': (rest) => {
    const run = signInsCommand(rest);
    return ({ signIns }) => run(signIns);
  },
  export: (rest) => {
    const write = exportCommand(rest);
    return async (store, { home }) => {
      const signer = () => ({ key: signingKey(home, writeWhole), program: `Parley ${packageFile.version}` });
      await printPieces(write(store, signer));
      return '';
    };
  },
  async person(rest) {
    const { personCommand } = await import('./person.ts');
    const run = personCommand(rest);
    return async (store, config) => {
      await printPieces(run(store, config));
      return '';
    };
  },
  async schedule(rest) {
    const { scheduleCommand } = await import('./schedule.ts');
    return scheduleCommand(rest);
  },
  async import(rest) {
    const { importCommand } = await import('./import/import.ts');
    return importCommand(rest);
  },
  'dead-letters': deadLettersCommand,
  trace:
    (rest) =>
    (store, { prices }) =>
      traceCommand(
        createTraces(store.traces, () => prices),
        rest,
      ),
  async replay(rest) {
    const { onTerminal, replayCommand } = await import('./replay.ts');
    return onTerminal(replayCommand(rest), commandLog, endedBySignals);
  },
  async eval(rest) {
    const { evalCommand, onTerminal } = await import('./replay.ts');
    return onTerminal(evalCommand(rest), commandLog, endedBySignals);
  },
  async status(rest) {
    const { statusCommand } = await import('./status.ts');
    const run = statusCommand(rest);
    return async (store, config) => {
      const { text, isRunning } = await run(store, config);
      if (!isRunning) process.exitCode = 1;
      return text;
    };
  },
  async mcp(rest) {
    if (rest[0] === 'login' || rest[0] === 'logout') {
      const { mcpLoginCommand } = await optionalModule(import('./mcp-login.ts'), 'mcp login');
      return mcpLoginCommand(rest);
    }
    return (store, config) => {
      const names = config.mcpServers.map(({ name }) => name);
      return mcpCommand(store.mcp, names, rest);
    };
  },
};

/** Verifies a signed record; returns what it is, in words. Throws `GatewayError`. */
async function verifyFile(file: string): Promise<string> {
  if (!existsSync(file)) throw new GatewayError('no_file', `There is no file ${file}.`);
  const { fingerprint: key, ...record } = await verifyRecord(createReadStream(file));
  return (
    `Nothing was changed: ${record.session}, ${record.lines} lines, signed by ${record.program} at ${record.at}.\n` +
    `Key: ${key}. Compare it with what "${PARLEY} verify" printed for the operator of that gateway.`
  );
}

/** Aborts at the first signal that asks this process to end: a command cleans up first. The second one ends it at once. */
function endedBySignals(): AbortController {
  const ending = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => ending.abort());
  return ending;
}

/** The log of a command: errors, on standard error. */
function commandLog(config: Config): Log {
  return createLog({
    level: 'error',
    redact: redactor(secretsOf(config)),
    write: (line) => void process.stderr.write(line),
  });
}

/** Says on standard error what takes longer than a second: standard output belongs to the command's result. */
async function withProgress<T>(work: (progress: StartNotes) => Promise<T>): Promise<T> {
  const progress = createStartNotes((text) => void process.stderr.write(`${text}\n`));
  try {
    return await work(progress);
  } finally {
    progress.end();
  }
}

async function withStore(command: Act): Promise<void> {
  const config = loadConfig(process.env);
  const log = commandLog(config);
  const { openStore } = await import('../store/index.ts');
  const { home, env } = config;
  // With the home of another user, or a misspelt one, a command would answer for a gateway that nobody runs.
  if (env.DATABASE_URL === undefined && !existsSync(path.join(home, 'pg')))
    process.stderr.write(
      `No gateway has run with ${home} yet. If yours has another home, set GATEWAY_HOME to it.\n`,
    );
  const store = await withProgress((progress) =>
    openStore({ home, databaseUrl: env.DATABASE_URL, log, attach: true, progress }),
  );
  try {
    print(await command(store, config));
  } finally {
    await store.close();
  }
}

/**
 * Where a browser of this machine finds the page: at the gateway that runs with this home, whatever PORT it was started with,
 * or where the next one will listen. Throws `GatewayError` when that port is chosen by each start, and `StoreError`.
 */
async function pageUrl({ nodes, instance }: HomeStore, { env }: Config): Promise<string> {
  const live = await nodes.liveNodes();
  // Each worker has the name of the home and its own number.
  const own = live.find((node) => node.instance.split(':', 1)[0] === instance && node.status !== undefined);
  if (own?.status) return own.status.url;
  const variables = new Map<string, unknown>(Object.entries(env));
  const [host, port] = [String(variables.get('HOST')), Number(variables.get('PORT'))];
  if (port === 0)
    throw new GatewayError(
      'no_port',
      'PORT=0 uses a different port at each start: set PORT to a fixed number.',
    );
  return urlOfListener(host, port);
}

/** What others wrote, such as names and errors, has no power over the terminal. */
function print(text: string): void {
  printOwn(visibleText(text));
}

/** Text of the program itself. */
function printOwn(text: string): void {
  if (text !== '') process.stdout.write(`${text.trimEnd()}\n`);
}

/** Texts as they are for files and pipes, and like `print` on a terminal. */
async function printPieces(pieces: AsyncIterable<string>): Promise<void> {
  const { stdout } = process;
  const shown = async function* (): AsyncGenerator<string> {
    for await (const piece of pieces) yield visibleText(piece);
  };
  await pipeline(Readable.from(stdout.isTTY ? shown() : pieces), stdout, { end: false });
}

/** The script for a shell. Throws `GatewayError('usage')` for another one. */
function completionCommand(args: readonly string[]): string {
  const [shell = '', ...more] = args;
  const script = Object.hasOwn(SCRIPTS, shell) ? SCRIPTS[shell] : undefined;
  if (script === undefined || more.length > 0) {
    throw new GatewayError('usage', `Expected: completion bash|zsh|fish. See: ${PARLEY} --help`);
  }
  return script();
}

function bash(): string {
  const cases = commandNames().map((name) => `    ${name}) words="${wordsAfter(name).join(' ')}" ;;`);
  return `# Completes parley in bash: source <(${PARLEY} completion bash)
_parley() {
  local word="\${COMP_WORDS[COMP_CWORD]}" words=""
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "${commandNames().join(' ')} --help --version" -- "$word"))
    return
  fi
  case "\${COMP_WORDS[1]}" in
${cases.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}
complete -o default -F _parley parley
`;
}

function zsh(): string {
  const cases = commandNames().map((name) => `    ${name}) compadd -- ${wordsAfter(name).join(' ')} ;;`);
  return `#compdef parley
# Completes parley in zsh: source <(${PARLEY} completion zsh)
_parley() {
  if (( CURRENT == 2 )); then
    compadd -- ${commandNames().join(' ')} --help --version
    return
  fi
  case "$words[2]" in
${cases.join('\n')}
  esac
  _files
}
compdef _parley parley
`;
}

function fish(): string {
  const lines = commandNames().flatMap((name) => [
    `complete -c parley -n __fish_use_subcommand -a ${name}`,
    `complete -c parley -n '__fish_seen_subcommand_from ${name}' -a '${wordsAfter(name).join(' ')}'`,
  ]);
  return `# Completes parley in fish: ${PARLEY} completion fish | source\n${lines.join('\n')}\n`;
}
