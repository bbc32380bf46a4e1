/** The store over one database, embedded or not. */
import type { FileStore } from '../protocol/agent/tool.ts';
import type { Fanout, FanoutSecret } from '../protocol/bus.ts';
import type { SessionStart } from '../protocol/store/records.ts';
import { createChatMigrationStore, createGroupChats } from './statements/group-chats.ts';
import { createApprovalStore } from './lanes/approvals.ts';
import type { Log, StartProgress } from '../protocol/log.ts';
import type { BackupRecord } from '../protocol/operator/backup.ts';
import {
  createChatSettings,
  createConnections,
  createContacts,
  createKeys,
  createUpdates,
} from './statements/channels.ts';
import { dumpDatabase } from './database/dump.ts';
import { createBudgets } from './lanes/budgets.ts';
import { createContexts } from './lanes/contexts.ts';
import { type Database, type DatabasePlace, openDatabase } from './database/database.ts';
import { createFanout } from './database/notify-fanout.ts';
import { createJournals } from './lanes/journal.ts';
import { createLanes, createLetterAdministration } from './lanes/lanes.ts';
import { createKnowledge } from './statements/knowledge.ts';
import { createLedger, type LedgerDatabases } from './turns/ledger.ts';
import { createNodeReports } from './lanes/nodes.ts';
import { createMemories, createMemoryAdministration, createMemoryVectors } from './statements/memories.ts';
import { migrateDatabase } from './database/migrate.ts';
import { createFileStore, createStoredFiles, createRemovedFolders } from './statements/files.ts';
import { createForks } from './turns/forks.ts';
import { createImports } from './turns/imports.ts';
import { createSurfaces } from './statements/links.ts';
import { createPushStore } from './statements/push.ts';
import { createHookCalls } from './statements/hook-calls.ts';
import { createWebhookFacts } from './statements/webhook-facts.ts';
import { createTries } from './turns/tries.ts';
import { createUndo } from './turns/undo.ts';
import { createWaiting } from './lanes/waiting.ts';
import { createCitations, createPassages } from './statements/passages.ts';
import { createPlans, createScratchpad, createTodos } from './statements/plans.ts';
import { createRetentionStore } from './turns/delete-session.ts';
import { createRecords } from './statements/records.ts';
import { createReplayStore } from './turns/replays.ts';
import { createPeople } from './statements/people.ts';
import { createSignIns } from './statements/sign-ins.ts';
import { createStoredResponses } from './statements/stored-responses.ts';
import { createPosts } from './lanes/deliveries.ts';
import { createQuestions } from './lanes/questions.ts';
import { createTraceStore } from './turns/traces.ts';
import { createSubagentStore } from './lanes/subagents.ts';
import { createChoices, createMcpStatus, readFanoutSecret } from './tables/shared.ts';
import { createGrants, createPairings } from './statements/pairings.ts';
import { createTokens } from './statements/tokens.ts';
import { createUsage } from './statements/usage.ts';
import { createUsageRows } from './tables/usage.ts';
import { createDueSchedules, createScheduleTable } from './tables/schedules.ts';
import { createScheduleRuns, createScheduleSlots } from './statements/schedules.ts';

/** The open store. All its functions throw only `StoreError`. */
export interface Store
  extends TurnStores, SessionStores, AgentStores, AccessStores, ChannelStores, OperatorStores {
  kind: 'postgres' | 'embedded';
  /** How the nodes on the same database share the files of sessions; undefined on the embedded one: its nodes share the home. */
  files?: FileStore;
  /** Reaches the other nodes on the same database; undefined on the embedded one without workers. */
  fanout?: Fanout;
  /** What the nodes on the same database share, for a separate fan-out; created when it is first requested. */
  fanoutSecret(): Promise<FanoutSecret>;
  /** All rows and shared files as of one moment, for a backup. Throws the driver's errors. */
  dump(): AsyncIterable<BackupRecord>;
  /** Ends calls in progress and all connections. Never throws; may be called twice. */
  close(): Promise<void>;
}

type TurnStores = ReturnType<typeof turnStores>;
type SessionStores = ReturnType<typeof sessionStores>;
type AgentStores = ReturnType<typeof agentStores>;
type AccessStores = ReturnType<typeof accessStores>;
type ChannelStores = ReturnType<typeof channelStores>;
type OperatorStores = ReturnType<typeof operatorStores>;

/** Options of an open store. */
export interface UseOptions {
  log: Log;
  /** How long a call waits for an unreachable database, in milliseconds. */
  retryForMs?: number | undefined;
  /** Connections of this process. */
  poolSize?: number | undefined;
  /** Called with what takes time during an open. */
  progress?: StartProgress | undefined;
  /** Workers use the embedded database, too. */
  isShared?: boolean | undefined;
  /** Settings of new sessions; default `SESSION_START`. */
  newSessions?: SessionStart | undefined;
}

/** Connections for notes of platform ids alone: a crash before such a note sends the message twice. */
const NOTE_CONNECTIONS = 1;

/** Connections for searches alone: they may take long, and nothing else waits for them. */
const SEARCH_CONNECTIONS = 2;

/** Connections for heartbeats alone, and how long one is repeated while the database fails: the next one is due then. */
const HEARTBEAT_CONNECTIONS = 1;
const HEARTBEAT_RETRY_MS = 2_000;

/** When a search is ended, in milliseconds. */
const SEARCH_TIMEOUT_MS = 1_000;

/** Opens the store in a running database; `migrate` brings its tables up to date first. Throws like `openStore`. */
export async function openStoreAt(
  place: DatabasePlace,
  {
    log,
    migrate,
    retryForMs,
    poolSize,
    newSessions,
    progress,
    isShared = false,
    accepted,
  }: UseOptions & { migrate: boolean; accepted?: readonly number[] },
): Promise<Store> {
  progress?.step('Preparing the tables…');
  if (migrate) await migrateDatabase(place, { retryForMs, progress, accepted });
  const database = openDatabase({ ...place, poolSize, retryForMs });
  const notes = openDatabase({ ...place, poolSize: NOTE_CONNECTIONS, retryForMs });
  const searches = openDatabase({
    ...place,
    poolSize: SEARCH_CONNECTIONS,
    searchTimeoutMs: SEARCH_TIMEOUT_MS,
    retryForMs,
  });
  const heartbeats = openDatabase({
    ...place,
    poolSize: HEARTBEAT_CONNECTIONS,
    retryForMs: HEARTBEAT_RETRY_MS,
  });
  const stores = {
    ...turnStores({ database, notes, searches, heartbeats }, newSessions),
    ...sessionStores(database),
    ...agentStores(database, searches),
    ...accessStores(database),
    ...channelStores(database),
    ...operatorStores(database),
    fanoutSecret: () => readFanoutSecret(database),
    dump: () => dumpDatabase(place),
  };
  const close = async (): Promise<void> => {
    const databases = [heartbeats, searches, notes, database];
    await Promise.all(databases.map((one) => one.close()));
  };
  const isEmbedded = place.socketPath !== undefined;
  if (isEmbedded && !isShared) return { ...stores, kind: 'embedded', close };
  const fanout = createFanout(place, log);
  return {
    ...stores,
    kind: isEmbedded ? 'embedded' : 'postgres',
    files: isEmbedded ? undefined : createFileStore(database),
    fanout,
    async close() {
      await fanout.close();
      await close();
    },
  };
}

/** The life of messages and turns. */
function turnStores(
  databases: LedgerDatabases & { heartbeats: Database },
  newSessions: SessionStart | undefined,
) {
  const { database, heartbeats } = databases;
  return {
    ledger: createLedger(databases, newSessions),
    lanes: createLanes(database, heartbeats),
    posts: createPosts(database, newSessions),
    approvals: createApprovalStore(database),
    traces: createTraceStore(database),
    replays: createReplayStore(database),
    journals: createJournals(database),
    responses: createStoredResponses(database),
  };
}

/** What people see of sessions and change in them. */
function sessionStores(database: Database) {
  return {
    forks: createForks(database),
    imports: createImports(database),
    tries: createTries(database),
    undo: createUndo(database),
    surfaces: createSurfaces(database),
    waiting: createWaiting(database),
    questions: createQuestions(database),
    keptFiles: createStoredFiles(database),
    folders: createRemovedFolders(database),
  };
}

/** What the agent plans, notes and remembers. */
function agentStores(database: Database, searches: Database) {
  return {
    contexts: createContexts(database),
    subagents: createSubagentStore(database),
    memories: createMemories(database, searches),
    memoryVectors: createMemoryVectors(database),
    knowledge: createKnowledge(database),
    passages: createPassages(database, searches),
    citations: createCitations(database),
    plans: createPlans(database),
    todos: createTodos(database),
    scratchpad: createScratchpad(database),
    schedules: {
      ...createScheduleTable(database),
      ...createDueSchedules(database),
      ...createScheduleSlots(database),
      ...createScheduleRuns(database),
    },
  };
}

function accessStores(database: Database) {
  return {
    access: { ...createGrants(database), ...createPairings(database), ...createTokens(database) },
    people: createPeople(database),
    signIns: createSignIns(database),
  };
}

function channelStores(database: Database) {
  return {
    connections: createConnections(database),
    updates: createUpdates(database),
    chatSettings: createChatSettings(database),
    contacts: createContacts(database),
    keys: createKeys(database),
    groupChats: createGroupChats(database),
    moves: createChatMigrationStore(database),
  };
}

/** What operators see, and what the nodes of a database share. */
function operatorStores(database: Database) {
  return {
    administration: { ...createMemoryAdministration(database), ...createLetterAdministration(database) },
    retention: createRetentionStore(database),
    nodes: createNodeReports(database),
    mcp: createMcpStatus(database),
    choices: createChoices(database),
    usage: createUsage(database, createUsageRows(database)),
    budgets: createBudgets(database),
    webhooks: createWebhookFacts(database),
    hookCalls: createHookCalls(database),
    records: createRecords(database),
    push: createPushStore(database),
  };
}
