/** Dependencies and limits of the agent. */
import {
  type AfterTurnSettings,
  BACKGROUND_SUBAGENT_MS,
  SUBAGENT_MS,
  type SubagentStore,
  type TurnWatch,
} from '../protocol/agent/subagents.ts';
import type { ApprovalStore } from '../protocol/agent/approvals.ts';
import type { Budgets } from '../protocol/agent/budgets.ts';
import type { EventBus, MessageBus } from '../protocol/bus.ts';
import type { EventBody } from '../protocol/event.ts';
import type { ContextStore } from '../protocol/store/accept.ts';
import type { LaneStore } from '../protocol/store/lanes.ts';
import type { Ledger } from '../protocol/store/ledger.ts';
import type { ContactStore, MirrorQuestion, LiveMessages, Post } from '../protocol/delivery.ts';
import type { TurnKnowledge } from '../protocol/knowledge.ts';
import type { Log } from '../protocol/log.ts';
import type { Address } from '../protocol/message.ts';
import type { AnswerFiles, Pictures, ReadInline, ReceiveFiles } from '../protocol/media.ts';
import type { MemoryStore, TodoStore } from '../protocol/store/notes.ts';
import type { Redact, TraceStore } from '../protocol/store/traces.ts';
import type { PlanStore } from '../protocol/agent/plan-store.ts';
import type { Profile } from '../protocol/agent/profile.ts';
import type { ChatProvider, LLMProvider } from '../protocol/agent/provider.ts';
import type { FileJournal, SessionFiles, Tool } from '../protocol/agent/tool.ts';
import type { Undoing } from '../protocol/sessions/undo.ts';
import type { ReplayStore } from '../protocol/agent/replays.ts';
import type { Settings } from '../protocol/settings.ts';
import type { ModelWindows, TokenScale } from './prompt/context-window.ts';
import type { BootstrapPrompt } from './prompt/bootstrap-files.ts';
import { createEnvironmentNote, type EnvironmentNoteDeps } from './prompt/environment-note.ts';
import type { Turn } from './turn/turn-state.ts';
import type { FallbackModels } from './model/fallback-models.ts';
import type { Models } from './model/models.ts';
import type { OmissionNotices, SmallWindowNotices } from './model/notices.ts';
import type { Prepare } from './prompt/prepared-profile.ts';
import type { ToolLists } from './replay/tool-lists.ts';
import type { PersonLanguages } from '../protocol/texts/languages.ts';

/** Receives the events of a turn, in order. Never throws, never waits. */
export type Emit = (event: EventBody) => void;

/** Time limits, in milliseconds. */
export interface AgentLimits {
  /** Longest silence before a model's first chunk (N-61, `LLM_STREAM_FIRST_CHUNK_TIMEOUT`). */
  firstChunkMs: number;
  /** Silence before the first chunk after which the user hears, once in a turn, that the model has not begun. */
  slowMs: number;
  /** The same as `firstChunkMs` for a call that waits in a queue first. */
  queuedMs: number;
  /** Longest silence between two chunks (N-62, `LLM_STREAM_CHUNK_TIMEOUT`). */
  chunkMs: number;
  /** Longest run of one tool call. */
  toolMs: number;
  /** Longest run of a subagent while its turn waits, and in the background. */
  subagentMs: number;
  backgroundMs: number;
  /** Longest wait for an unavailable model server, before the turn fails with a text for the user. */
  modelWaitMs: number;
  /** First pause before such a server is tried again; doubles up to `RETRY_CAP_MS`. */
  retryBaseMs: number;
  /** How long a dangerous call waits for a human before it counts as denied. */
  approvalMs: number;
  /** After which time without a decision another owner's chat is asked, too; 0 = never. */
  escalateMs: number;
  /** How long a question to another person waits for the answer. */
  answerMs: number;
  /** How long the model may take for the title of a session; after it the first words are the title. */
  titleMs: number;
  /** Longest replay of a turn. */
  replayMs: number;
}

export const DEFAULT_LIMITS: AgentLimits = {
  firstChunkMs: 120_000,
  slowMs: 20_000,
  queuedMs: 15 * 60_000,
  chunkMs: 60_000,
  toolMs: 60_000,
  subagentMs: SUBAGENT_MS,
  backgroundMs: BACKGROUND_SUBAGENT_MS,
  modelWaitMs: 30_000,
  retryBaseMs: 500,
  approvalMs: 60 * 60_000,
  escalateMs: 5 * 60_000,
  answerMs: 4 * 60 * 60_000,
  titleMs: 30_000,
  replayMs: 10 * 60_000,
};

/** Longest pause between two tries to reach the model server, in milliseconds. */
export const RETRY_CAP_MS = 5_000;
/** Tool calls of one model answer that are run; the others get an error result. */
export const MAX_CALLS_RUN = 16;
/** Tool calls of one model answer that are kept. */
export const MAX_CALLS_KEPT = 256;
/** Longest model answer, text and thinking together, in UTF-16 units; a longer one is cut off with a mark. */
export const MAX_ANSWER_CHARS = 256 * 1024;
/** Longest tool result that the model reads, in UTF-16 units; a longer one keeps its head and tail. */
export const MAX_RESULT_CHARS = 16_000;

/** What the configuration sets for turns. */
export interface TurnSettings {
  /** Those that it sets; the others are `DEFAULT_LIMITS`. */
  limits: Partial<AgentLimits>;
  /** Name of the time zone in which dates are given. */
  timeZone: string;
  /** Which workers run after a turn. */
  afterTurn: AfterTurnSettings;
  /** Answers can be spoken. */
  speaks: boolean;
}

/** What the agent reads and writes in the database. */
export interface AgentStores {
  ledger: Ledger;
  subagents: SubagentStore;
  lanes: LaneStore;
  approvals: ApprovalStore;
  plans: PlanStore;
  memories: MemoryStore;
  contexts: ContextStore;
  todos: TodoStore;
  contacts: Pick<ContactStore, 'contact'>;
  replays: Pick<ReplayStore, 'keepTools'>;
}

/** Files: those of messages and sessions, and those that models see. */
export interface AgentMedia {
  /** Fetches and reads the files of messages. */
  receiveFiles: ReceiveFiles;
  /** Pictures for models that can see. */
  pictures: Pictures;
  /** Reads the files of a completion without a session. */
  readInline: ReadInline;
  /** Keeps the files that an answer shows. */
  answerFiles: AnswerFiles;
  /** The folders of the sessions' files. */
  files: SessionFiles;
  /** What was in them before calls. */
  journal: FileJournal;
}

/** What people see of a turn while it runs, and in which language. */
export interface AgentChats {
  events: EventBus;
  live: LiveMessages;
  /** Sends a message of the gateway in the middle of a turn. */
  post: Post;
  /** Shows a question in the other chats of its session, once each. Throws only `StoreError`. */
  mirrorQuestion: MirrorQuestion;
  languages: PersonLanguages;
}

/** Everything the agent needs from other modules; the composition root supplies it. */
export interface AgentDeps {
  stores: AgentStores;
  media: AgentMedia;
  chats: AgentChats;
  provider: ChatProvider;
  embed: LLMProvider['embed'];
  /** Resolves the names of models and profiles. */
  models: Models;
  /** The lanes of background subagents on this node. */
  background: Pick<MessageBus, 'claimingNode' | 'runHeads' | 'sweepSoon'>;
  /** The private chats of owners who have written to the bot. Throws only `StoreError`. */
  ownerChats: () => Promise<Address[]>;
  /** True for the user id of an owner. Throws only `StoreError`. */
  isOwner: (userId: string) => Promise<boolean>;
  /** Finishes the undo of a session that was begun and interrupted. Throws only `StoreError`. */
  finishUndo: Undoing['finish'];
  budgets: Budgets;
  /** Documents that chats search, and what their answers cite. */
  knowledge: Pick<TurnKnowledge, 'has' | 'cited'>;
  /** All tools as they are now; the same list until one is added, changed or removed. */
  tools(): readonly Tool[];
  /** The profiles as they are now; one is called `default`. A reloaded profile is a new object. */
  profiles(): readonly Profile[];
  /** Folder of the bootstrap files (AGENTS.md and others) and `skills/`; undefined = there is none. */
  workspaceDir?: string | undefined;
  /** The clock, and the networks' names for people. */
  environmentNote: EnvironmentNoteDeps;
  /** The settings as they are now; the same object until they change. */
  settings: Pick<Settings<TurnSettings>, 'current'>;
  /** Follows the turns that run, and keeps attempts after which a turn continues later. */
  traces: TurnWatch & Pick<TraceStore, 'noteAttempt'>;
  /** Takes secrets out of a text that is kept for the trace. */
  redact: Redact;
  log: Log;
}

/** What is remembered about models and conversations between calls, in bounded memory. */
export interface ModelState {
  scale: TokenScale;
  /** How large a window each model is asked for. */
  windows: ModelWindows;
  fallbacks: FallbackModels;
  smallWindow: SmallWindowNotices;
  omissionNotices: OmissionNotices;
  toolLists: ToolLists;
}

/** What prompts are made of. */
export interface AgentPrompts {
  /** The bootstrap files as they are now. */
  bootstrapPrompt(): Promise<BootstrapPrompt>;
  /** When and where a turn takes place, for the model. */
  environmentNoteOf(turn: Turn): string;
  /** The prompt and tools of a profile, prepared at its first use. */
  prepare: Prepare;
  /** The profile of a subagent whose parent has these tools. */
  forSubagent(profile: Profile, tools: ReadonlySet<string>): Profile;
}

/** What all turns and completions of an agent share: its dependencies, and what it has made of them. */
export interface AgentShared extends AgentDeps {
  limits: AgentLimits;
  modelState: ModelState;
  prompts: AgentPrompts;
}

/** What turns share, at one moment: settings and profiles stay the same for its holder. */
export type CurrentShared = () => AgentShared;

/**
 * Makes the function that returns what turns that begin now share; the same object until the settings or the profiles
 * change.
 */
export function followSettings(shared: AgentShared): CurrentShared {
  let latest: { settings: unknown; profiles: unknown; current: AgentShared } | undefined;
  return () => {
    const settings = shared.settings.current();
    const profiles = shared.profiles();
    if (latest?.settings !== settings || latest.profiles !== profiles) {
      const environmentNoteOf = createEnvironmentNote(shared.environmentNote, settings.timeZone);
      const current: AgentShared = {
        ...shared,
        profiles: () => profiles,
        limits: { ...DEFAULT_LIMITS, ...settings.limits },
        prompts: { ...shared.prompts, environmentNoteOf },
      };
      latest = { settings, profiles, current };
    }
    return latest.current;
  };
}
