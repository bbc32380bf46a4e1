/** `parley token`: the HTTP tokens, and an owner's changes to them. */
import { rm } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { type Scope, SCOPES, type TokenRecord, type TokenStore } from '../protocol/access.ts';
import { GatewayError, toGatewayError } from '../protocol/errors.ts';
import { oneLine } from '../lib/text.ts';
import { tokenFile, writeTokenFile } from './sign-in.ts';
import { hashSecret, newToken } from './token-lookup.ts';
import { PARLEY } from '../protocol/texts/parley.ts';

/** Longest life of a token that expires, in days. */
const MAX_DAYS = 3_650;
const UNIT_MS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };
/** Longest name, in UTF-16 units. */
const MAX_NAME = 100;

const USAGE = `Expected: token [create NAME | rotate [ID] | change ID | rename ID NAME | revoke ID], with --scope and --expires where they apply. See: ${PARLEY} --help`;

/** The parsed options; undefined = not given, `expiresInMs` null = never. */
interface Options {
  scopes: Scope[] | undefined;
  expiresInMs: number | null | undefined;
}

/** Runs a parsed command and returns the text to print. Throws `GatewayError` for wrong usage, and `StoreError`. */
export type TokenCommand = (access: TokenStore, home: string) => Promise<string>;

/** Reads the arguments of `token`, options included. Throws `GatewayError('usage')`. */
export function tokenCommand(args: readonly string[]): TokenCommand {
  const { action, target, name, ...options } = readArgs(args);
  switch (action) {
    case undefined:
      return async (access) => listTokens(await access.tokens());
    case 'create':
      return (access) => create(access, target, options);
    case 'rotate':
      return (access, home) => rotate(access, home, target, options);
    case 'change':
      return (access) => change(access, target, options);
    case 'rename':
      return (access) => rename(access, target, name);
    case 'revoke':
      return (access, home) => revoke(access, home, target);
    default:
      throw new GatewayError('usage', USAGE);
  }
}

function readArgs(
  args: readonly string[],
): Options & Record<'action' | 'target' | 'name', string | undefined> {
  try {
    const { positionals, values } = parseArgs({
      args: [...args],
      options: { scope: { type: 'string' }, expires: { type: 'string' } },
      allowPositionals: true,
    });
    const [action, target, name, ...more] = positionals;
    if (more.length > 0 || (name !== undefined && action !== 'rename'))
      throw new GatewayError('usage', USAGE);
    const scopes = values.scope === undefined ? undefined : readScopes(values.scope);
    return {
      action,
      target,
      name,
      scopes,
      expiresInMs: values.expires === undefined ? undefined : readLife(values.expires),
    };
  } catch (error) {
    if (error instanceof GatewayError) throw error;
    throw new GatewayError('usage', `${toGatewayError(error).message} ${USAGE}`, { cause: error });
  }
}

/** `chat,approve`; `chat` is in every token that may do anything at all. */
function readScopes(text: string): Scope[] {
  const names = text.split(',').map((name) => name.trim());
  const unknown = names.find((name) => !SCOPES.some((scope) => scope === name));
  if (unknown !== undefined) {
    const problem = `There is no scope "${oneLine(unknown).slice(0, 40)}". Scopes: ${SCOPES.join(', ')} (admin includes the others).`;
    throw new GatewayError('usage', problem);
  }
  return SCOPES.filter((scope) => scope === 'chat' || names.includes(scope));
}

/** `30d`, `12h`, `90m` in milliseconds; `never` = null. */
function readLife(text: string): number | null {
  if (text === 'never') return null;
  const [, count = '', unit = ''] = /^(\d{1,7})([mhd])$/.exec(text) ?? [];
  const ms = Number(count) * (UNIT_MS[unit] ?? 0);
  if (ms > 0 && ms <= MAX_DAYS * 86_400_000) return ms;
  throw new GatewayError(
    'usage',
    `--expires takes a time such as 30d, 12h or 90m, at most ${MAX_DAYS}d, or never.`,
  );
}

function listTokens(rows: readonly TokenRecord[]): string {
  if (rows.length === 0) return 'No tokens.';
  return rows
    .map(({ tokenId, name, scopes, origin, createdAt, lastUsedAt, expiresAt, expired }) => {
      const lastUse = lastUsedAt === undefined ? 'never used' : `used ${stamp(lastUsedAt)}`;
      const life =
        expiresAt === undefined
          ? []
          : [expired ? `EXPIRED ${stamp(expiresAt)}` : `expires ${stamp(expiresAt)}`];
      const about = [`created ${stamp(createdAt)}`, lastUse, ...life].join(', ');
      return `${tokenId}  ${scopes.join(',')}  ${origin}  ${oneLine(name)}  (${about})`;
    })
    .join('\n');
}

function stamp(date: Date): string {
  return `${date.toISOString().slice(0, 16).replace('T', ' ')} UTC`;
}

async function create(
  access: TokenStore,
  name: string | undefined,
  { scopes = ['chat'], expiresInMs }: Options,
): Promise<string> {
  if (name === undefined || name.length > MAX_NAME) throw new GatewayError('usage', USAGE);
  const secret = newToken();
  const life = expiresInMs === undefined || expiresInMs === null ? {} : { expiresInMs };
  const token = await access.putToken({ hash: hashSecret(secret), name, scopes, ...life });
  const until = token.expiresAt === undefined ? '' : `, until ${stamp(token.expiresAt)}`;
  return `Token "${oneLine(name)}" (${scopes.join(', ')}${until}), shown only once:\n\n  ${secret}\n`;
}

/** Without an id: the generated first one. Its sessions, schedules and memories stay with it. */
async function rotate(
  access: TokenStore,
  home: string,
  tokenId: string | undefined,
  { scopes, expiresInMs }: Options,
): Promise<string> {
  const rows = await access.tokens();
  const token = rows.find((row) => (tokenId === undefined ? row.origin === 'file' : row.tokenId === tokenId));
  if (token === undefined) {
    throw tokenId === undefined
      ? new GatewayError(
          'usage',
          `There is no generated token in a file: give the ID of a token. See: ${PARLEY} token`,
        )
      : unknownToken(tokenId);
  }
  if (token.origin === 'env') {
    throw new GatewayError(
      'usage',
      'That token is GATEWAY_TOKEN: give the variable another value and restart the gateway; the old one then stops working.',
    );
  }
  const secret = newToken();
  if ((await access.rotateToken(token.tokenId, hashSecret(secret))) === undefined)
    throw unknownToken(token.tokenId);
  if (scopes !== undefined || expiresInMs !== undefined) {
    await access.changeToken(token.tokenId, { scopes, expiresInMs });
  }
  const dead = 'The old one stops working within a second.';
  if (token.origin === 'cli') {
    return `The new secret of "${oneLine(token.name)}" (shown only once):\n\n  ${secret}\n\n${dead}`;
  }
  await writeTokenFile(home, secret);
  return `The new token is in ${tokenFile(home)}. ${dead}`;
}

async function change(
  access: TokenStore,
  tokenId: string | undefined,
  { scopes, expiresInMs }: Options,
): Promise<string> {
  if (tokenId === undefined || (scopes === undefined && expiresInMs === undefined)) {
    throw new GatewayError(
      'usage',
      `Expected: token change ID --scope SCOPES or --expires TIME. See: ${PARLEY} --help`,
    );
  }
  const token = await access.changeToken(tokenId, { scopes, expiresInMs });
  if (token === undefined) throw unknownToken(tokenId);
  return `Changed; it takes effect within a second.\n${listTokens([token])}`;
}

/** Its secret, rights, sessions and memories stay; `proxySignIn` names tokens by their name. */
async function rename(
  access: TokenStore,
  tokenId: string | undefined,
  name: string | undefined,
): Promise<string> {
  if (tokenId === undefined || name === undefined || name.trim() === '' || name.length > MAX_NAME) {
    throw new GatewayError(
      'usage',
      `Expected: token rename ID NAME, with at most ${MAX_NAME} characters. See: ${PARLEY} --help`,
    );
  }
  const renamed = await access.changeToken(tokenId, { name: name.trim() });
  if (renamed === undefined) throw unknownToken(tokenId);
  return `Renamed.\n${listTokens([renamed])}`;
}

/** The file of a revoked token is removed, too; if a gateway has another home, its tombstone locks the token out. */
async function revoke(access: TokenStore, home: string, tokenId: string | undefined): Promise<string> {
  if (tokenId === undefined) throw new GatewayError('usage', USAGE);
  const origin = (await access.tokens()).find((row) => row.tokenId === tokenId)?.origin;
  if (!(await access.revokeToken(tokenId))) throw unknownToken(tokenId);
  if (origin === 'file') await rm(tokenFile(home), { force: true });
  const hint = origin === 'env' ? ' Give GATEWAY_TOKEN another value before the next start.' : '';
  return `Revoked; it stops working within a second.${hint}`;
}

function unknownToken(tokenId: string): GatewayError {
  return new GatewayError(
    'usage',
    `There is no token ${oneLine(tokenId).slice(0, 80)}. See: ${PARLEY} token`,
  );
}
