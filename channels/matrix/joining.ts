/** Which rooms the bot enters: it answers invitations, and follows a room that was replaced ("Room upgrades"). */
import { toAct } from '../../src/protocol/channel-parts.ts';
import { ChannelError } from '../../src/protocol/errors.ts';
import { PARLEY } from '../../src/protocol/texts/parley.ts';
import { CLIENT, type MatrixClient, pathOf } from './client.ts';
import { isEncryptedRoom, readInvite, readPredecessor, serverOf } from './events.ts';
import type { NamedRoom } from './rooms.ts';
import type { ReceivingParts } from './sync.ts';

/** Longest wait for a room of another homeserver, in milliseconds; after it, the homeserver continues joining. */
const JOIN_MS = 30_000;
/** Private rooms of strangers that the bot joins in this time, in milliseconds: anyone of any homeserver may invite it. */
export const MAX_STRANGER_ROOMS = 20;
export const STRANGER_ROOMS_MS = 3_600_000;
/** What the inviting person reads, also where strangers are answered but too many have invited. */
const TOO_MANY_REASON = `Too many people whom I do not know have invited me: invite me again in an hour. My owner can let you in at once: ${PARLEY} pair`;
const DECLINE_REASON = `I only join rooms that my owner has allowed, and rooms with people who are allowed to write to me. The owner can allow this one: ${PARLEY} pair group matrix ROOM_ID`;

/**
 * Follows a room to where it says that it continues; `into`: only to this room. False if the room names no other, or
 * one that does not confirm it. The same move twice takes effect once. Throws `ChannelError` if it should be retried,
 * or `StoreError`.
 */
export async function followRoom(parts: ReceivingParts, roomId: string, into?: string): Promise<boolean> {
  const { replacements, gateway, log } = parts;
  replacements.forgetRoom(roomId);
  const successor = await replacements.namedBy(roomId);
  if (successor === undefined || (into !== undefined && into !== successor.roomId)) return false;
  const move = { channel: 'matrix', from: roomId, to: successor.roomId };
  if (!(await isConfirmed(parts, roomId, successor))) {
    log.warn(move, 'matrix_replacement_refused');
    return false;
  }
  await gateway.chatMoved(move);
  log.info(move, 'matrix_room_replaced');
  return true;
}

/** Whether the new room names the old one. Only its members can read that, so the bot joins, and leaves a room that does not. */
async function isConfirmed(parts: ReceivingParts, oldRoomId: string, { roomId, by }: NamedRoom) {
  const { client, replacements, log } = parts;
  const isMembers = await replacements.replaces(roomId, oldRoomId);
  if (isMembers !== undefined) return isMembers;
  const via = serverOf(by);
  try {
    await client.call('POST', pathOf(CLIENT, 'join', roomId), {
      // The second name is for older homeservers.
      query: { via, server_name: via },
      body: {},
      silenceMs: JOIN_MS,
      limit: 'join',
    });
  } catch (error) {
    if (isWorthRetry(error)) throw error;
    // The bot enters a room that does not admit it, or whose server does not answer, once someone invites it.
    log.warn({ err: error, chatId: roomId }, 'matrix_replacement_not_joined');
  }
  const isPredecessor = await replacements.replaces(roomId, oldRoomId);
  if (isPredecessor === false) await enterOrLeave(client, roomId, 'leave', {});
  return isPredecessor === true;
}

/** Accepts an invitation, or declines it with a reason; `since` identifies it. Throws `ChannelError` to retry, `StoreError`. */
export async function answerInvitation(
  parts: ReceivingParts,
  roomId: string,
  state: readonly unknown[],
  since: string,
  at: number,
): Promise<void> {
  const { client, encryption, gateway, log, self } = parts;
  const invite = readInvite(state, self);
  if (invite === undefined) return;
  const predecessor = readPredecessor(state);
  if (predecessor !== undefined && (await followRoom(parts, predecessor, roomId))) return;
  const { by, isDirect } = invite;
  const id = `${roomId} ${since}`;
  const invitation = { id, channel: 'matrix', chatId: roomId };
  const act = toAct({ ...invitation, senderId: by, timestamp: at, place: 'private' });
  const isKnown =
    (!isDirect && (await gateway.groups('matrix')).includes(roomId)) || (await gateway.mayWrite(act));
  // Strangers get their code in the room itself.
  const isStranger = !isKnown && isDirect && parts.access()?.dm === 'pairing';
  const { strangerRooms } = parts;
  const isCounted = strangerRooms.get(roomId) === true;
  const isTooMany = isStranger && !isCounted && strangerRooms.values().length >= MAX_STRANGER_ROOMS;
  const isWelcome = isKnown || (isStranger && !isTooMany);
  log.info({ chatId: roomId, senderId: by, joined: isWelcome }, 'matrix_invited');
  try {
    const reason = isTooMany ? TOO_MANY_REASON : DECLINE_REASON;
    if (isStranger && !isTooMany) strangerRooms.set(roomId, true);
    // Before the bot is in the room: from then on, people's clients send it their keys.
    if (isWelcome && isEncryptedRoom(state)) await encryption.prepare().catch(unlessRetryable);
    await enterOrLeave(client, roomId, isWelcome ? 'join' : 'leave', isWelcome ? {} : { reason });
  } catch (error) {
    if (isWorthRetry(error)) throw error;
    // The invitation was withdrawn, the room is gone, or its server does not answer: the person can invite again.
    log.warn({ err: error, chatId: roomId }, 'matrix_invitation_failed');
    return;
  }
  if (!isWelcome) return;
  await gateway.membershipChanged({
    ...invitation,
    place: isDirect ? 'private' : 'group',
    change: 'joined',
    byId: by,
    readsAll: true,
  });
}

async function enterOrLeave(client: MatrixClient, roomId: string, act: 'join' | 'leave', body: object) {
  await client.call('POST', pathOf(CLIENT, 'rooms', roomId, act), { body, silenceMs: JOIN_MS, limit: act });
}

/** True for failures that affect other rooms as well. */
function isWorthRetry(error: unknown): boolean {
  return !(error instanceof ChannelError) || ['rate_limited', 'unauthorized'].includes(error.code);
}

/** A bot without keys enters the room as well, and says there that it cannot read it. */
function unlessRetryable(error: unknown): void {
  if (!(error instanceof ChannelError) || error.retryable) throw error;
}
