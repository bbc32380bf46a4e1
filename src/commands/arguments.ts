/** The arguments of a command. Imports nothing that a gateway does not need: `parley start` reads its own with it. */
import { parseArgs, type ParseArgsConfig } from 'node:util';
import { GatewayError } from '../protocol/errors.ts';

/** Parses the arguments of a command. Throws `GatewayError('usage')` with this text. */
export function readArguments<const Config extends ParseArgsConfig>(
  args: readonly string[],
  usage: string,
  config: Config,
) {
  try {
    return parseArgs({ ...config, args: [...args] });
  } catch (cause) {
    throw new GatewayError('usage', usage, { cause });
  }
}
