/** The heartbeat: now and then the agent is shown the operator's list and speaks up only when there is something to say. */
import { readFile } from 'node:fs/promises';
import type { EventBus } from '../contracts/bus.ts';
import { toGatewayError } from '../contracts/errors.ts';
import type { SessionStore } from '../contracts/ledger.ts';
import { clipMiddle } from '../lib/text.ts';
import type { Log } from '../contracts/log.ts';
import type { Address } from '../contracts/message.ts';
import type { SendSystemMessage } from '../contracts/receive.ts';
import type { ScheduleStore } from '../contracts/schedules.ts';
import type { DueSchedule } from './fire.ts';
import { describeTiming } from './describe.ts';
import { SYSTEM_USER } from './schedules.ts';
import { nextSlot } from './timing.ts';

/** The heartbeat is a schedule of the gateway: the same slots, the same one winner among the nodes. */
export const HEARTBEAT_ID = 'heartbeat';
/** The whole answer of a heartbeat with nothing to say; nobody sees it. */
export const QUIET_TOKEN = 'HEARTBEAT_OK';
/** Longest list that is shown to the agent, in UTF-16 units; a longer one keeps its head and tail. */
export const MAX_INSTRUCTIONS = 20_000;

/** The row belongs to no chat: forgetting the chat must not end the heartbeat. */
const HEARTBEAT_SESSION = 'system:heartbeat';

const FOR_ALL =
  'for all gateways of this database; where there are several, heartbeat.everyMinutes must be the same in each';

export interface HeartbeatDeps {
  store: Pick<ScheduleStore, 'advanceSchedule'>;
  announce: SendSystemMessage;
  ledger: Pick<SessionStore, 'queue' | 'sessionOf'>;
  events: Pick<EventBus, 'emit'>;
  log: Log;
  /** Absolute path of `HEARTBEAT.md`. */
  file: string;
  /** Where it speaks. */
  address: Address;
  /** Its interval by this gateway's configuration. */
  everyMs: number;
}

/**
 * Makes the heartbeat's schedule what the configuration says; 0 = none. All gateways of one database share it: one that
 * finds another setting than its own says so, for it cannot know whether its own was changed or another gateway's
 * differs. `now` is epoch milliseconds. Throws only `StoreError`.
 */
export async function settleHeartbeat(
  { store, log }: { store: Pick<ScheduleStore, 'schedule' | 'addSchedule' | 'removeSchedule'>; log: Log },
  everyMs: number,
  now: number,
): Promise<void> {
  const there = await store.schedule(HEARTBEAT_ID);
  const timing = { kind: 'every', everyMs } as const;
  if (there?.nextAt !== undefined && there.timing.kind === 'every' && there.timing.everyMs === everyMs)
    return;
  if (there !== undefined) {
    await store.removeSchedule(HEARTBEAT_ID);
    const before = describeTiming(there.timing);
    if (everyMs === 0) log.warn({ before }, `the heartbeat is off now ${FOR_ALL}`);
    else
      log.warn({ before, now: describeTiming(timing) }, `the heartbeat has another interval now ${FOR_ALL}`);
  }
  if (everyMs === 0) return;
  await store.addSchedule({
    id: HEARTBEAT_ID,
    session: HEARTBEAT_SESSION,
    address: HEARTBEAT_SESSION,
    place: 'private',
    creatorId: SYSTEM_USER,
    timing,
    task: 'HEARTBEAT.md',
    nextAt: new Date(now + everyMs),
  });
}

/**
 * One beat: shows the agent the list, if there is anything on it and the chat is idle, then moves on. Only the node that
 * moves it on emits the tick (B-45). Throws only `StoreError`.
 */
export async function beat(deps: HeartbeatDeps, { timing, nextAt: slot, now }: DueSchedule): Promise<void> {
  const { address, log } = deps;
  if (timing.kind !== 'every' || timing.everyMs !== deps.everyMs) {
    const here = describeTiming({ kind: 'every', everyMs: deps.everyMs });
    log.warn({ here, there: describeTiming(timing) }, `another gateway set another interval ${FOR_ALL}`);
  }
  const session = await deps.ledger.sessionOf(address);
  const instructions = await readInstructions(deps);
  // A chat that is talking needs no reminder, and beats must not pile up behind a slow model.
  const { busy, waiting } = await deps.ledger.queue(session);
  if (instructions !== undefined && !busy && waiting === 0) {
    await deps.announce({
      id: `${HEARTBEAT_ID}:${slot.toISOString()}`,
      session,
      address,
      senderId: HEARTBEAT_ID,
      senderName: 'Heartbeat',
      content: wordsFor(instructions),
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
  log.debug({ slot, next }, 'heartbeat');
}

function wordsFor(instructions: string): string {
  return `[Heartbeat: nobody has written. Go through this list. If nothing on it needs to be said now, answer with ${QUIET_TOKEN} and nothing else.]\n${instructions}`;
}

/** What the file says; undefined when it is missing, or holds nothing but headings and comments. */
async function readInstructions({ file, log }: HeartbeatDeps): Promise<string | undefined> {
  try {
    const text = await readFile(file, 'utf8');
    return saysSomething(text) ? clipMiddle(text.trim(), MAX_INSTRUCTIONS) : undefined;
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) {
      log.warn({ err: toGatewayError(error), file }, 'the heartbeat cannot read its file');
    }
    return undefined;
  }
}

/** True when there is a line that is no heading, comment or blank. */
export function saysSomething(markdown: string): boolean {
  const lines = markdown.replaceAll(/<!--[\s\S]*?(?:-->|$)/g, '').split('\n');
  return lines.some((line) => line.trim() !== '' && !/^\s*#{1,6}(\s|$)/.test(line));
}
