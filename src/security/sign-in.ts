/** Single-use secrets: links that sign a browser in, tickets for streams, and `parley open` and `sign-ins`. */
import { randomBytes } from 'node:crypto';
import { type AccessPolicy, type Caller, hasScope, type Scope, type TokenStore } from '../protocol/access.ts';
import type { Channel } from '../protocol/channel.ts';
import { GatewayError } from '../protocol/errors.ts';
import {
  CODE_MS,
  type OnceKind,
  type OthersSignInResult,
  PROXY_SIGN_IN_MS,
  type ProxySignIn,
  proxyTokenOf,
  SIGN_IN_MS,
  type SignInApi,
  type SignInStore,
  TICKET_MS,
  TICKET_STREAM_MS,
} from '../protocol/operator/sign-in.ts';
import { escapeControls, oneLine } from '../lib/text.ts';
import { hashSecret, hashSession, newToken, privateMessageOf, SECRET_BYTES } from './token-lookup.ts';
import { PARLEY } from '../protocol/texts/parley.ts';
import { existsSync } from 'node:fs';
import { readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';

interface ProxySignInDeps {
  store: SignInStore;
  tokens: TokenStore;
  /** The current rule; undefined = off. */
  rule: () => ProxySignIn | undefined;
}

interface AppSignInDeps {
  store: SignInStore;
  tokens: TokenStore;
  channels: ReadonlyMap<string, Channel>;
  mayWrite: AccessPolicy['mayWrite'];
}

/** What a person may do in a private chat, and so in the page inside the network's app: nothing there takes the scope `admin`. */
const APP_SCOPES: Scope[] = ['chat', 'approve', 'commands'];

/** Random bytes of a code, which is hard to guess even without a limit. */
const CODE_BYTES = 16;

const OPEN_USAGE = `Expected: open [TOKEN_ID]. See: ${PARLEY} open --help`;
const LIST_USAGE = `Expected: sign-ins [revoke ID]. See: ${PARLEY} sign-ins --help`;

/** Makes the API for channels. */
export function createSignInApi(
  store: SignInStore,
  tokens: ProxySignInDeps['tokens'],
  rule: ProxySignInDeps['rule'],
  app: Pick<AppSignInDeps, 'channels' | 'mayWrite'>,
): SignInApi {
  const redeem = async (kind: OnceKind, code: string, client: string): Promise<string | undefined> => {
    const secret = newSecret();
    const ttlMs = kind === 'code' ? SIGN_IN_MS : TICKET_STREAM_MS;
    const session = { hash: hashSession(secret), client: oneLine(client), ttlMs };
    return (await store.redeemCode(kind, hashOnce(kind, code), session)) ? secret : undefined;
  };
  return {
    ...createProxySignIn({ store, tokens, rule }),
    inApp: (asked) => signInInApp({ store, tokens, ...app }, asked),
    frames: () => [...app.channels.values()].flatMap(({ framedBy = [] }) => framedBy),
    redeem: (code, client) => redeem('code', code, client),
    async ticket({ tokenId, proxyUser }) {
      const ticket = newSecret();
      await store.addCode('ticket', {
        hash: hashOnce('ticket', ticket),
        tokenId,
        proxyUser,
        ttlMs: TICKET_MS,
      });
      return ticket;
    },
    redeemTicket: (ticket) => redeem('ticket', ticket, ''),
    list: (caller, secret) => store.signIns(filterOf(caller, secret)),
    endOthers: (caller, secret) => store.endOtherSignIns(filterOf(caller, secret)),
    end: (caller, id) => store.endSignIn(id, hasScope(caller, 'admin') ? undefined : caller.tokenId),
    signOut: (secret) => store.endSignInOf(hashSession(secret)),
  };
}

function filterOf(caller: Caller, secret: string | undefined) {
  return {
    tokenId: hasScope(caller, 'admin') ? undefined : caller.tokenId,
    own: secret === undefined ? undefined : hashSession(secret),
  };
}

/**
 * A link that signs in once, within `CODE_MS`, with the rights of the given token, else of the oldest one with the scope
 * `admin`. Browsers do not send the code after the `#` to any server. Undefined if there is no such token.
 */
export async function signInLink(
  access: TokenStore,
  signIns: SignInStore,
  { url, tokenId }: { url: string; tokenId?: string | undefined },
): Promise<string | undefined> {
  const valid = (await access.tokens()).filter(({ expired }) => !expired);
  const token = valid.find((one) =>
    tokenId === undefined ? hasScope(one, 'admin') : one.tokenId === tokenId,
  );
  if (token === undefined) return undefined;
  const code = randomBytes(CODE_BYTES).toString('base64url');
  await signIns.addCode('code', { hash: hashOnce('code', code), tokenId: token.tokenId, ttlMs: CODE_MS });
  return `${url}/#code=${code}`;
}

/** What `parley open` prints. Throws `GatewayError('usage' | 'unknown_token')` and `StoreError`. */
export function openCommand(
  args: readonly string[],
): (access: TokenStore, signIns: SignInStore, url: string) => Promise<string> {
  const [tokenId, ...more] = args;
  if (more.length > 0 || tokenId?.startsWith('-') === true) throw new GatewayError('usage', OPEN_USAGE);
  return async (access, signIns, url) => {
    const link = await signInLink(access, signIns, { url, tokenId });
    if (link !== undefined)
      return `${link}\n\nIt signs one browser in, once, within ${CODE_MS / 60_000} minutes.`;
    const which = tokenId === undefined ? 'There is no token with the scope admin' : 'There is no such token';
    throw new GatewayError('unknown_token', `${which}. "${PARLEY} token" lists them.`);
  };
}

/** What `parley sign-ins` prints. Throws `GatewayError('usage' | 'unknown_sign_in')` and `StoreError`. */
export function signInsCommand(args: readonly string[]): (store: SignInStore) => Promise<string> {
  const [action, id, ...more] = args;
  if (action === undefined) return listed;
  if (action !== 'revoke' || id === undefined || more.length > 0) throw new GatewayError('usage', LIST_USAGE);
  return async (store) => {
    if (await store.endSignIn(id)) return `Signed out: ${escapeControls(id)}.`;
    throw new GatewayError('unknown_sign_in', `No signed-in browser has that id. See: ${PARLEY} sign-ins`);
  };
}

async function listed(store: SignInStore): Promise<string> {
  const rows = await store.signIns({});
  if (rows.length === 0) return 'No browsers are signed in with a link.';
  const lines = rows.map(({ id, tokenId, proxyUser, client, createdAt, expiresAt, lastUsedAt }) => {
    const user = proxyUser === undefined ? '' : `  as ${proxyUser}`;
    const lastUse = lastUsedAt === undefined ? '' : `, last used ${lastUsedAt.toISOString()}`;
    const times = `since ${createdAt.toISOString()}, until ${expiresAt.toISOString()}${lastUse}`;
    return escapeControls(`${id}  token ${tokenId}${user}  ${times}  ${client}`);
  });
  return lines.join('\n');
}

function newSecret(): string {
  return randomBytes(SECRET_BYTES).toString('base64url');
}

function hashOnce(kind: OnceKind, secret: string): string {
  return hashSecret(`${kind}:${secret}`);
}

/** Makes this part of the API for channels. */
function createProxySignIn(deps: ProxySignInDeps) {
  return {
    proxyHeader: () => deps.rule()?.userHeader.toLowerCase(),
    byProxy: (visitor) => signInByProxy(deps, visitor),
  } satisfies Partial<SignInApi>;
}

async function signInByProxy(
  { store, tokens, rule }: ProxySignInDeps,
  { user, client, current }: Parameters<SignInApi['byProxy']>[0],
): Promise<OthersSignInResult> {
  const name = proxyTokenOf(rule(), user);
  if (name === undefined) {
    const text = `You are ${escapeControls(user)} to the proxy, and proxySignIn.users in config.json does not name you.`;
    return { kind: 'refused', code: 'unknown_user', text };
  }
  const matches = (await tokens.tokens()).filter((token) => token.name === name && !token.expired);
  const [token] = matches;
  if (token === undefined || matches.length > 1) {
    const many = token === undefined ? 'There is no valid token' : `There are ${matches.length} valid tokens`;
    const text = `${many} with the name that proxySignIn in config.json gives you; it must be one. "${PARLEY} token" lists them.`;
    return { kind: 'refused', code: 'unknown_token', text };
  }
  const session = { tokenId: token.tokenId, proxyUser: user };
  if (current !== undefined && (await store.hasProxySession({ ...session, hash: hashSession(current) })))
    return { kind: 'signed_in', secret: current };
  return await startSession(store, { ...session, client });
}

async function startSession(
  store: SignInStore,
  { client, ...session }: { tokenId: string; proxyUser: string; client: string },
): Promise<OthersSignInResult> {
  const secret = newSecret();
  const ttlMs = PROXY_SIGN_IN_MS;
  await store.addProxySession({ ...session, hash: hashSession(secret), client: oneLine(client), ttlMs });
  return { kind: 'signed_in', secret };
}

async function signInInApp(
  { store, tokens, channels, mayWrite }: AppSignInDeps,
  { signed, client }: Parameters<SignInApi['inApp']>[0],
): Promise<OthersSignInResult> {
  const readings = [...channels].map(([channel, { readSignIn }]) => ({
    channel,
    person: readSignIn?.(signed),
  }));
  const { channel, person } =
    readings.find((one) => one.person !== undefined && one.person !== 'forged') ?? {};
  if (channel === undefined || person === undefined || typeof person === 'string') {
    const text =
      person === 'expired'
        ? 'This sign-in is more than a day old. Close the page and open it again from the chat with the bot.'
        : 'The page was not opened from the chat with the bot, so it does not know who you are. Open it there.';
    return { kind: 'refused', code: 'invalid_sign_in', text };
  }
  const proxyUser = `${channel}:${person.userId}`;
  if ((await mayWrite(privateMessageOf(proxyUser))) === undefined) {
    const text = 'You have no access to this bot. Write to it in its chat: it says how to get access.';
    return { kind: 'refused', code: 'unknown_user', text };
  }
  // No token has a colon, so this one has no secret: it is only a name for what belongs to the person.
  const hash = hashSecret(`person:${proxyUser}`);
  const [known] = await tokens.tokensByHash([hash]);
  const token = known ?? (await tokens.putToken({ hash, name: proxyUser, scopes: APP_SCOPES }));
  if ((await tokens.token(token.tokenId)) === undefined) {
    const text = `The person who runs this gateway has revoked your access to the page ("${PARLEY} token").`;
    return { kind: 'refused', code: 'unknown_token', text };
  }
  return await startSession(store, { tokenId: token.tokenId, proxyUser, client });
}

const EVERYTHING: Scope[] = ['chat', 'approve', 'commands', 'admin'];

/** What a start found, for the log. */
interface FirstToken {
  /** The file into which a new token was written. */
  file?: string;
  /** `GATEWAY_TOKEN` or that file, when its token was revoked: it stays revoked. */
  revoked?: string;
}

/**
 * Makes sure that an admin token exists: `GATEWAY_TOKEN`, else the one in `$GATEWAY_HOME/token`, else a new one for
 * `showToken` (a terminal) or that file, with mode 0600. It is never logged. The environment has at most one token:
 * another value, or none, revokes the previous one.
 */
export async function ensureFirstToken(options: {
  access: TokenStore;
  home: string;
  fromEnvironment: string | undefined;
  showToken: ((token: string) => void) | undefined;
}): Promise<FirstToken> {
  const { access, home, fromEnvironment, showToken } = options;
  const file = tokenFile(home);
  let revoked: string | undefined;
  if (fromEnvironment !== undefined) {
    const token = { hash: hashSecret(fromEnvironment), name: 'GATEWAY_TOKEN', scopes: EVERYTHING };
    if ((await access.replaceToken('env', token)) !== undefined) return {};
    revoked = 'GATEWAY_TOKEN';
  } else if (existsSync(file)) {
    const hash = hashSecret((await readFile(file, 'utf8')).trim());
    // Before the environment's token is revoked: it may be the same one, and keeps what belongs to it.
    const tokenId = await access.replaceToken('file', { hash, name: 'first', scopes: EVERYTHING });
    await access.removeTokens('env');
    if (tokenId !== undefined) return {};
    revoked = file;
    await rm(file);
  } else await access.removeTokens('env');
  const token = newToken();
  const origin = showToken === undefined ? 'file' : 'cli';
  const isFirst = await access.addFirstToken(origin, {
    hash: hashSecret(token),
    name: 'first',
    scopes: EVERYTHING,
  });
  const result = revoked === undefined ? {} : { revoked };
  if (!isFirst) return result;
  if (showToken !== undefined) {
    showToken(token);
    return result;
  }
  await writeTokenFile(home, token);
  return { ...result, file };
}

/** Where a generated token is kept. */
export function tokenFile(home: string): string {
  return path.join(home, 'token');
}

/** Rewrites the file, readable by its owner only. */
export async function writeTokenFile(home: string, token: string): Promise<void> {
  await writeFile(tokenFile(home), `${token}\n`, { mode: 0o600 });
}
