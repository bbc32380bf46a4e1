/** The event bus of the fake gateway: gapless numbers per session, and every event kept for readers that reconnect. */
import type { EventListener, EventReplay } from '../../../src/protocol/bus.ts';
import { type AgentEvent, EVENT_ID, type EventBody, FIRST_EVENT_ID } from '../../../src/protocol/event.ts';
import type { TurnWork, WorkEvent } from '../../../src/protocol/sessions/turn-work.ts';
import type { MessageRecord } from '../../../src/protocol/store/records.ts';
import type { SessionKey } from '../../../src/protocol/message.ts';

/** Calls listeners at once, keeps the events of turns, and can lose or repeat some. */
export class FakeEvents {
  readonly listeners = new Map<EventListener, { sessionKey?: SessionKey; turnId?: string }>();
  /** Events of turns, by session; all under epoch 1, so an event's number is its position. */
  readonly #rings = new Map<SessionKey, AgentEvent[]>();

  subscribe(filter: { sessionKey?: SessionKey; turnId?: string }, listener: EventListener): () => void {
    this.listeners.set(listener, filter);
    return () => void this.listeners.delete(listener);
  }

  /** The events after `lastEventId`; without it, those of the running turn. */
  replay(key: SessionKey, lastEventId: string | undefined): EventReplay {
    const ring = this.#ringOf(key);
    const [, , eventSeq, endedTurn] = EVENT_ID.exec(lastEventId ?? '') ?? [];
    if (eventSeq !== undefined) return { events: ring.slice(Number(eventSeq)), endedTurn };
    const last = ring.at(-1);
    if (last === undefined || last.type === 'turn_ended') return { events: [] };
    return { events: ring.filter((event) => event.turnId === last.turnId) };
  }

  /** The work of the turns of these messages, as the journal has it: without the text of a model call that is still running. */
  workOf(key: SessionKey, messages: readonly MessageRecord[]): TurnWork[] {
    const shown = /^(thinking_|stream_(start|chunk)$|tool_|approval_|subagent_)/;
    return [...new Set(messages.map(({ turnId }) => turnId))].map((turnId) => {
      const events = this.#ringOf(key).filter((event) => event.turnId === turnId);
      const whole = new Set(events.flatMap((event) => (event.type === 'stream_end' ? [event.msgId] : [])));
      const own = events.filter(
        (event) =>
          shown.test(event.type) &&
          (!event.type.startsWith('stream_') || !('msgId' in event) || whole.has(event.msgId)),
      );
      return { turnId, events: own.map((event) => event as WorkEvent), complete: true };
    });
  }

  lastEventId(key: SessionKey): string {
    const kept = this.#ringOf(key).length;
    return kept === 0 ? FIRST_EVENT_ID : `1-${kept}`;
  }

  /** Calls every matching listener; with `turnId` the event is numbered and kept. */
  emit(sessionKey: SessionKey, body: EventBody, turnId?: string): void {
    const ring = this.#ringOf(sessionKey);
    const place = turnId === undefined ? {} : { turnId, epoch: 1, eventSeq: ring.length + 1 };
    const event: AgentEvent = { ...body, sessionKey, at: Date.now(), ...place };
    if (turnId !== undefined) ring.push(event);
    this.#dispatch(event);
  }

  /** Emits all text of a turn, numbered like the last event it covers. */
  snapshot(sessionKey: SessionKey, turnId: string, text: string): void {
    const eventSeq = this.#ringOf(sessionKey).length;
    this.#dispatch({ type: 'snapshot', text, sessionKey, turnId, epoch: 1, eventSeq, at: Date.now() });
  }

  /** Emits the newest event of the session again, as a batch from another node may. */
  repeatLast(key: SessionKey): void {
    const last = this.#ringOf(key).at(-1);
    if (last !== undefined) this.#dispatch(last);
  }

  /** The current listeners miss the events that `emitLost` emits. */
  lose(emitLost: () => void): void {
    const listeners = [...this.listeners];
    this.listeners.clear();
    emitLost();
    for (const [listener, filter] of listeners) this.listeners.set(listener, filter);
  }

  #ringOf(key: SessionKey): AgentEvent[] {
    const ring = this.#rings.get(key) ?? [];
    this.#rings.set(key, ring);
    return ring;
  }

  #dispatch(event: AgentEvent): void {
    for (const [listener, filter] of this.listeners) {
      if (filter.sessionKey !== undefined && filter.sessionKey !== event.sessionKey) continue;
      if (filter.turnId === undefined || filter.turnId === event.turnId) listener(event);
    }
  }
}
