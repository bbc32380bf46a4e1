/** The store over one database, embedded or not. */
import type { FileStore, McpStatusStore } from '../protocol/agent/tool.ts';
import type { AccessStore } from '../protocol/access.ts';
import type { ApprovalStore } from '../protocol/agent/approvals.ts';
import type { ConnectionStore, UpdateStore } from '../protocol/receive.ts';
import type { Fanout, FanoutSecret } from '../protocol/bus.ts';
import type { ContextStore } from '../protocol/store/accept.ts';
import type { KeptFiles } from '../protocol/media.ts';
import type { LaneStore } from '../protocol/store/lanes.ts';
import type { Ledger, RemovedFolders, ResponseStore } from '../protocol/store/ledger.ts';
import type { ForkStore, WaitingStore } from '../protocol/sessions/conversation-api.ts';
import type { WebhookStore } from '../protocol/operator/webhooks.ts';
import type { SurfaceStore } from '../protocol/sessions/surfaces.ts';
import type { ChoiceStore, SessionStart, TryStore } from '../protocol/store/records.ts';
import type { GroupChatStore, QuestionStore } from '../protocol/store/group-chats.ts';
import type { PostStore } from '../protocol/delivery.ts';
import type { WorkStore } from '../protocol/sessions/turn-work.ts';
import type { SubagentStore } from '../protocol/agent/subagents.ts';
import type { MemoryStore, MemoryVectorStore, ScratchpadStore, TodoStore } from '../protocol/store/notes.ts';
import type { ChatMigrationStore } from '../protocol/message.ts';
import type { ChatSettingStore } from '../protocol/channel.ts';
import type { PlanStore } from '../protocol/agent/plan-store.ts';
import type { TraceStore } from '../protocol/store/traces.ts';
import type { UsageStore, UsageSums } from '../protocol/agent/usage.ts';
import type { ScheduleStore } from '../protocol/schedules.ts';
import { createGrants } from './tables/grants.ts';
import { createGroupChats } from './tables/statements/group-chats.ts';
import { createAdministrationStore } from './tables/statements/administration.ts';
import { createApprovalStore } from './lanes/approvals.ts';
import type { Log, StartProgress } from '../protocol/log.ts';
import type { AdministrationStore } from '../protocol/operator/administration.ts';
import type { BackupRecord, RetentionStore } from '../protocol/operator/backup.ts';
import type { NodeReportStore } from '../protocol/operator/nodes.ts';
import type { PersonStore } from '../protocol/operator/people.ts';
import type { SignInStore } from '../protocol/operator/sign-in.ts';
import { createChatSettings } from './tables/statements/channels/chat-settings.ts';
import { dumpDatabase } from './database/backup/dump.ts';
import { createConnections } from './tables/statements/channels/connections.ts';
import { createUpdates } from './tables/statements/channels/updates.ts';
import { createContexts } from './lanes/contexts.ts';
import { type Database, type DatabasePlace, openDatabase } from './database/database.ts';
import { createFanout } from './database/notify-fanout.ts';
import { createJournals } from './lanes/turn/journals.ts';
import { createLanes } from './lanes/lanes.ts';
import { createLedger } from './lanes/ledger.ts';
import { createNodeReports } from './lanes/nodes/node-reports.ts';
import { createMemories } from './tables/statements/memories.ts';
import { createMemoryVectors } from './tables/statements/memory-vectors.ts';
import { createChatMigrationStore } from './tables/statements/chat-migration.ts';
import { migrateDatabase } from './database/migrate.ts';
import { createRemovedFolders } from './tables/statements/files/removed-folders.ts';
import { createFileStore } from './tables/statements/files/session-files.ts';
import { createForks } from './lanes/sessions/forks.ts';
import { createKeptFiles } from './tables/statements/files/kept-files.ts';
import { createSurfaces } from './tables/statements/surfaces/surfaces.ts';
import { createWebhookFacts } from './tables/statements/webhook-facts.ts';
import { createTries } from './lanes/sessions/tries.ts';
import { createWaiting } from './lanes/sessions/waiting.ts';
import { createScratchpad, createTodos } from './tables/statements/notes.ts';
import { createRetentionStore } from './lanes/sessions/old-turns.ts';
import { createPeople } from './tables/statements/access/people.ts';
import { createSignIns } from './tables/statements/access/sign-ins.ts';
import { createStoredResponses } from './tables/statements/stored-responses.ts';
import { createPlans } from './tables/statements/plans.ts';
import { createPosts } from './lanes/deliveries/posts.ts';
import { createQuestions } from './lanes/sessions/questions.ts';
import { createTraceStore } from './lanes/turn/traces.ts';
import { createSubagentStore } from './lanes/subagents/subagents.ts';
import { createChoices } from './tables/choices.ts';
import { createMcpStatus } from './tables/mcp-status.ts';
import { readFanoutSecret } from './tables/fanout-secret.ts';
import { createPairings } from './tables/statements/access/pairings.ts';
import { createTokens } from './tables/statements/access/tokens.ts';
import { createUsage } from './tables/statements/usage-sums.ts';
import { createUsageRows } from './tables/usage.ts';
import { createDueSchedules, createScheduleTable } from './tables/schedules.ts';
import { createScheduleRuns } from './tables/statements/schedules/schedule-runs.ts';
import { createScheduleSlots } from './tables/statements/schedules/schedule-slots.ts';

/** The open store. All its functions throw only `StoreError`. */
export interface Store {
  kind: 'postgres' | 'embedded';
  ledger: Ledger;
  lanes: LaneStore;
  subagents: SubagentStore;
  posts: PostStore;
  access: AccessStore;
  groupChats: GroupChatStore;
  questions: QuestionStore;
  memories: MemoryStore;
  memoryVectors: MemoryVectorStore;
  contexts: ContextStore;
  approvals: ApprovalStore;
  administration: AdministrationStore;
  journals: WorkStore;
  forks: ForkStore;
  tries: TryStore;
  surfaces: SurfaceStore;
  webhooks: WebhookStore;
  waiting: WaitingStore;
  plans: PlanStore;
  todos: TodoStore;
  scratchpad: ScratchpadStore;
  usage: UsageStore & UsageSums;
  schedules: ScheduleStore;
  moves: ChatMigrationStore;
  connections: ConnectionStore;
  updates: UpdateStore;
  chatSettings: ChatSettingStore;
  folders: RemovedFolders;
  keptFiles: KeptFiles;
  choices: ChoiceStore;
  mcp: McpStatusStore;
  traces: TraceStore;
  people: PersonStore;
  signIns: SignInStore;
  responses: ResponseStore;
  retention: RetentionStore;
  nodes: NodeReportStore;
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

/**
 * Connections used only for notes of platform ids: a crash between a platform's answer and its note doubles the
 * message.
 */
const NOTE_CONNECTIONS = 1;

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
  }: UseOptions & { migrate: boolean },
): Promise<Store> {
  progress?.step('Preparing the tables…');
  if (migrate) await migrateDatabase(place, { retryForMs, progress });
  const database = openDatabase({ ...place, poolSize, retryForMs });
  const notes = openDatabase({ ...place, poolSize: NOTE_CONNECTIONS, retryForMs });
  const parts = storesOf(database, notes, newSessions);
  const dump = () => dumpDatabase(place);
  const close = async (): Promise<void> => {
    await Promise.all([notes.close(), database.close()]);
  };
  const isEmbedded = place.socketPath !== undefined;
  if (isEmbedded && !isShared) return { kind: 'embedded', ...parts, dump, close };
  const fanout = createFanout(place, log);
  return {
    kind: isEmbedded ? 'embedded' : 'postgres',
    ...parts,
    dump,
    ...(!isEmbedded && { files: createFileStore(database) }),
    fanout,
    async close() {
      await fanout.close();
      await close();
    },
  };
}

/** The stores over the connections of a database; `notes` = those for platform ids alone. */
function storesOf(database: Database, notes: Database, newSessions: SessionStart | undefined) {
  return {
    ledger: createLedger(database, notes, newSessions),
    lanes: createLanes(database),
    subagents: createSubagentStore(database),
    posts: createPosts(database, newSessions),
    access: { ...createGrants(database), ...createPairings(database), ...createTokens(database) },
    groupChats: createGroupChats(database),
    questions: createQuestions(database),
    memories: createMemories(database),
    memoryVectors: createMemoryVectors(database),
    contexts: createContexts(database),
    approvals: createApprovalStore(database),
    administration: createAdministrationStore(database),
    journals: createJournals(database),
    forks: createForks(database),
    tries: createTries(database),
    surfaces: createSurfaces(database),
    webhooks: createWebhookFacts(database),
    waiting: createWaiting(database),
    plans: createPlans(database),
    todos: createTodos(database),
    scratchpad: createScratchpad(database),
    usage: createUsage(database, createUsageRows(database)),
    schedules: {
      ...createScheduleTable(database),
      ...createDueSchedules(database),
      ...createScheduleSlots(database),
      ...createScheduleRuns(database),
    },
    moves: createChatMigrationStore(database),
    connections: createConnections(database),
    updates: createUpdates(database),
    chatSettings: createChatSettings(database),
    folders: createRemovedFolders(database),
    keptFiles: createKeptFiles(database),
    choices: createChoices(database),
    mcp: createMcpStatus(database),
    traces: createTraceStore(database),
    people: createPeople(database),
    signIns: createSignIns(database),
    responses: createStoredResponses(database),
    retention: createRetentionStore(database),
    nodes: createNodeReports(database),
    fanoutSecret: () => readFanoutSecret(database),
  };
}
