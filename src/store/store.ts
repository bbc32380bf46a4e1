/** The store's words over one database, wherever that runs. */
import type { AccessStore } from '../access.ts';
import type { ApprovalStore } from '../approvals.ts';
import type { Fanout } from '../bus.ts';
import type { ContextStore } from '../compression.ts';
import type { LaneStore } from '../lanes.ts';
import type { Ledger } from '../ledger.ts';
import type { PostStore } from '../posts.ts';
import type { SessionStart } from '../records.ts';
import type { RunStore } from '../runs.ts';
import type { MemoryStore } from '../memory.ts';
import type { MoveStore } from '../moves.ts';
import type { PlanStore } from '../plans.ts';
import type { ScratchpadStore } from '../scratchpad.ts';
import type { TodoStore } from '../todos.ts';
import type { UsageStore } from '../usage.ts';
import type { ScheduleStore } from '../schedules.ts';
import { createAccess } from './access.ts';
import { createApprovalStore } from './approvals.ts';
import type { Log } from '../log.ts';
import { createContexts } from './contexts.ts';
import { type DatabasePlace, openDatabase } from './database.ts';
import { createFanout } from './fanout.ts';
import { createLanes } from './lanes.ts';
import { createLedger } from './ledger.ts';
import { createMemories } from './memories.ts';
import { createMoveStore } from './moves.ts';
import { migrateDatabase } from './migrate.ts';
import { createScratchpad, createTodos } from './notes.ts';
import { createPlans } from './plans.ts';
import { createPosts } from './posts.ts';
import { createRuns } from './runs.ts';
import { createUsage } from './usage.ts';
import { createScheduleStore } from './schedules.ts';

/** The open store. Every word in it throws only `StoreError`. */
export interface Store {
  kind: 'postgres' | 'embedded';
  ledger: Ledger;
  lanes: LaneStore;
  runs: RunStore;
  posts: PostStore;
  access: AccessStore;
  memories: MemoryStore;
  contexts: ContextStore;
  approvals: ApprovalStore;
  plans: PlanStore;
  todos: TodoStore;
  scratchpad: ScratchpadStore;
  usage: UsageStore;
  schedules: ScheduleStore;
  moves: MoveStore;
  /** Reaches the other nodes on the same database; undefined on the embedded one, which has none. */
  fanout?: Fanout;
  /** Ends calls under way and all connections. Never throws; twice is fine. */
  close(): Promise<void>;
}

/** How to use a database. */
export interface UseOptions {
  log: Log;
  /** How long a call waits for a database that is away, in milliseconds. */
  retryForMs?: number | undefined;
  /** Connections of this process. */
  poolSize?: number | undefined;
  /** How sessions begin; default `SESSION_START`. */
  newSessions?: SessionStart | undefined;
}

/** Opens the store in a database that runs; `migrate` brings its tables up to date first. Throws what `openStore` throws. */
export async function openStoreAt(
  place: DatabasePlace,
  { log, migrate, retryForMs, poolSize, newSessions }: UseOptions & { migrate: boolean },
): Promise<Store> {
  if (migrate) await migrateDatabase(place, { retryForMs });
  const database = openDatabase({ ...place, poolSize, retryForMs });
  const words = {
    ledger: createLedger(database, newSessions),
    lanes: createLanes(database),
    runs: createRuns(database),
    posts: createPosts(database),
    access: createAccess(database),
    memories: createMemories(database),
    contexts: createContexts(database),
    approvals: createApprovalStore(database),
    plans: createPlans(database),
    todos: createTodos(database),
    scratchpad: createScratchpad(database),
    usage: createUsage(database),
    schedules: createScheduleStore(database),
    moves: createMoveStore(database),
  };
  if (place.socketPath !== undefined) return { kind: 'embedded', ...words, close: () => database.close() };
  const fanout = createFanout(place, log);
  return {
    kind: 'postgres',
    ...words,
    fanout,
    async close() {
      await fanout.close();
      await database.close();
    },
  };
}
