/** The variables of files `.env`, for every command: the working folder's, then that of the home. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { parseEnv } from 'node:util';
import type { Environment } from '../config.ts';
import { ConfigError, toGatewayError } from '../contracts/errors.ts';

/** Where `parley init` writes variables, and where they are read after those of the working folder. */
export function homeEnvFile(environment: Environment): string {
  return path.join(path.resolve(environment['GATEWAY_HOME'] || './.parley'), '.env');
}

/**
 * The environment with what the files add; a variable that is set already, also one of an earlier file, stays. Throws
 * `ConfigError` for a file that is there and cannot be read.
 */
export function withEnvFiles(environment: Environment, folder = process.cwd()): Record<string, string> {
  const known = withFile(environment, path.join(folder, '.env'));
  return withFile(known, homeEnvFile(known));
}

function withFile(environment: Environment, file: string): Record<string, string> {
  const added: Record<string, string | undefined> = parseEnv(contentOf(file));
  const set: Record<string, string> = {};
  for (const [name, value] of Object.entries({ ...added, ...withoutEmpty(environment) }))
    if (value !== undefined) set[name] = value;
  return set;
}

function withoutEmpty(environment: Environment): Environment {
  return Object.fromEntries(
    Object.entries(environment).filter(([, value]) => value !== undefined && value !== ''),
  );
}

function contentOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    // A home below a file is reported when the home is made.
    if (code === 'ENOENT' || code === 'ENOTDIR') return '';
    throw new ConfigError('bad_config', `${file} cannot be read: ${toGatewayError(error).message}`, {
      cause: error,
    });
  }
}
