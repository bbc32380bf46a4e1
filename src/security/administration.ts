/** What operators see and change of who may write: grants, pairings and tokens. The caller has already checked for the scope `admin`. */
import { type AccessStore, type ChannelAccess, type Grant, isId } from '../protocol/access.ts';
import type { ChannelManifest } from '../protocol/channel.ts';
import { GatewayError } from '../protocol/errors.ts';
import type { Log } from '../protocol/log.ts';
import type { Administration } from '../protocol/operator/administration.ts';
import { PARLEY } from '../protocol/texts/parley.ts';
import { hashSecret, newToken } from './token-lookup.ts';

type Manifests = readonly ChannelManifest[];

/** Makes the part of the administration about people. `channelAccess` gives the current rules of a channel. */
export function administerAccess(
  access: AccessStore,
  manifests: Manifests,
  channelAccess: (channel: string) => ChannelAccess | undefined,
  log: Log,
): Pick<Administration, 'access' | 'approvePairing' | 'addGrant' | 'removeGrant'> {
  return {
    async access() {
      const [pairings, grants] = await Promise.all([access.pairings(), access.grants()]);
      const channels = manifests.flatMap(({ name, label, ids }) => {
        if (ids === undefined) return [];
        const { owners = [], allow = [] } = channelAccess(name) ?? {};
        return [{ name, label, idHint: ids.description, owners, allowed: allow }];
      });
      return { pairings, grants, channels };
    },
    async approvePairing(code, firstOwns) {
      const paired = await access.approvePairing(hashSecret(code.trim()), { firstOwns });
      if (paired === undefined)
        throw new GatewayError(
          'bad_code',
          'That code is unknown, used or expired. Type it exactly as shown, in capitals; the person gets a new one by writing again.',
        );
      const { channel, senderId: id, isOwner } = paired;
      log.info({ channel, id, isOwner }, 'pairing_approved');
      return { channel, id, isOwner };
    },
    async addGrant(channel, kind, id) {
      checkGrant(manifests, channel, kind, id);
      await access.addGrant(channel, kind, id);
      log.info({ channel, kind, id }, 'grant_added');
    },
    async removeGrant(channel, kind, id) {
      const isRemoved = await access.removeGrant(channel, kind, id);
      if (isRemoved) log.info({ channel, kind, id }, 'grant_removed');
      return isRemoved;
    },
  };
}

function checkGrant(manifests: Manifests, channel: string, kind: Grant['kind'], id: string): void {
  const manifest = manifests.find(({ name }) => name === channel);
  if (manifest?.ids === undefined)
    throw new GatewayError('bad_grant', 'There is no channel of that name whose people are granted access.');
  if ((kind === 'guild' || kind === 'role') && manifest.ids.memberships !== true)
    throw new GatewayError('bad_grant', `On ${manifest.label} there are no grants of that kind.`);
  if (isId(id, manifest.ids[kind === 'dm' || kind === 'owner' ? 'userId' : 'chatId'])) return;
  throw new GatewayError('bad_grant', `The id on ${manifest.label} must be ${manifest.ids.description}.`);
}

/** Why the secret of such a token is not changed here. */
const SECRET_ELSEWHERE = {
  env: 'That token is GATEWAY_TOKEN: give the variable another value and restart the gateway; the old one then stops working.',
  file: `That token is in a file of the gateway: change it with \`${PARLEY} token rotate\` on its machine.`,
};

/** Makes the part of the administration about tokens. */
export function administerTokens(
  access: AccessStore,
  log: Log,
): Pick<Administration, 'tokens' | 'createToken' | 'revokeToken' | 'renameToken' | 'rotateToken'> {
  return {
    tokens: () => access.tokens(),
    async createToken({ name, scopes, expiresInMs }) {
      const secret = newToken();
      const token = await access.putToken({ hash: hashSecret(secret), name, scopes, expiresInMs });
      log.info({ tokenId: token.tokenId, scopes }, 'token_created');
      return { token, secret };
    },
    async renameToken(tokenId, name) {
      const renamed = (await access.changeToken(tokenId, { name })) !== undefined;
      if (renamed) log.info({ tokenId, name }, 'token_renamed');
      return renamed;
    },
    async rotateToken(tokenId) {
      const origin = (await access.tokens()).find((token) => token.tokenId === tokenId)?.origin;
      if (origin === 'env' || origin === 'file')
        throw new GatewayError('bad_token', SECRET_ELSEWHERE[origin]);
      const secret = newToken();
      const token = await access.rotateToken(tokenId, hashSecret(secret));
      if (token === undefined) return undefined;
      log.info({ tokenId }, 'token_rotated');
      return { token, secret };
    },
    async revokeToken(tokenId) {
      const revoked = await access.revokeToken(tokenId);
      if (revoked) log.info({ tokenId }, 'token_revoked');
      return revoked;
    },
  };
}
