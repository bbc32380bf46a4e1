/** Sign-in through an identity proxy: whose rights the user that it names has. */
import { randomBytes } from 'node:crypto';
import type { TokenStore } from '../contracts/access.ts';
import { type ProxySignIn, proxyTokenOf } from '../contracts/operator/proxy-sign-in.ts';
import {
  PROXY_SIGN_IN_MS,
  type ProxySignInResult,
  type SignInApi,
  type SignInStore,
} from '../contracts/operator/sign-in.ts';
import { escapeControls, oneLine } from '../lib/text.ts';
import { SECRET_BYTES, hashSession } from './secrets.ts';
import { PARLEY } from '../contracts/texts/parley.ts';

export interface ProxySignInDeps {
  store: Pick<SignInStore, 'addProxySession' | 'hasProxySession'>;
  tokens: Pick<TokenStore, 'tokens'>;
  /** The current rule; undefined = off. */
  rule: () => ProxySignIn | undefined;
}

/** Makes this part of the API for channels. */
export function createProxySignIn(deps: ProxySignInDeps): Pick<SignInApi, 'proxyHeader' | 'byProxy'> {
  return {
    proxyHeader: () => deps.rule()?.userHeader.toLowerCase(),
    byProxy: (asked) => signInByProxy(deps, asked),
  };
}

async function signInByProxy(
  { store, tokens, rule }: ProxySignInDeps,
  { user, client, current }: Parameters<SignInApi['byProxy']>[0],
): Promise<ProxySignInResult> {
  const name = proxyTokenOf(rule(), user);
  if (name === undefined) {
    const text = `You are ${escapeControls(user)} to the proxy, and proxySignIn.users in config.json does not name you.`;
    return { kind: 'refused', code: 'unknown_user', text };
  }
  const named = (await tokens.tokens()).filter((token) => token.name === name && !token.expired);
  const [token] = named;
  if (token === undefined || named.length > 1) {
    const many = token === undefined ? 'There is no valid token' : `There are ${named.length} valid tokens`;
    const text = `${many} with the name that proxySignIn in config.json gives you; it must be one. "${PARLEY} token" lists them.`;
    return { kind: 'refused', code: 'unknown_token', text };
  }
  const session = { tokenId: token.tokenId, proxyUser: user };
  if (current !== undefined && (await store.hasProxySession({ ...session, hash: hashSession(current) })))
    return { kind: 'signed_in', secret: current };
  const secret = randomBytes(SECRET_BYTES).toString('base64url');
  await store.addProxySession({
    ...session,
    hash: hashSession(secret),
    client: oneLine(client),
    ttlMs: PROXY_SIGN_IN_MS,
  });
  return { kind: 'signed_in', secret };
}
