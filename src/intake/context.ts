/** What the intake works with, as the composition root hands it over. */
import type { PluginStatus } from '../protocol/operator/plugins.ts';
import type { AccessPolicy } from '../protocol/access.ts';
import type { Profile } from '../protocol/agent/profile.ts';
import type { SubagentStore } from '../protocol/agent/subagents.ts';
import type { Channel, ChatSettingStore } from '../protocol/channel.ts';
import type { EventBus, MessageBus } from '../protocol/bus.ts';
import type { BoundTo, Command, Suggest } from '../protocol/command.ts';
import type { AskedQuestion, ContactStore } from '../protocol/delivery.ts';
import type { ErrorReader } from '../protocol/errors.ts';
import type { GatewayApi } from '../protocol/gateway-api.ts';
import type { Log } from '../protocol/log.ts';
import type { McpServerStatus } from '../protocol/agent/tool.ts';
import type { Address, InboundMessage, NoteMembership } from '../protocol/message.ts';
import type { WhoAnswers } from '../protocol/agent/provider.ts';
import type { ReplayStore } from '../protocol/agent/replays.ts';
import type { UsageStore } from '../protocol/agent/usage.ts';
import type { WebhookState } from '../protocol/operator/webhooks.ts';
import type { GroupChatStore, NoteDeleted, QuestionStore } from '../protocol/store/group-chats.ts';
import type { ClassifyStep } from '../protocol/agent/plan-edits.ts';
import type { Receive } from '../protocol/receive.ts';
import type { ForkStore, WaitingStore } from '../protocol/sessions/conversation-api.ts';
import type { DropSurface, SurfaceStore } from '../protocol/sessions/surfaces.ts';
import type { SessionRecord, TryStore } from '../protocol/store/records.ts';
import type { WorkStore } from '../protocol/sessions/turn-work.ts';
import type { Settings, SettingsReport } from '../protocol/settings.ts';
import type { ContextStore } from '../protocol/store/accept.ts';
import type { LaneStore } from '../protocol/store/lanes.ts';
import type { Ledger } from '../protocol/store/ledger.ts';
import type { MemoryStore, TodoStore } from '../protocol/store/notes.ts';
import type { PlanStore } from '../protocol/agent/plan-store.ts';
import type { NoteRefusal } from '../protocol/store/traces.ts';
import type { PersonLanguages } from '../protocol/texts/languages.ts';
import type { Say, TextRef } from '../protocol/texts/say.ts';
import type { Approvals, ApprovalStore, CheckArgs } from '../protocol/agent/approvals.ts';
import type { NamedSessions } from './hook-settings.ts';
import type { IntakeLimits } from './limits.ts';
import type { ThreadTalk } from './thread-talk.ts';
import type { LabelOf, LinkNetwork } from './surfaces/surface-text.ts';

/** The tables of the intake. Their functions throw only `StoreError`. */
export interface IntakeStore {
  lanes: LaneStore;
  approvals: ApprovalStore;
  plans: PlanStore;
  todos: TodoStore;
  memories: MemoryStore;
  questions: QuestionStore;
  waiting: WaitingStore;
  groupChats: GroupChatStore;
  surfaces: SurfaceStore;
  contacts: ContactStore;
  chatSettings: ChatSettingStore;
  subagents: SubagentStore;
  tries: TryStore;
  forks: ForkStore;
  contexts: ContextStore;
  journals: WorkStore;
  usage: UsageStore;
  replays: ReplayStore;
}

/** The models as people choose and see them. */
export interface IntakeModels {
  /** The model of a session that has this profile and names none, or why there is none. Never throws. */
  describe(profileId: string | undefined, reader: ErrorReader, say?: Say): Promise<string>;
  /** What is currently special about a model's answers, as ` (…)`; '' when nothing is. Never throws. */
  about(model: string, say: Say): Promise<string>;
  /** `default`, the profile ids, then the models. Throws `ProviderError`. */
  list(signal: AbortSignal): Promise<string[]>;
  resolve: GatewayApi['resolveModel'];
  /** Throws `GatewayError` when no model can answer under that profile and waiting would not help. */
  checkProfile(id: string, signal: AbortSignal): Promise<void>;
  /** Throws `ProviderError`, `StoreError`. */
  usual(profileId: string | undefined): Promise<{ model: string; from: 'profile' | 'gateway' }>;
  /** Never throws. */
  whoAnswers(model: string): Promise<WhoAnswers>;
}

/** How chats share a conversation. */
export interface ChatLinking {
  labelOf: LabelOf;
  networks: readonly LinkNetwork[];
  /** True when the platform gives this person the rights of an administrator in the group. Throws `GatewayError`. */
  isGroupAdmin(address: Address, senderId: string): Promise<boolean>;
  dropSurface: DropSurface;
}

/** What `/status` reports besides the session. */
export interface StatusReports {
  profileErrors(): readonly TextRef[];
  mcp(): readonly McpServerStatus[];
  plugins(): readonly PluginStatus[];
  settings(): SettingsReport;
  /** Outbound webhooks with waiting events. Throws only `StoreError`. */
  webhooks(): Promise<readonly WebhookState[]>;
  /** What should be changed on the channels' platforms. */
  channelNotices(): readonly TextRef[];
}

/** Opens a thread for a new conversation; undefined if the chat has none, `no_right` if the bot may not. Never throws. */
export type OpenThread = (chat: Address, name: string) => Promise<Address | 'no_right' | undefined>;

export interface IntakeOptions {
  store: IntakeStore;
  /** The store's, with bindings and metering. */
  ledger: Ledger;
  bus: MessageBus;
  events: EventBus;
  log: Log;
  monotonicNow: () => number;
  settings: Settings<{ limits: IntakeLimits } & NamedSessions>;
  accessPolicy: AccessPolicy;
  languages: PersonLanguages;
  profiles: () => readonly Profile[];
  models: IntakeModels;
  boundTo: BoundTo;
  agent: {
    classifyStep(profileId: string | undefined, step: Parameters<ClassifyStep>[0]): ReturnType<ClassifyStep>;
    checkArgs: CheckArgs;
    /** The chosen model, else the session's, and whether it can call tools (undefined while unknown). Never throws. */
    modelOf(
      session: SessionRecord | undefined,
      choice: { profileId?: string; model?: string },
    ): Promise<{ model: string; tools: boolean } | undefined>;
  };
  linking: Omit<ChatLinking, 'isGroupAdmin'>;
  channels: ReadonlyMap<string, Channel>;
  status: StatusReports;
  noteRefusal: NoteRefusal;
  /** Marks a question as waiting. Never throws. */
  noteWaiting: (question: AskedQuestion) => void;
  commands: readonly Command[];
}

/** The same, with what the intake makes of it once. */
export interface IntakeContext extends Omit<IntakeOptions, 'channels'> {
  linking: ChatLinking;
  openThread: OpenThread;
  threads: ThreadTalk;
  approvals: Approvals;
  /** Stores, for owners who name it later, in which chat a message was allowed. Throws only `StoreError`. */
  noteContact(message: InboundMessage): Promise<void>;
}

/** The intake as the composition root wires it. */
export interface Intake {
  context: IntakeContext;
  commands: readonly Command[];
  receive: Receive;
  suggest: Suggest;
  membershipChanged: NoteMembership;
  messagesDeleted: NoteDeleted;
}
