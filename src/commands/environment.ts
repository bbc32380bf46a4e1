/** Environment variables from files: `.env` of the working folder, then of the home, then secrets in their own files. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { parseEnv } from 'node:util';
import type { Environment } from '../config.ts';
import { ConfigError, errorCode, toGatewayError } from '../protocol/errors.ts';
import { homeOf } from '../launch/default-home.js';
import { foreignPlaces, placesOf } from '../security/index.ts';

/** `<VARIABLE>_FILE` of a secret names a file that contains it, as Docker and systemd pass secrets. */
const SECRET_FILE = /^((?:[A-Z][A-Z0-9_]*_)?(?:TOKEN|API_KEY|SECRET|PASSWORD)|DATABASE_URL|NATS_URL)_FILE$/;

/** Longest content of such a file, in UTF-16 units. */
const MAX_SECRET = 10_000;

/** Where `parley init` writes variables, and where they are read after those of the working folder. */
export function homeEnvFile(environment: Environment): string {
  return path.join(homeOf(environment), '.env');
}

/**
 * The environment with the files' variables; those that are already set win. Throws `ConfigError` for an unreadable
 * file, for one of another user (also of the home, before anything in it is read), and for a secret whose file is missing, empty or too long, or that is set twice.
 */
export function withEnvFiles(environment: Environment, folder = process.cwd()): Record<string, string> {
  const workingFile = path.join(folder, '.env');
  refuseForeign([workingFile]);
  const variables = withFile(environment, workingFile);
  const homeFile = homeEnvFile(variables);
  refuseForeign(placesOf(path.dirname(homeFile)));
  return withSecretFiles(withFile(variables, homeFile));
}

function refuseForeign(places: readonly string[]): void {
  const problems = foreignPlaces(places);
  if (problems.length > 0) throw new ConfigError('foreign_home', problems.join('\n'));
}

/** Adds what the files say to the variables of this process, where all commands and the gateway read them. Throws as above. */
export function addEnvFiles(): void {
  Object.assign(process.env, withEnvFiles(process.env));
}

function withSecretFiles(variables: Record<string, string>): Record<string, string> {
  const secrets: Record<string, string> = {};
  for (const [variable, file] of Object.entries(variables)) {
    const [, name] = SECRET_FILE.exec(variable) ?? [];
    if (name === undefined) continue;
    if (variables[name] !== undefined) throw refused(variable, `${name} is set, too: leave one of them out`);
    secrets[name] = secretIn(variable, file);
  }
  return { ...variables, ...secrets };
}

function secretIn(variable: string, file: string): string {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    const reason = errorCode(error) === 'ENOENT' ? 'does not exist' : `cannot be read (${errorCode(error)})`;
    throw refused(variable, `the file ${file} ${reason}`);
  }
  // Editors and echo end a file with a line break.
  const secret = text.trim();
  if (secret === '') throw refused(variable, `the file ${file} is empty`);
  if (secret.length > MAX_SECRET) throw refused(variable, `the file ${file} is too long for a secret`);
  return secret;
}

function refused(variable: string, reason: string): ConfigError {
  return new ConfigError('bad_config', `${variable}: ${reason}`);
}

function withFile(environment: Environment, file: string): Record<string, string> {
  const fromFile: Record<string, string | undefined> = parseEnv(contentOf(file));
  const set: Record<string, string> = {};
  for (const [name, value] of Object.entries({ ...fromFile, ...withoutEmpty(environment) }))
    if (value !== undefined) set[name] = value;
  return set;
}

/** The variables that are set to something. */
export function withoutEmpty(environment: Environment): Record<string, string> {
  const set: Record<string, string> = {};
  for (const [name, value] of Object.entries(environment)) if (value) set[name] = value;
  return set;
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
