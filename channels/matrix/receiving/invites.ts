/** Invitations: the bot joins if a person who may write to it wants it there, and says why if it does not join. */
import { ChannelError } from '../../../src/protocol/errors.ts';
import type { ChannelAccess } from '../../../src/protocol/access.ts';
import type { GatewayApi } from '../../../src/protocol/gateway-api.ts';
import { CLIENT, pathOf } from '../client.ts';
import { readInvite, readPredecessor } from '../events.ts';
import { actOf } from '../inbound.ts';
import { followRoom, type MoveParts } from './moves.ts';
import { PARLEY } from '../../../src/protocol/texts/parley.ts';

/** Longest wait for a room of another homeserver, in milliseconds; after it, the homeserver continues joining. */
const JOIN_MS = 30_000;
/** What the inviting person reads. */
const NOT_HERE = `I only join rooms that my owner has allowed, and rooms with people who are allowed to write to me. The owner can allow this one: ${PARLEY} pair group matrix ROOM_ID`;

export interface InvitesParts extends MoveParts {
  gateway: Pick<GatewayApi, 'chatMoved' | 'groups' | 'mayWrite' | 'membershipChanged'>;
  access: () => ChannelAccess | undefined;
  self: string;
}

export interface Invitation {
  roomId: string;
  state: readonly unknown[];
  /** The same value for the same invitation. */
  since: string;
  at: number;
}

/** Accepts an invitation or declines it with a reason. Throws `ChannelError` if it should be retried, or `StoreError`. */
export async function answerInvitation(parts: InvitesParts, invitation: Invitation): Promise<void> {
  const { client, gateway, log, self } = parts;
  const { roomId, state, since } = invitation;
  const invite = readInvite(state, self);
  if (invite === undefined) return;
  const before = readPredecessor(state);
  if (before !== undefined && (await followRoom(parts, before, roomId))) return;
  const { by, isDirect } = invite;
  const isWelcome = await maySummon(parts, invitation, invite);
  log.info({ chatId: roomId, senderId: by, joined: isWelcome }, 'matrix_invited');
  const act = isWelcome ? 'join' : 'leave';
  try {
    const body = isWelcome ? {} : { reason: NOT_HERE };
    await client.call('POST', pathOf(CLIENT, 'rooms', roomId, act), { body, silenceMs: JOIN_MS, limit: act });
  } catch (error) {
    if (!(error instanceof ChannelError) || error.code === 'rate_limited' || error.code === 'unauthorized')
      throw error;
    // The invitation was withdrawn, the room is gone, or its server does not answer: the person can invite
    // again.
    log.warn({ err: error, chatId: roomId }, 'matrix_invitation_failed');
    return;
  }
  if (!isWelcome) return;
  await gateway.membershipChanged({
    id: `${roomId} ${since}`,
    channel: 'matrix',
    chatId: roomId,
    place: isDirect ? 'private' : 'group',
    change: 'joined',
    byId: by,
    readsAll: true,
  });
}

async function maySummon(
  { gateway, access }: InvitesParts,
  { roomId, since, at }: Invitation,
  { by, isDirect }: { by: string; isDirect: boolean },
): Promise<boolean> {
  // Strangers get their code in the room itself.
  if (isDirect && access()?.dm === 'pairing') return true;
  if (!isDirect && (await gateway.groups('matrix')).includes(roomId)) return true;
  const said = { event_id: `${roomId} ${since}`, sender: by, origin_server_ts: at };
  return await gateway.mayWrite(actOf(said, roomId, 'private'));
}
