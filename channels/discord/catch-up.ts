/** Finds the channels in which messages were missed while no session was kept, and has them read. */
import type { ConnectionStore } from '../../src/contracts/receive.ts';
import type { GatewayApi } from '../../src/contracts/gateway-api.ts';
import type { Log } from '../../src/contracts/log.ts';
import { parseAddress } from '../../src/contracts/message.ts';
import { idAt } from './history.ts';
import type { Inbox } from './inbox.ts';

/** Chats whose session changed within this time are read, however long ago anything was missed in them. */
const HEARD_WITHIN_MS = 30 * 24 * 3_600_000;
/** Chats read after one outage: allowed channels, and the ones that were used last. At ten a second this takes 100 s. */
export const MAX_CHATS_READ = 1_000;
/** Chats read at the same time: what is missed in them waits in memory, and asks what kind of channel it is in. */
const READERS = 20;
/** Older messages are not answered: the gateway forgets after seven days which it has answered. */
const MAX_AGE_MS = 6 * 24 * 3_600_000;
/** Read from this long before the moment up to which everything was heard: the clocks of Discord and this machine differ. */
const LOOK_BACK_MS = 5 * 60_000;

export interface CatchUpParts {
  connections: Pick<ConnectionStore, 'heardChats'>;
  gateway: Pick<GatewayApi, 'groups'>;
  inbox: Pick<Inbox, 'heard' | 'read'>;
  log: Log;
  now: () => number;
  signal: AbortSignal;
}

/**
 * Reads everything said since `heardAt` in the channel's chats, heard or only allowed; resolves once it is stored, with the
 * number of chats beyond the bound. Without `heardAt` (an earlier version kept none) each chat is read from its session's
 * last change. Throws `StoreError`.
 */
export async function catchUp(parts: CatchUpParts, heardAt: number | undefined): Promise<number> {
  const { connections, gateway, inbox, log, now, signal } = parts;
  const range = { since: now() - HEARD_WITHIN_MS, limit: MAX_CHATS_READ };
  const [{ chats, total }, groups] = await Promise.all([
    connections.heardChats('discord', range),
    heardAt === undefined ? [] : gateway.groups('discord'),
  ]);
  const from = (at: number): string => idAt(Math.max(at - LOOK_BACK_MS, now() - MAX_AGE_MS));
  const places = new Map<string, string>();
  for (const id of [...inbox.heard.toReversed(), ...groups]) places.set(id, from(heardAt ?? 0));
  for (const { address, changedAt } of chats) {
    const { chatId, threadId } = parseAddress(address);
    places.set(threadId ?? chatId, from(heardAt ?? changedAt));
  }
  const read = [...places].slice(0, MAX_CHATS_READ);
  const leftOut = total - chats.length + places.size - read.length;
  log.info({ chats: read.length, leftOut, heardAt }, 'discord_catch_up');
  const next = read.values();
  const reader = async (): Promise<void> => {
    for (const [id, after] of next) {
      if (signal.aborted) return;
      await inbox.read(id, after);
    }
  };
  await Promise.all(Array.from({ length: READERS }, reader));
  return leftOut;
}
