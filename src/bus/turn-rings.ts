/** The rings of this node by session, limited in number and bytes, and removed some time after their turn ended. */
import { type EventReplay, RING_BYTES, RING_KEPT_MS } from '../protocol/bus.ts';
import { type AgentEvent, EVENT_ID, eventId, FIRST_EVENT_ID } from '../protocol/event.ts';
import type { SessionKey } from '../protocol/message.ts';
import type { TurnRing } from './turn-ring.ts';

/** Rings kept at once; beyond it the ring that ended first is removed, else the oldest open one. Its readers get a snapshot. */
export const MAX_RINGS = 4_096;
/** Bytes that all rings share: with more than 128 rings, each keeps less than `RING_BYTES`. */
export const RINGS_BYTES = 32 * 1024 * 1024;

/** The rings of a session: the newest of each turn, in the order they were opened. A busy session has thousands in a minute. */
interface SessionRings {
  byTurn: Map<string, TurnRing>;
  newest: TurnRing;
  /** Of all rings that were ever added here. */
  highestEpoch: number;
}

export class TurnRings {
  #bySession = new Map<SessionKey, SessionRings>();
  /** In the order they were opened, and the ended ones in the order they ended. */
  #open = new Set<TurnRing>();
  #ended = new Set<TurnRing>();
  #maxBytes = RING_BYTES;

  get size(): number {
    return this.#open.size + this.#ended.size;
  }

  /** Bytes one ring may hold now; computed when a ring is added or removed, because it is read for every event. */
  get maxBytes(): number {
    return this.#maxBytes;
  }

  /** The newest ring of this turn, regardless of its epoch. */
  ofTurn(sessionKey: SessionKey, turnId: string): TurnRing | undefined {
    return this.#bySession.get(sessionKey)?.byTurn.get(turnId);
  }

  /** Last number used under this epoch: a lane may keep its epoch from one turn to the next. */
  lastSeqOf(sessionKey: SessionKey, epoch: number): number {
    const session = this.#bySession.get(sessionKey);
    if (session === undefined || epoch > session.highestEpoch) return 0;
    if (epoch === session.newest.epoch) return session.newest.lastSeq;
    return this.#ringsOf(sessionKey).findLast((ring) => ring.epoch === epoch)?.lastSeq ?? 0;
  }

  /** Adds a ring and removes that of an earlier run of the same turn. */
  add(ring: TurnRing): void {
    const { sessionKey, turnId, epoch } = ring;
    const session = this.#bySession.get(sessionKey) ?? { byTurn: new Map(), newest: ring, highestEpoch: 0 };
    const previous = session.byTurn.get(turnId);
    if (previous !== undefined) {
      previous.superseded = true;
      this.#open.delete(previous);
      this.#ended.delete(previous);
      // Deleted first, so that the new one is last.
      session.byTurn.delete(turnId);
    }
    session.byTurn.set(turnId, ring);
    session.newest = ring;
    session.highestEpoch = Math.max(session.highestEpoch, epoch);
    this.#bySession.set(sessionKey, session);
    this.#open.add(ring);
    if (this.size > MAX_RINGS) this.#remove(first(this.#ended) ?? first(this.#open));
    this.#shareBytes();
  }

  /** Marks the ring's turn as ended; the ring is kept for readers that reconnect soon. */
  end(ring: TurnRing, monotonicNow: number): void {
    if (!this.#open.delete(ring)) return;
    ring.endedAt = monotonicNow;
    this.#ended.add(ring);
  }

  /** The open rings, and those whose turn ended in the last `endedWithinMs`, which other nodes may not know. */
  recent(monotonicNow: number, endedWithinMs: number): TurnRing[] {
    const ended = [...this.#ended].filter(({ endedAt = 0 }) => monotonicNow - endedAt < endedWithinMs);
    return [...this.#open, ...ended];
  }

  /** Removes rings whose turn ended long enough ago. */
  expire(monotonicNow: number): void {
    for (const ring of this.#ended) {
      if (monotonicNow - (ring.endedAt ?? 0) < RING_KEPT_MS) return;
      this.#remove(ring);
    }
  }

  /** Events after `lastEventId`, or one snapshot if they are gone; all that are kept after `FIRST_EVENT_ID`. */
  replay(sessionKey: SessionKey, lastEventId: string | undefined, epochNow: number): EventReplay {
    const rings = this.#ringsOf(sessionKey);
    const newest = rings.at(-1);
    if (lastEventId === undefined)
      return { events: newest === undefined || newest.ended ? [] : newest.since(newest.startSeq) };
    if (lastEventId === FIRST_EVENT_ID && rings.length > 0) return { events: whole(rings) };
    const place = parseEventId(lastEventId);
    const endedTurn = place?.endedTurn;
    const end = rings.findIndex(({ turnId }) => turnId === endedTurn);
    if (end >= 0) return { events: whole(rings.slice(end + 1)), endedTurn };
    const index =
      place === undefined ? -1 : rings.findIndex((ring) => ring.covers(place.epoch, place.eventSeq));
    if (place === undefined || index < 0) {
      const events = newest?.toSnapshot() ?? [
        { sessionKey, at: epochNow, type: 'snapshot' as const, text: '' },
      ];
      return { events, endedTurn };
    }
    const laterEvents = whole(rings.slice(index + 1));
    return { events: [...(rings[index]?.since(place.eventSeq) ?? []), ...laterEvents], endedTurn };
  }

  /** The place of the newest event that is kept. */
  lastEventId(sessionKey: SessionKey): string {
    const newest = this.#bySession.get(sessionKey)?.newest;
    if (newest === undefined) return FIRST_EVENT_ID;
    return eventId(newest.epoch, newest.lastSeq, newest.ended ? newest.turnId : undefined);
  }

  /** Removes everything of a session. */
  removeSession(sessionKey: SessionKey): void {
    for (const ring of this.#ringsOf(sessionKey)) {
      ring.superseded = true;
      this.#remove(ring);
    }
  }

  #remove(ring: TurnRing | undefined): void {
    if (ring === undefined) return;
    this.#open.delete(ring);
    this.#ended.delete(ring);
    const session = this.#bySession.get(ring.sessionKey);
    if (session?.byTurn.get(ring.turnId) === ring) {
      session.byTurn.delete(ring.turnId);
      const newest = session.newest === ring ? [...session.byTurn.values()].at(-1) : session.newest;
      if (newest === undefined) this.#bySession.delete(ring.sessionKey);
      else session.newest = newest;
    }
    this.#shareBytes();
  }

  /** In the order they were opened. */
  #ringsOf(sessionKey: SessionKey): TurnRing[] {
    return [...(this.#bySession.get(sessionKey)?.byTurn.values() ?? [])];
  }

  #shareBytes(): void {
    this.#maxBytes = Math.min(RING_BYTES, Math.floor(RINGS_BYTES / Math.max(1, this.size)));
  }
}

/** Reads what `eventId` returns; undefined for anything else. */
function parseEventId(id: string) {
  const [, epoch, eventSeq, endedTurn] = EVENT_ID.exec(id) ?? [];
  return epoch === undefined ? undefined : { epoch: Number(epoch), eventSeq: Number(eventSeq), endedTurn };
}

/** All that is kept of these runs. */
function whole(rings: readonly TurnRing[]): AgentEvent[] {
  return rings.flatMap((ring) => ring.since(ring.startSeq));
}

function first<T>(set: Set<T>): T | undefined {
  return set.values().next().value;
}
