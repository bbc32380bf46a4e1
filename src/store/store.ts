/** The store over one database, embedded or not. */
import type { AccessStore } from '../contracts/access.ts';
import type { ApprovalStore } from '../contracts/approvals.ts';
import type { Fanout } from '../contracts/bus.ts';
import type { ContextStore } from '../contracts/records.ts';
import type { LaneStore } from '../contracts/lanes.ts';
import type { Ledger } from '../contracts/ledger.ts';
import type { PostStore } from '../contracts/delivery.ts';
import type { SessionStart } from '../contracts/records.ts';
import type { SubagentStore } from '../contracts/subagents.ts';
import type { MemoryStore } from '../contracts/notes.ts';
import type { ChatMigrationStore } from '../contracts/message.ts';
import type { PlanStore } from '../contracts/plan-store.ts';
import type { ScratchpadStore } from '../contracts/notes.ts';
import type { TodoStore } from '../contracts/notes.ts';
import type { UsageStore } from '../contracts/usage.ts';
import type { ScheduleStore } from '../contracts/schedules.ts';
import { createAccess } from './tables/access.ts';
import { createApprovalStore } from './lanes/approvals.ts';
import type { Log } from '../contracts/log.ts';
import { createContexts } from './lanes/contexts.ts';
import { type DatabasePlace, openDatabase } from './database/database.ts';
import { createFanout } from './database/notify-fanout.ts';
import { createLanes } from './lanes/lanes.ts';
import { createLedger } from './lanes/ledger.ts';
import { createMemories } from './statements/memories.ts';
import { createChatMigrationStore } from './statements/chat-migration.ts';
import { migrateDatabase } from './database/migrate.ts';
import { createScratchpad, createTodos } from './statements/notes.ts';
import { createPlans } from './tables/plans.ts';
import { createPosts } from './lanes/posts.ts';
import { createSubagentStore } from './lanes/subagents.ts';
import { createPairings } from './statements/pairings.ts';
import { createUsage } from './tables/usage.ts';
import { createScheduleStore } from './tables/schedules.ts';

/** The open store. All its functions throw only `StoreError`. */
export interface Store {
  kind: 'postgres' | 'embedded';
  ledger: Ledger;
  lanes: LaneStore;
  subagents: SubagentStore;
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
  moves: ChatMigrationStore;
  /** Reaches the other nodes on the same database; undefined on the embedded one, which has none. */
  fanout?: Fanout;
  /** Ends calls in progress and all connections. Never throws; may be called twice. */
  close(): Promise<void>;
}

/** Options of an open store. */
export interface UseOptions {
  log: Log;
  /** How long a call waits for an unreachable database, in milliseconds. */
  retryForMs?: number | undefined;
  /** Connections of this process. */
  poolSize?: number | undefined;
  /** Settings of new sessions; default `SESSION_START`. */
  newSessions?: SessionStart | undefined;
}

/** Opens the store in a running database; `migrate` brings its tables up to date first. Throws what `openStore` throws. */
export async function openStoreAt(
  place: DatabasePlace,
  { log, migrate, retryForMs, poolSize, newSessions }: UseOptions & { migrate: boolean },
): Promise<Store> {
  if (migrate) await migrateDatabase(place, { retryForMs });
  const database = openDatabase({ ...place, poolSize, retryForMs });
  const parts = {
    ledger: createLedger(database, newSessions),
    lanes: createLanes(database),
    subagents: createSubagentStore(database),
    posts: createPosts(database),
    access: { ...createAccess(database), ...createPairings(database) },
    memories: createMemories(database),
    contexts: createContexts(database),
    approvals: createApprovalStore(database),
    plans: createPlans(database),
    todos: createTodos(database),
    scratchpad: createScratchpad(database),
    usage: createUsage(database),
    schedules: createScheduleStore(database),
    moves: createChatMigrationStore(database),
  };
  if (place.socketPath !== undefined) return { kind: 'embedded', ...parts, close: () => database.close() };
  const fanout = createFanout(place, log);
  return {
    kind: 'postgres',
    ...parts,
    fanout,
    async close() {
      await fanout.close();
      await database.close();
    },
  };
}
