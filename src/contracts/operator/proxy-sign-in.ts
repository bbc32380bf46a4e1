/** Sign-in through an identity proxy: `proxySignIn` of `config.json`. */
import { z } from 'zod';

/** Longest name of a user, in UTF-16 units. */
export const MAX_PROXY_USER = 256;
/** Most users of one gateway. */
export const MAX_PROXY_USERS = 1_000;

const tokenName = z.string().min(1).max(200);

/** The field `proxySignIn`. */
export const proxySignInRule = z.strictObject({
  userHeader: z
    .string()
    .regex(/^[A-Za-z0-9-]{1,100}$/, 'must be the name of a header, such as X-Forwarded-User')
    .default('X-Forwarded-User')
    .describe(
      'header in which the proxy names the user; it is read on connections from `channels.http.trustedProxies` alone, and the proxy must replace what clients send in it',
    ),
  users: z
    .record(z.string().min(1).max(MAX_PROXY_USER), tokenName)
    .refine((users) => Object.keys(users).length <= MAX_PROXY_USERS, `at most ${MAX_PROXY_USERS} users`)
    .default({})
    .describe('for each user the name of the token whose rights they have: `{"ada@example.org": "admin"}`'),
  default: tokenName
    .optional()
    .describe('name of the token of all other users of the proxy; unset = they are refused'),
});
export type ProxySignIn = z.infer<typeof proxySignInRule>;

/** The name of the token of this user; undefined for one who may not sign in. */
export function proxyTokenOf(rule: ProxySignIn | undefined, user: string): string | undefined {
  if (rule === undefined) return undefined;
  return Object.hasOwn(rule.users, user) ? rule.users[user] : rule.default;
}
