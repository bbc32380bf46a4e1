/** What the gateway's API is made from. */
import type { Channel } from '../../contracts/channel.ts';
import type { AccessPolicy } from '../../contracts/access.ts';
import type { Approvals } from '../../contracts/tools/approvals.ts';
import type { DescribedModel } from '../../contracts/model/provider.ts';
import type { EventBus, MessageBus } from '../../contracts/bus.ts';
import type { Command } from '../../contracts/command.ts';
import type { FileLimits, FileTypeOf, PersonLimit } from '../../contracts/file-api.ts';
import type { KeptFiles } from '../../contracts/media.ts';
import type { GatewayApi } from '../../contracts/gateway-api.ts';
import type { ContextStore } from '../../contracts/store/contexts.ts';
import type { Ledger } from '../../contracts/store/ledger.ts';
import type { NoteDeleted } from '../../contracts/platform/deleted-messages.ts';
import type { FollowChatMigration, NoteMembership } from '../../contracts/message.ts';
import type { PlanStore } from '../../contracts/store/plan-store.ts';
import type { Receive } from '../../contracts/receive.ts';
import type { SessionRecord } from '../../contracts/store/records.ts';
import type { ForkStore } from '../../contracts/sessions/fork.ts';
import type { TryStore } from '../../contracts/sessions/tries.ts';
import type { WaitingStore } from '../../contracts/sessions/waiting.ts';
import type { WorkStore } from '../../contracts/sessions/turn-work.ts';
import type { SubagentStore } from '../../contracts/agent/subagents.ts';
import type { NoteRefusal, TurnExplanation } from '../../contracts/store/traces.ts';
import type { MemoryStore, TodoStore } from '../../contracts/store/notes.ts';
import type { SessionFiles } from '../../contracts/tools/tool.ts';
import type { Schedules } from '../../contracts/schedules.ts';
import type { Prices } from '../../contracts/operator/prices.ts';
import type { UsageStore } from '../../contracts/model/usage.ts';
import type { Say } from '../../contracts/texts/say.ts';
import type { CommandDeps } from '../commands/commands.ts';
import type { CheckTokenBudget } from '../limits/token-budget.ts';
import type { LaneStore } from '../../contracts/store/lanes.ts';
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
