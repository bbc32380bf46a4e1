/** Follows a room that was replaced ("Room upgrades"): the bot moves, and so does the conversation. */
import { ChannelError } from '../../../src/protocol/errors.ts';
import type { GatewayApi } from '../../../src/protocol/gateway-api.ts';
import type { Log } from '../../../src/protocol/log.ts';
import { CLIENT, type MatrixClient, pathOf } from '../client.ts';
import { serverOf } from '../ids.ts';
import type { NamedRoom, Replacements } from '../replacements.ts';

/** Longest wait for a room of another homeserver, in milliseconds. */
const JOIN_MS = 30_000;

export interface MoveParts {
  client: Pick<MatrixClient, 'call'>;
  gateway: Pick<GatewayApi, 'chatMoved'>;
  replacements: Replacements;
  log: Log;
}

/**
 * Follows a room to where it says that it continues; `into`: only to this room. False if the room names no other, or
 * one that does not confirm it. The same move twice takes effect once. Throws `ChannelError` if it should be retried,
 * or `StoreError`.
 */
export async function followRoom(parts: MoveParts, roomId: string, into?: string): Promise<boolean> {
  const { replacements, gateway, log } = parts;
  replacements.forgetRoom(roomId);
  const named = await replacements.namedBy(roomId);
  if (named === undefined || (into !== undefined && into !== named.roomId)) return false;
  const move = { channel: 'matrix', from: roomId, to: named.roomId };
  if (!(await isConfirmed(parts, roomId, named))) {
    log.warn(move, 'matrix_replacement_refused');
    return false;
  }
  await gateway.chatMoved(move);
  log.info(move, 'matrix_room_replaced');
  return true;
}

/** Whether the new room names the old one. Only its members can read that, so the bot joins, and leaves a room that does not. */
async function isConfirmed(parts: MoveParts, before: string, named: NamedRoom): Promise<boolean> {
  const { client, replacements } = parts;
  const known = await replacements.replaces(named.roomId, before);
  if (known !== undefined) return known;
  await join(parts, named);
  const isPredecessor = await replacements.replaces(named.roomId, before);
  if (isPredecessor === false)
    await client.call('POST', pathOf(CLIENT, 'rooms', named.roomId, 'leave'), { body: {}, limit: 'leave' });
  return isPredecessor === true;
}

/** The bot enters a room that does not admit it, or whose server does not answer, once someone invites it. */
async function join({ client, log }: MoveParts, { roomId, by }: NamedRoom): Promise<void> {
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
    if (!(error instanceof ChannelError) || error.code === 'rate_limited' || error.code === 'unauthorized')
      throw error;
    log.warn({ err: error, chatId: roomId }, 'matrix_replacement_not_joined');
  }
}
