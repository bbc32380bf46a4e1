/** What the gateway's API is made from. */
import type { Channel } from '../../protocol/channel.ts';
import type { AccessPolicy } from '../../protocol/access.ts';
import type { Approvals } from '../../protocol/agent/approvals.ts';
import type { DescribedModel } from '../../protocol/agent/provider.ts';
import type { EventBus, MessageBus } from '../../protocol/bus.ts';
import type { Command } from '../../protocol/command.ts';
import type { FileLimits, FileTypeOf, PersonLimit } from '../../protocol/file-api.ts';
import type { KeptFiles } from '../../protocol/media.ts';
import type { GatewayApi } from '../../protocol/gateway-api.ts';
import type { ContextStore } from '../../protocol/store/accept.ts';
import type { Ledger } from '../../protocol/store/ledger.ts';
import type { NoteDeleted } from '../../protocol/store/group-chats.ts';
import type { FollowChatMigration, NoteMembership } from '../../protocol/message.ts';
import type { PlanStore } from '../../protocol/agent/plan-store.ts';
import type { Receive } from '../../protocol/receive.ts';
import type { SessionRecord, TryStore } from '../../protocol/store/records.ts';
import type { ForkStore, WaitingStore } from '../../protocol/sessions/conversation-api.ts';
import type { WorkStore } from '../../protocol/sessions/turn-work.ts';
import type { SubagentStore } from '../../protocol/agent/subagents.ts';
import type { NoteRefusal, TurnExplanation } from '../../protocol/store/traces.ts';
import type { MemoryStore, TodoStore } from '../../protocol/store/notes.ts';
import type { SessionFiles } from '../../protocol/agent/tool.ts';
import type { Schedules } from '../../protocol/schedules.ts';
import type { Prices, UsageStore } from '../../protocol/agent/usage.ts';
import type { Say } from '../../protocol/texts/say.ts';
import type { CommandDeps } from '../commands/commands.ts';
import type { CheckTokenBudget } from '../limits/token-budget.ts';
import type { LaneStore } from '../../protocol/store/lanes.ts';
import type { ChangePlanDeps } from '../plans/change-plan.ts';
import type { LinkDeps } from '../surfaces/links.ts';
import type { NewSessionDeps } from '../sessions/new-session.ts';
import type { SessionModelDeps } from '../sessions/session-model.ts';

export interface GatewayApiDeps extends Pick<
  LinkDeps,
  'surfaces' | 'labelOf' | 'networks' | 'isGroupAdmin' | 'languages' | 'log'
> {
  receive: Receive;
  suggest: GatewayApi['suggest'];
  chatMoved: FollowChatMigration;
  membershipChanged: NoteMembership;
  messagesDeleted: NoteDeleted;
  commands: readonly Command[];
  turnConcurrency: number;
  signIns: GatewayApi['signIns'];
  responses: GatewayApi['responses'];
  hooks: GatewayApi['hooks'];
  /** A channel, if its platform posts anything. */
  platform(channel: string): Pick<Channel, 'webhook' | 'interactions'> | undefined;
  lanes: Pick<LaneStore, 'stop'>;
  subagents: Pick<SubagentStore, 'working'>;
  bus: Pick<MessageBus, 'notifyStop' | 'sweepSoon' | 'claimingNode' | 'runHeads'>;
  accessPolicy: Pick<AccessPolicy, 'authenticate' | 'recheck' | 'groups' | 'mayWrite'>;
  ledger: Ledger;
  events: EventBus;
  approvals: Approvals;
  journals: WorkStore;
  contexts: Pick<ContextStore, 'resets'>;
  forks: ForkStore;
  tries: TryStore;
  waiting: WaitingStore;
  plans: PlanStore;
  classify: ChangePlanDeps['classify'];
  todos: Pick<TodoStore, 'todos'>;
  memories: Pick<MemoryStore, 'memories' | 'deleteMemories'>;
  files: Pick<SessionFiles, 'remove' | 'put' | 'read' | 'list' | 'discard' | 'copy'>;
  fileLimits: FileLimits;
  filesPerPerson: PersonLimit;
  keptFiles: Pick<KeptFiles, 'keptBytes' | 'bytesIn' | 'keep' | 'drop'>;
  fileTypeOf: FileTypeOf;
  schedules: Schedules;
  usage: UsageStore;
  /** What models cost now. */
  prices: () => Prices;
  checkTokenBudget: CheckTokenBudget;
  profiles: NewSessionDeps['profiles'];
  /** Completions without a session. */
  agent: Pick<GatewayApi, 'complete' | 'embed'> & {
    describeModel(
      choice: { profileId?: string; model?: string },
      signal: AbortSignal,
    ): Promise<DescribedModel>;
    /** Throws `FieldError` for an option that the model cannot honor. */
    checkOptions(
      asked: Omit<Parameters<GatewayApi['checkOptions']>[1], 'key'> & {
        session: SessionRecord | undefined;
      },
      signal: AbortSignal,
    ): Promise<void>;
  };
  audio: GatewayApi['audio'];
  models: {
    list(signal: AbortSignal): Promise<string[]>;
    describe: CommandDeps['defaultModel'];
    resolve: GatewayApi['resolveModel'];
    /** Throws `GatewayError` when no model can answer under that profile and waiting would not help. */
    checkProfile(id: string, signal: AbortSignal): Promise<void>;
  } & SessionModelDeps['models'];
  boundTo: SessionModelDeps['boundTo'];
  /** What happened to a turn; `detail` adds the text of errors. */
  explainTurn(turnId: string, detail: boolean, say?: Say): Promise<TurnExplanation | undefined>;
  noteRefusal: NoteRefusal;
  noteRequest: GatewayApi['noteRequest'];
  health: GatewayApi['health'];
  metrics: () => Promise<string>;
  settings: GatewayApi['settings'];
  administration: GatewayApi['administration'];
}
