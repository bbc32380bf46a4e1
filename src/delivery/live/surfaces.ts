/** Turns in the other chats of their sessions, which may join and leave: each answer grows at its chat's pace. */
import type { LiveTurn, LiveTurnStart } from '../../protocol/delivery.ts';
import { toGatewayError } from '../../protocol/errors.ts';
import type { AgentEvent } from '../../protocol/event.ts';
import type { Address, SessionKey } from '../../protocol/message.ts';
import { surfaceRef } from '../../protocol/sessions/surfaces.ts';
import type { DeliveryContext } from '../context.ts';
import { type EndedCall, isLate, redeliver } from './calls.ts';
import type { LiveMessage } from './live-message.ts';
import { grow, type GrowingMessage, type ShownTexts } from './reply.ts';

/** The turns of this node; from its creation on it follows the sessions. */
export class OpenSurfaces {
  readonly #context: DeliveryContext;
  readonly #shownTexts: ShownTexts;
  readonly #running = new Map<SessionKey, LiveSurfaces>();
  readonly #settling = new Map<string, Promise<void>>();

  constructor(context: DeliveryContext, shownTexts: ShownTexts) {
    this.#context = context;
    this.#shownTexts = shownTexts;
    context.events.subscribe({}, (event) => {
      if (event.type === 'surfaces_changed') void this.#running.get(event.sessionKey)?.refresh();
    });
  }

  open(start: LiveTurnStart): { shownOn: LiveTurn['shownOn']; settle: () => void } {
    const live = new LiveSurfaces(this.#context, start, (ref, message) => this.#settle(ref, message));
    this.#running.set(start.session, live);
    return {
      shownOn: () => live.shownOn,
      settle: () => {
        live.settle();
        if (this.#running.get(start.session) === live) this.#running.delete(start.session);
      },
    };
  }

  /** Resolves when the last call of the growing message of `ref` has ended, at once if there is none. Never rejects. */
  settled(ref: string): Promise<void> {
    return this.#settling.get(ref) ?? Promise.resolve();
  }

  /** Ends a message; what it is certain to show is kept for the final delivery. */
  #settle(ref: string, message: LiveMessage): void {
    const end = message.settle().then(() => {
      this.#settling.delete(ref);
      this.#shownTexts.keep(ref, message.shown);
    });
    this.#settling.set(ref, end);
  }
}

/** The growing messages of one turn. */
export class LiveSurfaces {
  readonly #context: DeliveryContext;
  readonly #start: LiveTurnStart;
  readonly #settleMessage: (ref: string, message: LiveMessage) => void;
  readonly #grow: typeof grow;
  readonly #growing = new Map<Address, GrowingMessage>();
  readonly #blocked = new Set<Address>();
  /** The person who brought each chat in, by its address. */
  readonly #users = new Map<Address, string>();
  #isOver = false;
  /** The last reading of the chats. */
  #refreshed: Promise<void> = Promise.resolve();

  constructor(
    context: DeliveryContext,
    start: LiveTurnStart,
    settleMessage: (ref: string, message: LiveMessage) => void,
    growIn = grow,
  ) {
    this.#context = context;
    this.#start = start;
    this.#settleMessage = settleMessage;
    this.#grow = growIn;
    for (const { address, userId, placeholders } of start.surfaces)
      this.#open(address, userId, { ...start, placeholders });
  }

  get shownOn(): ReturnType<LiveTurn['shownOn']> {
    return [...this.#users]
      .filter(([address]) => !this.#blocked.has(address))
      .map(([address, userId]) => ({ address, userId }));
  }

  /**
   * A chat joined or left. A group that joins does not see this turn. Reads follow each other: a late result of an
   * earlier one would show the turn in a chat that has left. Never throws.
   */
  refresh(): Promise<void> {
    this.#refreshed = this.#refreshed.then(() => this.#readChats());
    return this.#refreshed;
  }

  async #readChats(): Promise<void> {
    const { surfaces: store, events, log } = this.#context;
    const { turnId, session, address: ownAddress } = this.#start;
    try {
      const surfaces = await store.surfaces(session);
      for (const address of this.#growing.keys())
        if (surfaces.every((surface) => surface.address !== address)) this.#settle(address);
      const newcomers = surfaces.filter(
        ({ address, place }) =>
          place === 'private' && !this.#users.has(address) && address !== ownAddress && !this.#isOver,
      );
      for (const { address, userId } of newcomers) {
        const missedEvents = events
          .replay(session, undefined)
          .events.filter((event) => event.turnId === turnId);
        this.#open(address, userId, { ...this.#start, placeholders: [], textSoFar: '' }, missedEvents);
      }
    } catch (error) {
      log.warn({ err: toGatewayError(error), turnId, sessionKey: session }, 'surfaces_unread');
    }
  }

  /** Ends all of them; the final delivery to each waits for its last call. Never throws, and waits for nothing. */
  settle(): void {
    this.#isOver = true;
    for (const address of this.#growing.keys()) this.#settle(address);
  }

  #open(
    address: Address,
    userId: string,
    { turnId, session, takenOver, note, placeholders, textSoFar }: LiveTurnStart,
    missedEvents?: readonly AgentEvent[],
  ): void {
    const ref = surfaceRef(turnId, address);
    const listeners = {
      onBlocked: () => this.#block(address),
      onCallEnded: (call: EndedCall) => void this.#repair(address, call),
    };
    const start = {
      turnId: ref,
      session,
      address,
      surfaces: [],
      placeholders,
      textSoFar,
      note,
      ...(takenOver !== undefined && { takenOver }),
    };
    const growing = this.#grow(this.#context, start, listeners, undefined, missedEvents);
    this.#users.set(address, userId);
    if (growing !== undefined) this.#growing.set(address, growing);
  }

  /** A call that ends after the turn may have arrived after its final text, which is then delivered once more. */
  async #repair(address: Address, call: EndedCall): Promise<void> {
    const { bus, surfaces, log } = this.#context;
    const { turnId } = this.#start;
    const mayBeLate = !this.#growing.has(address) || isLate(call, bus.lease());
    if (!mayBeLate || this.#blocked.has(address)) return;
    try {
      if ((await surfaces.surface(address)) === undefined) return;
    } catch (error) {
      log.warn({ err: toGatewayError(error), turnId, address }, 'late_call_not_repaired');
      return;
    }
    await redeliver(this.#context, turnId, address, surfaceRef(turnId, address));
  }

  #settle(address: Address): void {
    const growing = this.#growing.get(address);
    if (growing === undefined) return;
    growing.end();
    this.#growing.delete(address);
    this.#settleMessage(surfaceRef(this.#start.turnId, address), growing.message);
  }

  /** No one reads it there any more: the chat leaves the session, and the turn continues for the others. */
  #block(address: Address): void {
    if (this.#blocked.has(address)) return;
    this.#blocked.add(address);
    this.#settle(address);
    this.#context.dropSurface(address).catch((error: unknown) => {
      this.#context.log.warn({ err: toGatewayError(error), address }, 'surface_not_dropped');
    });
  }
}
