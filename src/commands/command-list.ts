/** Every command of `parley` with its forms and options: what `--help` prints and what shells complete. */
import { channels } from '../../channels/index.ts';
import { GatewayError } from '../protocol/errors.ts';
import { pairChannels } from '../security/index.ts';
import { PARLEY } from '../protocol/texts/parley.ts';
import { closestNames, oneLine } from '../lib/text.ts';

/** One way to call a command. */
export interface CommandForm {
  /** The words after `parley`; those in capitals are placeholders, those in brackets are optional. */
  usage: string;
  does: string;
  options?: readonly (readonly [option: string, does: string])[];
}

const SCOPE_OPTIONS = [
  ['--scope SCOPES', 'chat (default), approve, commands, admin; several with commas'],
  ['--expires TIME', '30d, 12h, 90m or never (default)'],
] as const;

/** In the order of `parley --help`; the forms of one command are next to each other. */
export const COMMAND_FORMS: readonly CommandForm[] = [
  {
    usage: 'start',
    does: 'run the gateway (also: npm start)',
    options: [['--workers N|auto', 'run N processes behind one port (needs Postgres)']],
  },
  {
    usage: 'init',
    does: 'ask a few questions and set up a gateway; when run again, change its settings',
    options: [['-y, --yes', 'ask nothing; options such as --model NAME answer single questions']],
  },
  {
    usage: 'status',
    does: 'show the running gateways, with page, model and channels, and pending work; exits with 1 if none is running',
    options: [['--json', 'print JSON, for programs']],
  },
  {
    usage: 'doctor',
    does: 'check everything a gateway needs, and say how to fix problems',
    options: [
      ['--fix', 'fix what can be fixed without losing anything'],
      ['--json', 'print JSON, for programs'],
    ],
  },
  {
    usage: 'open [TOKEN_ID]',
    does: 'print a link that signs a browser in once, with the rights of a token (default: an admin)',
    options: [['--lan', 'for a phone or another computer of your network: print its address and a QR code']],
  },
  { usage: 'sign-ins', does: 'list the browsers that are signed in with a link' },
  { usage: 'sign-ins revoke ID', does: 'sign a browser out' },
  {
    usage: 'logs',
    does: 'show the last lines of the log',
    options: [
      ['-f, --follow', 'keep printing new lines until Ctrl-C'],
      ['--turn ID', 'only lines of this turn'],
      ['--level LEVEL', 'minimum level: debug, info, warn, error or fatal'],
      ['-n, --lines N', 'number of lines (default 100)'],
      ['--json', 'print the lines as stored'],
    ],
  },
  {
    usage: 'backup FILE',
    does: 'write the database and the home to one file, while the gateway runs',
    options: [['--passphrase-file FILE', 'encrypt it with the first line of that file']],
  },
  {
    usage: 'restore FILE',
    does: 'restore a backup, even into the other kind of database; the gateway must be stopped',
    options: [
      ['--passphrase-file FILE', 'the passphrase file of the backup'],
      ['--replace', 'delete the existing data'],
    ],
  },
  {
    usage: 'sessions',
    does: 'list the sessions of all people, newest first',
    options: [
      ['--archived', 'list archived sessions'],
      ['--limit N', 'number of sessions (default 50)'],
    ],
  },
  { usage: 'sessions show SESSION', does: 'show a session, such as http:work, with its last messages' },
  { usage: 'sessions rename SESSION TITLE', does: 'rename a session' },
  {
    usage: 'sessions delete SESSION',
    does: 'delete a session with its messages, plans, schedules and files',
    options: [['--yes', 'confirm; without it, the command only shows what would be deleted']],
  },
  {
    usage: 'export SESSION',
    does: 'print a session with all of its messages',
    options: [
      ['--format md|json', 'md for people (default), json for programs'],
      ['--signed', 'everything that was stored, as a signed record that "verify" checks'],
    ],
  },
  { usage: 'verify FILE', does: 'prove that a signed record is as it was exported, on any machine' },
  {
    usage: 'person export PERSON',
    does: 'print everything about a person as JSON (CHANNEL:ID, token:ID, token:ID:user:NAME or proxy:USER)',
  },
  {
    usage: 'person delete PERSON',
    does: 'delete everything about a person; others keep what is theirs',
    options: [['--yes', 'confirm; without it, the command only shows what would be deleted']],
  },
  {
    usage: 'import PROGRAM FOLDER',
    does: 'bring chats, memories and schedules from openclaw, hermes, nanobot or open-webui; nothing is brought twice',
    options: [
      ['--dry-run', 'say what would be imported, and change nothing'],
      ['--prompts', 'bring prompt files and skills, too: the model follows them, so read them first'],
      ['--token ID', 'whose chats they become (default: the oldest admin token)'],
      ['--user EMAIL', 'of open-webui: whose chats to bring'],
    ],
  },
  { usage: 'schedule', does: 'list the schedules of all sessions' },
  { usage: 'schedule list SESSION', does: 'list the schedules of a session' },
  {
    usage: 'schedule add SESSION WHEN TASK',
    does: 'add a schedule, as /schedule add does: "0 9 * * 1-5", "every 2 hours", "in 10 minutes"',
    options: [['--as USER', 'who it runs for, as CHANNEL:ID; default: the person of the private chat']],
  },
  { usage: 'schedule history ID', does: 'show its latest runs and their results' },
  { usage: 'schedule run ID', does: 'run a schedule now' },
  { usage: 'schedule remove ID', does: 'remove a schedule' },
  { usage: 'skill', does: 'list the skills, with their state and where they came from' },
  {
    usage: 'skill add SOURCE [NAME...]',
    does: 'add skills from a folder, a .zip file or a Git repository; the model sees those that you trust',
    options: [
      ['--all', 'every skill of the source'],
      ['--trust', 'trust them without a question'],
    ],
  },
  { usage: 'skill show NAME', does: 'show what a skill says, holds and asks for' },
  { usage: 'skill trust NAME', does: 'let the model use a skill' },
  {
    usage: 'skill update [NAME]',
    does: 'fetch it again (without NAME: all), show what changes, and ask',
    options: [['--yes', 'agree without a question']],
  },
  { usage: 'skill remove NAME', does: 'delete a skill' },
  { usage: 'plugin', does: 'list the plug-ins, with their versions and state' },
  {
    usage: 'plugin add SOURCE',
    does: 'add a plug-in from a folder, a .tgz file, a Git repository or npm: show its rights, ask, and check it',
    options: [['--yes', 'agree without a question']],
  },
  { usage: 'plugin check NAME', does: 'try whether a plug-in (or a folder) keeps the contract' },
  {
    usage: 'plugin update [NAME]',
    does: 'fetch it again (without NAME: all that are not pinned), show what changes, and ask',
    options: [['--yes', 'agree without a question']],
  },
  {
    usage: 'plugin pin NAME',
    does: 'keep its version when all are updated',
    options: [['--off', 'no longer']],
  },
  {
    usage: 'plugin remove NAME',
    does: 'delete a plug-in',
    options: [['--data', 'also what it has kept']],
  },
  { usage: 'mcp', does: 'list the MCP servers, with their tools and last errors' },
  { usage: 'mcp login NAME', does: 'sign in to an MCP server with a browser' },
  { usage: 'mcp logout NAME', does: 'sign out of an MCP server' },
  { usage: 'pair', does: 'list pending codes and grants' },
  {
    usage: 'pair approve CODE',
    does: 'allow the person who was given CODE; the first one becomes the owner',
    options: [['--no-owner', 'do not make them the owner']],
  },
  {
    usage: 'pair group CHANNEL CHAT_ID',
    does: `answer in a group (CHANNEL: ${pairChannels(channels).join(', ')})`,
  },
  { usage: 'pair guild CHANNEL ID', does: 'answer everyone in a server, in all its channels' },
  { usage: 'pair role CHANNEL ID', does: 'answer everyone with a role in a server, in all its channels' },
  { usage: 'pair revoke CHANNEL ID', does: 'revoke the grant of a person, group, server or role' },
  { usage: 'token', does: 'list HTTP tokens, with their scopes, origin, last use and expiry' },
  { usage: 'token create NAME', does: 'create a token; it is shown only once', options: SCOPE_OPTIONS },
  { usage: 'token rotate [ID]', does: 'give a token (without ID: the generated first one) a new secret' },
  { usage: 'token change ID', does: 'change its scopes or expiry', options: SCOPE_OPTIONS },
  { usage: 'token rename ID NAME', does: 'rename a token' },
  { usage: 'token revoke ID', does: 'revoke a token permanently' },
  { usage: 'config validate', does: 'check config.json and the environment' },
  { usage: 'config get [FIELD]', does: 'show a setting, such as limits.messagesPerMinute, or all' },
  { usage: 'config set FIELD VALUE', does: 'change a setting; comments in the file are kept' },
  { usage: 'config unset FIELD', does: 'reset a setting to its default' },
  {
    usage: 'trace [ID]',
    does: 'show what happened in a turn, or why a message got no answer (ID: turn, session or chat; default: the last turn)',
    options: [['--prompt', 'also what was sent to the model']],
  },
  {
    usage: 'replay TURN',
    does: 'run a turn again on another model, next to what it was; tools are answered from its journal, and nothing runs',
    options: [
      ['--model MODEL', 'the model'],
      ['--profile PROFILE', 'with the prompt and the tools of a profile as they are now'],
      ['--json', 'print JSON, for programs'],
    ],
  },
  { usage: 'eval', does: 'list the turns that are marked for evaluations, by set' },
  { usage: 'eval show SET', does: 'list those of a set' },
  {
    usage: 'eval mark TURN',
    does: 'mark a turn',
    options: [
      ['--set SET', 'the set that it joins (default: default)'],
      [
        '--check CHECK',
        'what its answers must be like: contains=TEXT, not-contains=TEXT, regex=PATTERN, schema=FILE or judge=QUESTION; several are allowed',
      ],
    ],
  },
  { usage: 'eval unmark TURN', does: 'take the mark of a turn back' },
  {
    usage: 'eval SET',
    does: 'replay each marked turn on each model and check the answers; exits with 1 if one fails',
    options: [
      ['--models A,B', 'the models'],
      ['--profile PROFILE', 'with the prompt and the tools of a profile as they are now'],
      ['--check CHECK', 'what all answers must be like'],
      ['--judge MODEL', "the model that answers judge=QUESTION (default: the gateway's)"],
      ['--json FILE', 'also write the report as JSON'],
      ['--junit FILE', 'also write it as JUnit XML, for CI'],
      ['--concurrency N', 'replays at a time (default 2)'],
      ['--fresh', 'begin again instead of going on after an interruption'],
    ],
  },
  { usage: 'dead-letters', does: 'list messages that failed for good, with their errors (kept for a week)' },
  { usage: 'dead-letters show ID', does: 'show a message in full, with its text and error' },
  {
    usage: 'dead-letters replay ID',
    does: 'queue a message again',
    options: [['--all', 'all of them (without ID)']],
  },
  { usage: 'dead-letters drop ID', does: 'delete a message permanently' },
  {
    usage: 'service install',
    does: 'write the service file for systemd (Linux) or launchd (macOS), and say what to do next',
    options: [
      [
        '--system, --user',
        'for the machine, under an account of its own (default for root), or for yourself',
      ],
      ['--as ACCOUNT', 'the account of a --system service (default parley)'],
      ['--print', 'print the file instead'],
      ['--replace', 'overwrite a file that differs'],
    ],
  },
  { usage: 'service uninstall', does: 'stop the service and remove its file' },
  { usage: 'service status', does: 'show whether it is installed and running; exits with 1 if not' },
  { usage: 'completion SHELL', does: 'print a completion script for bash, zsh or fish' },
];

/** Words before their explanation, in characters. */
const WIDTH = 32;
const END =
  'Except for restore, these commands work whether or not the gateway is running. They exit with 0, or 1 when something failed.\n';

/** The text of `parley --help`. */
export function helpText(): string {
  const lines = COMMAND_FORMS.flatMap(linesOf);
  return `Usage: ${PARLEY} <command>

${lines.join('\n')}
  --version                       print the version
  <command> --help                explain one command

Settings come from the environment and from config.json in GATEWAY_HOME (default ~/.parley); docs/configuration.md lists them.
${END}`;
}

/** The text of `parley COMMAND --help`. Throws `GatewayError('usage')` for an unknown command. */
export function helpOf(command: string): string {
  const forms = formsOf(command);
  if (forms.length === 0) throw unknownCommand(command);
  return `Usage: ${PARLEY} ${command}\n\n${forms.flatMap(linesOf).join('\n')}\n`;
}

/** The error for a command that does not exist. */
export function unknownCommand(command: string): GatewayError {
  const names = [...new Set(COMMAND_FORMS.map(({ usage }) => nameOf(usage)))];
  const close = closestNames(command, names);
  const hint = close.length === 0 ? '' : ` Did you mean ${close.join(' or ')}?`;
  return new GatewayError('usage', `There is no command "${command}".${hint} See: ${PARLEY} --help`);
}

/** The first words of all commands, each once. */
export function commandNames(): string[] {
  return [...new Set(COMMAND_FORMS.map(({ usage }) => nameOf(usage)))];
}

/** What may follow the name of a command: the second words, and the options as they are typed. */
export function wordsAfter(command: string): string[] {
  const words = formsOf(command).flatMap(({ usage, options = [] }) => [
    ...usage
      .split(' ')
      .slice(1, 2)
      .filter((word) => /^[a-z-]+$/.test(word)),
    ...options.flatMap(([option]) => typedAs(option)),
  ]);
  return [...new Set([...words, '--help'])];
}

function optionsOf(command: string): { names: string[]; takesValue: boolean }[] {
  return formsOf(command).flatMap(({ options = [] }) =>
    options.map(([option]) => ({ names: typedAs(option), takesValue: / [A-Z]|\|/.test(option) })),
  );
}

/** `-f, --follow` is typed as either. */
function typedAs(option: string): string[] {
  return option.match(/(?<![\w-])--?[a-z][a-z-]*/g) ?? [];
}

function formsOf(command: string): CommandForm[] {
  return COMMAND_FORMS.filter(({ usage }) => nameOf(usage) === command);
}

function nameOf(usage: string): string {
  return usage.split(' ')[0] ?? '';
}

function linesOf({ usage, does, options = [] }: CommandForm): string[] {
  const line = (indent: string, form: string, text: string): string =>
    `${(indent + form).padEnd(WIDTH)}  ${text}`;
  return [line('  ', usage, does), ...options.map(([option, text]) => line('    ', option, text))];
}

/** Characters of an option that are repeated. */
const SHOWN = 40;

interface KnownOption {
  names: readonly string[];
  takesValue: boolean;
}

/** Throws `GatewayError('usage')` for an unknown option, with the closest ones. A negative number is a chat id. */
export function refuseUnknownOptions(
  command: string,
  args: readonly string[],
  options: readonly KnownOption[] = optionsOf(command),
): void {
  const names = [...options.flatMap((option) => option.names), '--help', '-h'];
  let isValue = false;
  for (const arg of args) {
    if (arg === '--') return;
    const name = arg.split('=', 1)[0] ?? '';
    if (!isValue && /^--?[a-zA-Z]/.test(name)) {
      if (!names.includes(name)) throw unknownOption(command, name, names);
      isValue = !arg.includes('=') && options.some((one) => one.takesValue && one.names.includes(name));
    } else isValue = false;
  }
}

/** The error for an option in the place of a command. */
export function notACommand(option: string): GatewayError {
  const clipped = oneLine(option).slice(0, SHOWN);
  return new GatewayError('usage', `There is no option ${clipped} without a command. See: ${PARLEY} --help`);
}

function unknownOption(command: string, name: string, names: readonly string[]): GatewayError {
  const others = names.filter((one) => one !== '-h' && one !== '--help');
  const close = closestNames(name, others);
  const long = others.filter((one) => one.startsWith('--'));
  const hint =
    close.length > 0
      ? ` Did you mean ${close.join(' or ')}?`
      : long.length > 0
        ? ` It has ${long.join(', ')}.`
        : ' It takes no options.';
  return new GatewayError(
    'usage',
    `${PARLEY} ${command} has no option ${oneLine(name).slice(0, SHOWN)}.${hint} See: ${PARLEY} ${command} --help`,
  );
}
