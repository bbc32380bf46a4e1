/** Options that a command does not have: reported with those it has, before anything is done. */
import { GatewayError } from '../protocol/errors.ts';
import { PARLEY } from '../protocol/texts/parley.ts';
import { editDistance } from '../lib/matching.ts';
import { oneLine } from '../lib/text.ts';
import { optionsOf } from './command-list.ts';

/** Most changes of one letter between what was typed and an option that was meant. */
const CLOSE = 3;
/** Characters of an option that are repeated. */
const SHOWN = 40;

/** An option as it is typed, with whether a value follows it. */
export interface KnownOption {
  names: readonly string[];
  takesValue: boolean;
}

/**
 * Throws `GatewayError('usage')` for the first argument that looks like an option and is not one of the command's: it
 * names the option, the command and the options that are closest. Chat ids may be negative numbers, which are not
 * options.
 */
export function refuseUnknownOptions(
  command: string,
  args: readonly string[],
  known: readonly KnownOption[] = optionsOf(command),
): void {
  const names = [...known.flatMap((option) => option.names), '--help', '-h'];
  let isValue = false;
  for (const arg of args) {
    if (arg === '--') return;
    const name = arg.split('=', 1)[0] ?? '';
    if (!isValue && /^--?[a-zA-Z]/.test(name)) {
      if (!names.includes(name)) throw unknownOption(command, name, names);
      isValue = !arg.includes('=') && known.some((one) => one.takesValue && one.names.includes(name));
    } else isValue = false;
  }
}

/** The error for an option in the place of a command. */
export function notACommand(option: string): GatewayError {
  const shown = oneLine(option).slice(0, SHOWN);
  return new GatewayError('usage', `There is no option ${shown} without a command. See: ${PARLEY} --help`);
}

function unknownOption(command: string, name: string, names: readonly string[]): GatewayError {
  const others = names.filter((one) => one !== '-h' && one !== '--help');
  const close = others.filter((one) => editDistance(name, one) <= CLOSE);
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
