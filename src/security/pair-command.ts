/** `parley pair`: pending requests, grants, and the owner's decisions on them. */
import { type AccessStore, isId } from '../protocol/access.ts';
import type { ChannelManifest } from '../protocol/channel.ts';
import { GatewayError } from '../protocol/errors.ts';
import { escapeControls } from '../lib/text.ts';
import { hashSecret } from './token-lookup.ts';
import { PARLEY } from '../protocol/texts/parley.ts';

/** The part of a channel that the command reads. */
type PairChannel = ChannelManifest;

/**
 * Runs `pair` for the channels that have their own ids. With `firstOwns` the first person approved becomes an owner.
 * Throws `GatewayError` for wrong usage, and `StoreError`.
 */
export async function pairCommand(
  access: AccessStore,
  channels: readonly PairChannel[],
  [action, first, second]: readonly string[],
  { firstOwns }: { firstOwns: boolean } = { firstOwns: false },
): Promise<string> {
  if (action === undefined) return await listPairs(access);
  if (action === 'approve' && first !== undefined) {
    const paired = await access.approvePairing(hashSecret(first.trim()), { firstOwns });
    if (paired === undefined) {
      throw new GatewayError(
        'bad_code',
        'That code is unknown, used or expired. Type it exactly as shown, in capitals; codes last an hour, and the person gets a new one by writing again.',
      );
    }
    const { senderName, senderId, channel, isOwner } = paired;
    const notice = `${escapeControls(`${senderName ?? senderId} (${channel} ${senderId})`)} may write to the bot now.`;
    if (!isOwner) return notice;
    return `${notice}\nThere was no owner yet, so this person is one: they decide what dangerous tools may do, and switch profiles and models. To undo it: ${PARLEY} pair revoke ${channel} ${senderId} (and approve with --no-owner).`;
  }
  if (action === 'group' && first !== undefined && second !== undefined) {
    checkId(channels, first, second, ['chatId']);
    await access.addGrant(first, 'group', second);
    return `The bot answers in ${first} group ${second} when it is mentioned.`;
  }
  if ((action === 'guild' || action === 'role') && first !== undefined && second !== undefined) {
    checkId(channels, first, second, ['chatId']);
    const { ids, label } = channels.find(({ name }) => name === first) ?? {};
    if (ids?.memberships !== true)
      throw new GatewayError('usage', `People on ${label} have no ${action} that could be allowed.`);
    await access.addGrant(first, action, second);
    const who = action === 'guild' ? `Everyone in the ${first} guild` : `Everyone with the ${first} role`;
    return `${who} ${second} is answered in all its channels, when they mention the bot.`;
  }
  if (action === 'revoke' && first !== undefined && second !== undefined) {
    checkId(channels, first, second, ['userId', 'chatId']);
    const removals = [
      await access.removeGrant(first, 'owner', second),
      await access.removeGrant(first, 'dm', second),
      await access.removeGrant(first, 'group', second),
      await access.removeGrant(first, 'guild', second),
      await access.removeGrant(first, 'role', second),
    ];
    if (removals.includes(true)) return `Revoked ${first} ${second}.`;
    throw new GatewayError('unknown_grant', `There is no grant for ${first} ${second}. See: ${PARLEY} pair`);
  }
  throw new GatewayError(
    'usage',
    `Expected: pair [approve CODE [--no-owner] | group CHANNEL CHAT_ID | guild CHANNEL ID | role CHANNEL ID | revoke CHANNEL ID]. See: ${PARLEY} --help`,
  );
}

/** Names of the channels that `pair` accepts. */
export function pairChannels(channels: readonly PairChannel[]): string[] {
  return channels.flatMap(({ name, ids }) => (ids === undefined ? [] : [name]));
}

function checkId(
  channels: readonly PairChannel[],
  name: string,
  id: string,
  kinds: readonly ('userId' | 'chatId')[],
): void {
  const channel = channels.find((one) => one.name === name);
  const { ids } = channel ?? {};
  if (channel === undefined || ids === undefined) {
    const choices = pairChannels(channels).join(', ');
    throw new GatewayError('usage', `There is no channel "${name}" to pair: expected one of ${choices}.`);
  }
  if (kinds.some((kind) => isId(id, ids[kind]))) return;
  throw new GatewayError('usage', `"${id}" is not an id of ${channel.label}: it must be ${ids.description}.`);
}

async function listPairs(access: AccessStore): Promise<string> {
  const pending = await access.pairings();
  const grants = await access.grants();
  const lines = pending.map(
    (row) =>
      `pending  ${row.channel} ${row.senderId} ${escapeControls(row.senderName ?? '')} until ${row.expiresAt.toISOString()}`,
  );
  lines.push(
    ...grants.map(
      (row) => `granted  ${row.channel} ${row.kind} ${row.id} since ${row.grantedAt.toISOString()}`,
    ),
  );
  return lines.length === 0 ? 'No users are paired and no requests are pending.' : lines.join('\n');
}
