/** What `--help` prints and shells complete, by the forms of all commands; and which options they have. */
import { GatewayError } from '../protocol/errors.ts';
import { PARLEY } from '../protocol/texts/parley.ts';
import { closestNames, oneLine } from '../lib/text.ts';
import { COMMAND_FORMS, type CommandForm } from './command-forms.ts';

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
