/** The command line: `parley start`, and the commands of an owner while the gateway runs. */
import { parseArgs } from 'node:util';
import { channels } from '../channels/index.ts';
import { loadConfig, secretsOf } from './config.ts';
import { isId } from './contracts/access.ts';
import type { AccessStore, Scope } from './contracts/access.ts';
import { GatewayError, toGatewayError } from './contracts/errors.ts';
import { deadLettersCommand } from './ops/dead-letters.ts';
import { createLog, redactor } from './ops/log.ts';
import { hashSecret, newToken, pairChannels, pairCommand } from './security/index.ts';
import type { HomeStore } from './store/open-store.ts';

const HELP = `Usage: npx parley <command>

  start                           run the gateway (also: npm start)
  status                          show whether a gateway runs, and what is pending and running
  pair                            list pending codes and grants
  pair approve CODE               allow the person who was given CODE
  pair group CHANNEL CHAT_ID      answer in a group (CHANNEL: ${pairChannels(channels).join(', ')})
  pair revoke CHANNEL ID          revoke the grant of a person or group
  token                           list HTTP tokens
  token create NAME [--admin]     make a token; it is shown once
  token revoke ID                 revoke a token
  dead-letters                    list messages that were given up, with their errors (kept for a week)
  dead-letters replay ID          queue one again (--all: all of them)

Settings come from the environment and from config.json in GATEWAY_HOME (default ./.parley); docs/configuration.md lists them.
These commands work while the gateway runs.
`;

/** Runs one command. Sets the exit code; never throws. */
export async function main(args: string[]): Promise<void> {
  const { command, rest, admin, all, help } = readArgs(args);
  if (help || command === undefined || command === 'help') return print(HELP);
  try {
    if (command === 'start') {
      const { run } = await import('./main.ts');
      return await run();
    }
    const act = Object.hasOwn(COMMANDS, command) ? COMMANDS[command] : undefined;
    if (act === undefined)
      throw new GatewayError('usage', `There is no command "${command}". See: npx parley --help`);
    await withStore((store, home) => act({ store, home, rest, admin, all }));
  } catch (error) {
    process.stderr.write(`${toGatewayError(error).message}\n`);
    process.exitCode = 1;
  }
}

function readArgs(args: string[]): {
  command: string | undefined;
  rest: string[];
  admin: boolean;
  all: boolean;
  help: boolean;
} {
  const options = {
    admin: { type: 'boolean' },
    all: { type: 'boolean' },
    help: { type: 'boolean', short: 'h' },
  } as const;
  // Ids of chats may begin with a minus and must not be read as options; no option here takes a value.
  const isChatId = (arg: string): boolean => channels.some(({ ids }) => ids && isId(arg, ids.chatId));
  const isOption = (arg: string): boolean => arg.startsWith('-') && !isChatId(arg);
  const sorted = [...args.filter(isOption), '--', ...args.filter((arg) => !isOption(arg))];
  try {
    const { positionals, values } = parseArgs({ args: sorted, options, allowPositionals: true });
    const [command, ...rest] = positionals;
    const { admin = false, all = false, help = false } = values;
    return { command, rest, admin, all, help };
  } catch (error) {
    process.stderr.write(`${toGatewayError(error).message}\n\n`);
    process.exitCode = 1;
    return { command: undefined, rest: [], admin: false, all: false, help: true };
  }
}

/** Arguments of a command. */
interface Call {
  store: HomeStore;
  home: string;
  rest: string[];
  admin: boolean;
  all: boolean;
}

/** The commands besides `start`. */
const COMMANDS: Record<string, (call: Call) => Promise<string>> = {
  pair: ({ store, rest }) => pairCommand(store.access, channels, rest),
  token: ({ store, rest, admin }) => token(store.access, rest, admin),
  'dead-letters': ({ store, rest, all }) => deadLettersCommand(store.lanes, rest, all),
  status: ({ store, home }) => status(store, home),
};

async function withStore(command: (store: HomeStore, home: string) => Promise<string>): Promise<void> {
  const config = loadConfig(process.env);
  const log = createLog({
    level: 'error',
    redact: redactor(secretsOf(config)),
    write: (line) => void process.stderr.write(line),
  });
  const { openStore } = await import('./store/open-store.ts');
  const store = await openStore({
    home: config.home,
    databaseUrl: config.env.DATABASE_URL,
    log,
    attach: true,
  });
  try {
    print(await command(store, config.home));
  } finally {
    await store.close();
  }
}

async function token(access: AccessStore, [action, name]: string[], admin: boolean): Promise<string> {
  if (action === undefined) {
    const rows = await access.tokens();
    return rows.length === 0
      ? 'There are no tokens.'
      : rows.map((row) => `${row.tokenId}  ${row.scopes.join(',')}  ${row.name}`).join('\n');
  }
  if (action === 'create' && name !== undefined) {
    const secret = newToken();
    const scopes: Scope[] = admin ? ['chat', 'admin'] : ['chat'];
    await access.putToken({ hash: hashSecret(secret), name, scopes });
    return `Token "${name}" (${scopes.join(', ')}), shown only this once:\n\n  ${secret}\n`;
  }
  if (action === 'revoke' && name !== undefined) {
    return (await access.revokeToken(name))
      ? 'Revoked; it stops working within a second.'
      : `There is no token ${name}. See: npx parley token`;
  }
  throw new GatewayError(
    'usage',
    'Expected: token [create NAME [--admin] | revoke ID]. See: npx parley --help',
  );
}

async function status(store: HomeStore, home: string): Promise<string> {
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
    ...dead.map((letter) => `  ${letter.lane}#${letter.seq}: ${letter.error}`),
  ];
  return lines.join('\n');
}

function print(text: string): void {
  process.stdout.write(`${text.trimEnd()}\n`);
}
