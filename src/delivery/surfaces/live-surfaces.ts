/** A turn in the other chats of its session: in each it grows at its own pace, and none waits for another. */
import type { EventBus } from '../../protocol/bus.ts';
import { toGatewayError } from '../../protocol/errors.ts';
import type { LiveTurn, LiveTurnStart } from '../../protocol/delivery.ts';
import type { Log } from '../../protocol/log.ts';
import type { Address } from '../../protocol/message.ts';
import { type DropSurface, surfaceRef, type SurfaceStore } from '../../protocol/sessions/surfaces.ts';
import { type EndedCall, isLate } from '../live/late-calls.ts';
import type { OtherSurface } from '../../protocol/store/records.ts';
import type { LiveMessage } from '../live/live-message.ts';

/** One growing message, and the function that ends it. */
export interface GrowingMessage {
  message: LiveMessage;
  /** Ends the wait for earlier deliveries to the chat. */
  stopWaiting: (() => void) | undefined;
}

export interface LiveSurfacesDeps {
  /** Opens a live message; undefined if the channel shows nothing growing. */
  grow: (start: LiveTurnStart, calls: GrowingCalls) => GrowingMessage | undefined;
  store: Pick<SurfaceStore, 'surfaces'>;
  drop: DropSurface;
  events: Pick<EventBus, 'subscribe' | 'replay'>;
  /** Keeps what is certain to be on screen, and the end of the last call, for the final delivery. */
  keep: (ref: string, message: LiveMessage, settled: Promise<void>) => void;
  /** Delivers the final text of the turn to the chat once more, if it still shares the session. Never throws. */
  repair: (turnId: string, address: Address) => void;
  /** False while another node may hold the lane of the turn. */
  lease: () => string | undefined;
  log: Log;
}

/** What a growing message reports about its calls. */
export interface GrowingCalls {
  onBlocked: () => void;
  onCallEnded: (call: EndedCall) => void;
}

/** The growing messages of one turn. */
export class LiveSurfaces {
  readonly #deps: LiveSurfacesDeps;
  readonly #start: LiveTurnStart;
  readonly #growing = new Map<Address, GrowingMessage & { end: () => void }>();
  readonly #blocked = new Set<Address>();
  /** The person who brought each chat in, by its address. */
  readonly #shownOn = new Map<Address, string>();
  #over = false;
  /** The last reading of the chats, begun or waiting. */
  #refreshed: Promise<void> = Promise.resolve();

  constructor(start: LiveTurnStart, deps: LiveSurfacesDeps) {
    this.#start = start;
    this.#deps = deps;
    for (const surface of start.surfaces) this.#open(surface, start.textSoFar);
  }

  get shownOn(): ReturnType<LiveTurn['shownOn']> {
    return [...this.#shownOn]
      .filter(([address]) => !this.#blocked.has(address))
      .map(([address, userId]) => ({ address, userId }));
  }

  /**
   * A chat has joined or left. A group that joins in the meantime does not see this turn. One reading follows the other: the
   * late answer to an earlier one would show the turn in a chat that has left. Never throws.
   */
  refresh(): Promise<void> {
    this.#refreshed = this.#refreshed.then(() => this.#readChats());
    return this.#refreshed;
  }

  async #readChats(): Promise<void> {
    try {
      const surfaces = await this.#deps.store.surfaces(this.#start.session);
      for (const [address, one] of this.#growing)
        if (surfaces.every((surface) => surface.address !== address)) this.#settle(address, one);
      for (const { address, userId, place } of surfaces)
        if (!this.#shownOn.has(address) && address !== this.#start.address && place === 'private')
          this.#open({ address, userId, placeholders: [] }, '', this.#soFar());
    } catch (error) {
      const { turnId, session: sessionKey } = this.#start;
      this.#deps.log.warn({ err: toGatewayError(error), turnId, sessionKey }, 'surfaces_unread');
    }
  }

  /** Ends all of them; the final delivery to each waits for its last call. Never throws, and waits for nothing. */
  settle(): void {
    this.#over = true;
    for (const [address, one] of this.#growing) this.#settle(address, one);
  }

  /** The events of the turn so far. */
  #soFar(): ReturnType<EventBus['replay']>['events'] {
    const { session, turnId } = this.#start;
    return this.#deps.events.replay(session, undefined).events.filter((event) => event.turnId === turnId);
  }

  #open(
    { address, userId, placeholders }: Pick<OtherSurface, 'address' | 'userId' | 'placeholders'>,
    textSoFar: string,
    missed: ReturnType<EventBus['replay']>['events'] = [],
  ): void {
    if (this.#over) return;
    const { turnId, session, takenOver, note } = this.#start;
    const ref = surfaceRef(turnId, address);
    const calls = {
      onBlocked: () => this.#block(address),
      // A call that ends after the turn may have arrived after its final text.
      onCallEnded: (call: EndedCall) => {
        const late = !this.#growing.has(address) || isLate(call, this.#deps.lease());
        if (late && !this.#blocked.has(address)) this.#deps.repair(turnId, address);
      },
    };
    const shown = { turnId: ref, session, address, surfaces: [], placeholders, textSoFar, note };
    const growing = this.#deps.grow({ ...shown, ...(takenOver !== undefined && { takenOver }) }, calls);
    this.#shownOn.set(address, userId);
    if (growing === undefined) return;
    for (const event of missed) growing.message.apply(event);
    const end = this.#deps.events.subscribe({ turnId }, (event) => growing.message.apply(event));
    this.#growing.set(address, { ...growing, end });
  }

  #settle(address: Address, { message, stopWaiting, end }: GrowingMessage & { end: () => void }): void {
    end();
    stopWaiting?.();
    this.#growing.delete(address);
    this.#deps.keep(surfaceRef(this.#start.turnId, address), message, message.settle());
  }

  /** No one reads it there any more: the chat leaves the session, and the turn continues for the others. */
  #block(address: Address): void {
    if (this.#blocked.has(address)) return;
    this.#blocked.add(address);
    const growing = this.#growing.get(address);
    if (growing !== undefined) this.#settle(address, growing);
    this.#deps.drop(address).catch((error: unknown) => {
      this.#deps.log.warn({ err: toGatewayError(error), address }, 'surface_not_dropped');
    });
  }
}
