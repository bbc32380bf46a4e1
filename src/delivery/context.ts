/** What the parts of the delivery work with. */
import type { EventBus, MessageBus } from '../protocol/bus.ts';
import type { Channel } from '../protocol/channel.ts';
import type { StreamModes } from '../protocol/delivery.ts';
import type { Log } from '../protocol/log.ts';
import type { OutgoingFiles } from '../protocol/media.ts';
import type { FollowChatMigration, SentMessage } from '../protocol/message.ts';
import type { DropSurface, SurfaceStore } from '../protocol/sessions/surfaces.ts';
import type { LaneStore } from '../protocol/store/lanes.ts';
import type { Ledger } from '../protocol/store/ledger.ts';
import type { PlanStore } from '../protocol/agent/plan-store.ts';
import type { SayIn } from '../protocol/texts/say.ts';
import type { Clock } from '../lib/clock.ts';
import type { PartNotes } from './final/part-notes.ts';
import type { Scheduler } from './rate/scheduler.ts';

export interface DeliveryDeps {
  /** The enabled channels, by name; may be filled later. */
  channels: ReadonlyMap<string, Channel>;
  ledger: Ledger;
  lanes: LaneStore;
  plans: PlanStore;
  events: EventBus;
  files: OutgoingFiles;
  /** How answers appear in a chat; in growing messages by default. */
  streamModes?: StreamModes | undefined;
  log: Log;
  clock?: Clock;
  /** In [0, 1); spreads retries. */
  random?: () => number;
  /** Nothing is shown while this node does not hold its lanes; a turn whose chat is closed to the bot is stopped. */
  bus: MessageBus;
  surfaces: SurfaceStore;
  dropSurface: DropSurface;
  /** Words what the delivery sends besides answers. */
  say: SayIn;
  /** Called for a chat that has a new id (a group that became a supergroup). */
  followMigration: FollowChatMigration;
}

export interface DeliveryContext extends DeliveryDeps {
  clock: Clock;
  random: () => number;
  schedulerOf(channel: Channel): Scheduler;
  notes: PartNotes;
  /** The messages that show `ref`, including those not stored yet. Throws `StoreError`. */
  sentParts(ref: string): Promise<SentMessage[]>;
  /** Sends whose outcome is unknown, and abandoned deliveries, since startup. */
  counts: { ambiguousSends: number; dead: number };
}
