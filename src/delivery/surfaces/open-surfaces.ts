/** The live turns of this node in the other chats of their sessions, which may change while they run. */
import type { EventBus, MessageBus } from '../../protocol/bus.ts';
import { toGatewayError } from '../../protocol/errors.ts';
import type { LiveTurnStart } from '../../protocol/delivery.ts';
import type { Ledger } from '../../protocol/store/ledger.ts';
import type { Log } from '../../protocol/log.ts';
import { type Address, parseAddress, type SessionKey } from '../../protocol/message.ts';
import { type DropSurface, surfaceRef, type SurfaceStore } from '../../protocol/sessions/surfaces.ts';
import { newId } from '../../lib/ids.ts';
import type { LiveMessage } from '../live/live-message.ts';
import { LiveSurfaces, type LiveSurfacesDeps } from './live-surfaces.ts';

export interface OpenSurfacesDeps {
  grow: LiveSurfacesDeps['grow'];
  store: Pick<SurfaceStore, 'surfaces' | 'surface'>;
  drop: DropSurface;
  events: Pick<EventBus, 'subscribe' | 'replay'>;
  ledger: Pick<Ledger, 'turn' | 'enqueue'>;
  bus: Pick<MessageBus, 'lease' | 'claimingNode' | 'runHeads'>;
  /** Keeps the texts that a settled message is certain to show. */
  keepShown: (ref: string, texts: LiveMessage['shown']) => void;
  log: Log;
}

export interface OpenSurfaces {
  open(start: LiveTurnStart): Pick<LiveSurfaces, 'shownOn' | 'settle'>;
  /** Resolves when the last call of the growing message of `ref` is over, at once if there is none. Never rejects. */
  settled(ref: string): Promise<void>;
}

/** Creates it; from then on it follows the sessions. */
export function createOpenSurfaces(deps: OpenSurfacesDeps): OpenSurfaces {
  const { events, store, ledger, bus, log } = deps;
  const running = new Map<SessionKey, LiveSurfaces>();
  const settling = new Map<string, Promise<void>>();
  events.subscribe({}, (event) => {
    if (event.type === 'surfaces_changed') void running.get(event.sessionKey)?.refresh();
  });

  const keep: LiveSurfacesDeps['keep'] = (ref, message, settled) => {
    const over = settled.then(() => {
      settling.delete(ref);
      deps.keepShown(ref, message.shown);
    });
    settling.set(ref, over);
  };
  const showFinalAgain = async (turnId: string, address: Address): Promise<void> => {
    const [turn, surface] = await Promise.all([ledger.turn(turnId), store.surface(address)]);
    if (turn?.final === undefined || surface === undefined) return;
    const ref = surfaceRef(turnId, address);
    const message = { ...parseAddress(address), content: turn.final.content, media: [], buttons: [] };
    const again = { ref, key: `${ref}:again:${newId()}`, message };
    bus.runHeads(await ledger.enqueue(address, again, bus.claimingNode('out')));
    log.info({ turnId, address }, 'final_text_shown_again');
  };
  const repair = (turnId: string, address: Address): void => {
    showFinalAgain(turnId, address).catch((error: unknown) =>
      log.warn({ err: toGatewayError(error), turnId, address }, 'late_call_not_repaired'),
    );
  };
  const lease = (): string | undefined => bus.lease();

  return {
    open(start) {
      const { grow, drop } = deps;
      const live = new LiveSurfaces(start, { grow, store, drop, events, keep, repair, lease, log });
      running.set(start.session, live);
      return {
        get shownOn() {
          return live.shownOn;
        },
        settle() {
          live.settle();
          if (running.get(start.session) === live) running.delete(start.session);
        },
      };
    },
    settled: (ref) => settling.get(ref) ?? Promise.resolve(),
  };
}
