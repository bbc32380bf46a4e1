/** The heartbeat: at intervals the agent reads the operator's list and writes only when there is something to say. */
import { readFile } from 'node:fs/promises';
import { errorCode, toGatewayError } from '../protocol/errors.ts';
import { clipMiddle } from '../lib/text.ts';
import type { Log } from '../protocol/log.ts';
import type { DueSchedule, Heartbeat, SchedulingDeps } from './fire.ts';
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

/**
 * Sets the heartbeat's schedule to the configured interval (undefined or 0 = none) and the kind of its chat. All gateways
 * of a database share it, so a different interval is logged. `now` is epoch milliseconds. Throws only `StoreError`.
 */
export async function settleHeartbeat(
  { store, creatorAccess, log }: SchedulingDeps,
  heartbeat: Heartbeat | undefined,
  now: number,
): Promise<void> {
  const existing = await store.schedule(HEARTBEAT_ID);
  const everyMs = heartbeat?.everyMs ?? 0;
  const place = heartbeat === undefined ? 'private' : await creatorAccess.placeOf(heartbeat.address);
  const timing = { kind: 'every', everyMs } as const;
  const isSame =
    existing?.nextAt !== undefined && existing.timing.kind === 'every' && existing.timing.everyMs === everyMs;
  if (isSame && existing.place === place) return;
  if (existing !== undefined) await store.removeSchedule(HEARTBEAT_ID);
  if (existing !== undefined && !isSame) {
    const oldTiming = describeTiming(existing.timing);
    if (everyMs === 0) log.warn({ before: oldTiming, detail: FOR_ALL }, 'heartbeat_disabled');
    else
      log.warn(
        { before: oldTiming, now: describeTiming(timing), detail: FOR_ALL },
        'heartbeat_interval_changed',
      );
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
    nextAt: isSame ? existing.nextAt : new Date(now + everyMs),
  });
}

/**
 * Fires one heartbeat, unless its list is empty or the chat is busy, and moves the schedule on. Only the node that moves
 * it emits the tick (B-45). Throws only `StoreError`.
 */
export async function beat(
  deps: SchedulingDeps,
  { everyMs, address, file }: Heartbeat,
  { timing, nextAt: slot, now }: DueSchedule,
): Promise<void> {
  const { log } = deps;
  if (timing.kind !== 'every' || timing.everyMs !== everyMs) {
    const configured = describeTiming({ kind: 'every', everyMs });
    log.warn(
      { here: configured, there: describeTiming(timing), detail: FOR_ALL },
      'heartbeat_interval_differs',
    );
  }
  const session = await deps.ledger.sessionOf(address);
  const instructions = await readInstructions(file, log);
  // A busy chat needs no reminder, and heartbeats must not pile up behind a slow model.
  const { busy, waiting: waitingCount } = await deps.ledger.queue(session);
  const isTaken = await deps.creatorAccess.isTaken(address);
  if (isTaken) log.warn({ session }, 'heartbeat_refused');
  if (instructions !== undefined && !isTaken && !busy && waitingCount === 0) {
    await deps.sendSystemMessage({
      id: `${HEARTBEAT_ID}:${slot.toISOString()}`,
      session,
      address,
      senderId: HEARTBEAT_ID,
      senderName: 'Heartbeat',
      content: `[Heartbeat: no user has written. Go through this list. If nothing on it needs to be said now, answer with ${QUIET_TOKEN} and nothing else.]\n${instructions}`,
      place: await deps.creatorAccess.placeOf(address),
      timestamp: now.getTime(),
      entry: 'run',
      silentToken: QUIET_TOKEN,
    });
  }
  const next = nextSlot(timing, now.getTime(), slot.getTime());
  const isMoved = await deps.store.advanceSchedule(
    HEARTBEAT_ID,
    slot,
    next === undefined ? undefined : new Date(next),
  );
  if (!isMoved) return;
  deps.events.emit(session, { type: 'heartbeat_tick' });
  log.debug({ slot, next }, 'heartbeat_sent');
}

/** Content of the file; undefined when it is missing or holds only headings and comments. */
async function readInstructions(file: string, log: Log): Promise<string | undefined> {
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
