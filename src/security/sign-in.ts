/** Signing in on the page: links with a code that works once, the sessions they begin, and `parley open` and `sign-ins`. */
import { randomBytes } from 'node:crypto';
import { hasScope } from '../contracts/access.ts';
import type { TokenStore } from '../contracts/access.ts';
import { GatewayError } from '../contracts/errors.ts';
import { CODE_MS, SIGN_IN_MS } from '../contracts/operator/sign-in.ts';
import type { SignInApi, SignInStore } from '../contracts/operator/sign-in.ts';
import { escapeControls, oneLine } from '../lib/text.ts';
import { hashSecret } from './secrets.ts';

/** Random bytes of a code, which is hard to guess even without a limit, and of a cookie. */
const CODE_BYTES = 16;
const COOKIE_BYTES = 32;

const OPEN_USAGE = 'Expected: open [TOKEN_ID]. See: npx parley open --help';
const LIST_USAGE = 'Expected: sign-ins [revoke ID]. See: npx parley sign-ins --help';

/** The digest of a session's secret. The prefix keeps it apart from tokens: no token may hold a colon. */
export function hashSession(secret: string): string {
  return hashSecret(`session:${secret}`);
}

/** Makes the API for channels. */
export function createSignInApi(store: SignInStore): SignInApi {
  return {
    async redeem(code, client) {
      const secret = randomBytes(COOKIE_BYTES).toString('base64url');
      const session = { hash: hashSession(secret), client: oneLine(client), ttlMs: SIGN_IN_MS };
      return (await store.redeemCode(hashCode(code), session)) ? secret : undefined;
    },
    list: (caller) => store.signIns(hasScope(caller, 'admin') ? undefined : caller.tokenId),
    end: (caller, id) => store.endSignIn(id, hasScope(caller, 'admin') ? undefined : caller.tokenId),
    signOut: (secret) => store.endSignInOf(hashSession(secret)),
  };
}

/**
 * A link that signs in once, within `CODE_MS`, with the rights of a token: the given one, else the oldest with the scope
 * `admin`. The code stands behind the `#`, which browsers send to no server. Undefined when there is no such token.
 */
export async function signInLink(
  access: Pick<TokenStore, 'tokens'>,
  signIns: Pick<SignInStore, 'addCode'>,
  { url, tokenId }: { url: string; tokenId?: string | undefined },
): Promise<string | undefined> {
  const valid = (await access.tokens()).filter(({ expired }) => !expired);
  const token = valid.find((one) =>
    tokenId === undefined ? hasScope(one, 'admin') : one.tokenId === tokenId,
  );
  if (token === undefined) return undefined;
  const code = randomBytes(CODE_BYTES).toString('base64url');
  await signIns.addCode({ hash: hashCode(code), tokenId: token.tokenId, ttlMs: CODE_MS });
  return `${url}/#code=${code}`;
}

/** What `parley open` prints. Throws `GatewayError('usage' | 'unknown_token')` and `StoreError`. */
export function openCommand(
  args: readonly string[],
): (
  access: Pick<TokenStore, 'tokens'>,
  signIns: Pick<SignInStore, 'addCode'>,
  url: string,
) => Promise<string> {
  const [tokenId, ...more] = args;
  if (more.length > 0 || tokenId?.startsWith('-') === true) throw new GatewayError('usage', OPEN_USAGE);
  return async (access, signIns, url) => {
    const link = await signInLink(access, signIns, { url, tokenId });
    if (link !== undefined)
      return `${link}\n\nIt signs one browser in, once, within ${CODE_MS / 60_000} minutes.`;
    const which = tokenId === undefined ? 'There is no token with the scope admin' : 'There is no such token';
    throw new GatewayError('unknown_token', `${which}. "npx parley token" lists them.`);
  };
}

/** What `parley sign-ins` prints. Throws `GatewayError('usage' | 'unknown_sign_in')` and `StoreError`. */
export function signInsCommand(args: readonly string[]): (store: SignInStore) => Promise<string> {
  const [action, id, ...more] = args;
  if (action === undefined) return listed;
  if (action !== 'revoke' || id === undefined || more.length > 0) throw new GatewayError('usage', LIST_USAGE);
  return async (store) => {
    if (await store.endSignIn(id)) return `Signed out: ${escapeControls(id)}.`;
    throw new GatewayError(
      'unknown_sign_in',
      'No browser is signed in under that id. See: npx parley sign-ins',
    );
  };
}

async function listed(store: SignInStore): Promise<string> {
  const rows = await store.signIns();
  if (rows.length === 0) return 'No browser is signed in by a link.';
  const lines = rows.map(({ id, tokenId, client, createdAt, expiresAt }) => {
    const times = `since ${createdAt.toISOString()}, until ${expiresAt.toISOString()}`;
    return escapeControls(`${id}  token ${tokenId}  ${times}  ${client}`);
  });
  return lines.join('\n');
}

function hashCode(code: string): string {
  return hashSecret(`code:${code}`);
}
