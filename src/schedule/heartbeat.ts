/** The heartbeat: at intervals the agent reads the operator's list and writes only when there is something to say. */
import { readFile } from 'node:fs/promises';
import type { CreatorAccess } from '../protocol/access.ts';
import type { EventBus } from '../protocol/bus.ts';
import { errorCode, toGatewayError } from '../protocol/errors.ts';
import type { SessionStore } from '../protocol/store/ledger.ts';
import { clipMiddle } from '../lib/text.ts';
import type { Log } from '../protocol/log.ts';
import type { Address } from '../protocol/message.ts';
import type { SendSystemMessage } from '../protocol/receive.ts';
import type { ScheduleStore } from '../protocol/schedules.ts';
import type { DueSchedule } from './fire.ts';
import { describeTiming } from './describe.ts';
import { SYSTEM_USER } from './schedules.ts';
import { nextSlot } from './timing.ts';

/** The heartbeat is a schedule of the gateway, so that one node runs each slot. */
export const HEARTBEAT_ID = 'heartbeat';
/** The answer of a heartbeat with nothing to say; it is not shown. */
export const QUIET_TOKEN = 'HEARTBEAT_OK';
/** Longest list shown to the agent, in UTF-16 units; the middle of a longer one is left out. */
export const MAX_INSTRUCTIONS = 20_000;

/** The row belongs to no chat: deleting the chat must not end the heartbeat. */
const HEARTBEAT_SESSION = 'system:heartbeat';

const FOR_ALL =
  'This counts for all gateways of this database; where there are several, heartbeat.everyMinutes must be the same in each.';

export interface HeartbeatDeps {
  store: Pick<ScheduleStore, 'advanceSchedule'>;
  sendSystemMessage: SendSystemMessage;
  ledger: Pick<SessionStore, 'queue' | 'sessionOf'>;
  creatorAccess: Pick<CreatorAccess, 'placeOf'>;
  events: Pick<EventBus, 'emit'>;
  log: Log;
  /** Absolute path of `HEARTBEAT.md`. */
  file: string;
  /** The chat it writes to. */
  address: Address;
  /** The interval in this gateway's configuration. */
  everyMs: number;
}

interface SettleDeps extends Pick<HeartbeatDeps, 'creatorAccess' | 'log'> {
  store: Pick<ScheduleStore, 'schedule' | 'addSchedule' | 'removeSchedule'>;
}

/**
 * Sets the heartbeat's schedule to the configured interval and the kind of its chat; undefined or 0 = none. All gateways of one database share it: a gateway
 * that finds an interval different from its own logs it, since its own may have changed or another gateway's may
 * differ. `now` is epoch milliseconds. Throws only `StoreError`.
 */
export async function settleHeartbeat(
  { store, creatorAccess, log }: SettleDeps,
  heartbeat: Pick<HeartbeatDeps, 'everyMs' | 'address'> | undefined,
  now: number,
): Promise<void> {
  const there = await store.schedule(HEARTBEAT_ID);
  const everyMs = heartbeat?.everyMs ?? 0;
  const place = heartbeat === undefined ? 'private' : await creatorAccess.placeOf(heartbeat.address);
  const timing = { kind: 'every', everyMs } as const;
  const isSame =
    there?.nextAt !== undefined && there.timing.kind === 'every' && there.timing.everyMs === everyMs;
  if (isSame && there.place === place) return;
  if (there !== undefined) await store.removeSchedule(HEARTBEAT_ID);
  if (there !== undefined && !isSame) {
    const before = describeTiming(there.timing);
    if (everyMs === 0) log.warn({ before, detail: FOR_ALL }, 'heartbeat_disabled');
    else log.warn({ before, now: describeTiming(timing), detail: FOR_ALL }, 'heartbeat_interval_changed');
  }
  if (everyMs === 0) return;
  await store.addSchedule({
    id: HEARTBEAT_ID,
    session: HEARTBEAT_SESSION,
    address: HEARTBEAT_SESSION,
    place,
    creatorId: SYSTEM_USER,
    timing,
    task: 'HEARTBEAT.md',
    sources: [],
    // Another chat is no reason to skip a beat.
    nextAt: isSame ? there.nextAt : new Date(now + everyMs),
  });
}

/**
 * Fires one heartbeat: passes the agent the list, unless it is empty or the chat is busy, then moves the schedule on.
 * Only the node that moves it emits the tick (B-45). Throws only `StoreError`.
 */
export async function beat(deps: HeartbeatDeps, { timing, nextAt: slot, now }: DueSchedule): Promise<void> {
  const { address, log } = deps;
  if (timing.kind !== 'every' || timing.everyMs !== deps.everyMs) {
    const here = describeTiming({ kind: 'every', everyMs: deps.everyMs });
    log.warn({ here, there: describeTiming(timing), detail: FOR_ALL }, 'heartbeat_interval_differs');
  }
  const session = await deps.ledger.sessionOf(address);
  const instructions = await readInstructions(deps);
  // A busy chat needs no reminder, and heartbeats must not pile up behind a slow model.
  const { busy, waiting } = await deps.ledger.queue(session);
  if (instructions !== undefined && !busy && waiting === 0) {
    await deps.sendSystemMessage({
      id: `${HEARTBEAT_ID}:${slot.toISOString()}`,
      session,
      address,
      senderId: HEARTBEAT_ID,
      senderName: 'Heartbeat',
      content: promptFor(instructions),
      place: await deps.creatorAccess.placeOf(address),
      timestamp: now.getTime(),
      entry: 'run',
      silentToken: QUIET_TOKEN,
    });
  }
  const next = nextSlot(timing, now.getTime(), slot.getTime());
  const moved = await deps.store.advanceSchedule(
    HEARTBEAT_ID,
    slot,
    next === undefined ? undefined : new Date(next),
  );
  if (!moved) return;
  deps.events.emit(session, { type: 'heartbeat_tick' });
  log.debug({ slot, next }, 'heartbeat_sent');
}

function promptFor(instructions: string): string {
  return `[Heartbeat: no user has written. Go through this list. If nothing on it needs to be said now, answer with ${QUIET_TOKEN} and nothing else.]\n${instructions}`;
}

/** Content of the file; undefined when it is missing or holds only headings and comments. */
async function readInstructions({ file, log }: HeartbeatDeps): Promise<string | undefined> {
  try {
    const text = await readFile(file, 'utf8');
    return saysSomething(text) ? clipMiddle(text.trim(), MAX_INSTRUCTIONS) : undefined;
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') {
      log.warn({ err: toGatewayError(error), file }, 'heartbeat_file_unreadable');
    }
    return undefined;
  }
}

/** True when there is a line that is not blank, a heading or a comment. */
export function saysSomething(markdown: string): boolean {
  const lines = markdown.replaceAll(/<!--[\s\S]*?(?:-->|$)/g, '').split('\n');
  return lines.some((line) => line.trim() !== '' && !/^\s*#{1,6}(\s|$)/.test(line));
}
