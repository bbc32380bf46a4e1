/** What a turn did and when: recorded while it runs, stored at its end, read to explain a missing answer. */
import { createHash } from 'node:crypto';
import type { SessionKey } from '../message.ts';
import type { Cost } from '../agent/usage.ts';
import type { Omission } from '../agent/omissions.ts';
import type { ChatMessage, ChatRequest, Usage } from '../agent/provider.ts';
import { clipMiddle, estimateTokens } from '../../lib/text.ts';

/** Spans kept per attempt; further ones are only counted. */
export const MAX_SPANS = 200;
/** Longest text of a span, in UTF-16 units. */
export const MAX_SPAN_CHARS = 300;
/** Attempts kept per turn: the first ones. */
export const MAX_TRACE_ATTEMPTS = 20;
/** Kinds of refusals kept in total, the newest ones; none longer than finished messages. */
export const MAX_REFUSALS = 2_000;

/** Estimated tokens of the parts of one prompt. */
export interface PromptParts {
  system: number;
  tools: number;
  /** Earlier turns, as many as fit. */
  history: number;
  /** The message being answered, with the plan. */
  message: number;
  /** Answers and tool results of this turn so far. */
  steps: number;
  note: number;
}

/** A model call. Times are milliseconds since the attempt began. */
export interface ModelCallSpan {
  kind: 'model_call';
  atMs: number;
  /** Absent while it runs; the same for a tool. */
  ms?: number | undefined;
  /** Which answer of the turn, from 1; 0 for a call outside the conversation, which then has a title. */
  iteration: number;
  title?: string | undefined;
  /** Empty if unknown. */
  model: string;
  /** From the request to the first chunk; absent when none arrived. */
  firstTokenMs?: number | undefined;
  /** For a failed call, what it had cost by then. */
  usage?: Usage | undefined;
  prompt?: PromptParts | undefined;
  finishReason?: string | undefined;
  /** Parts that the server was not sent because it refuses them. */
  omissions?: readonly Omission[] | undefined;
  /** The code of the error that ended it, and its text, which may name addresses. */
  error?: { code: string; message: string } | undefined;
}

/** One thing that happened in a turn. */
export type TraceSpan =
  | ModelCallSpan
  | {
      kind: 'tool';
      atMs: number;
      ms?: number | undefined;
      name: string;
      callId: string;
      isError?: boolean | undefined;
    }
  /** The pause before a failed model call is repeated. */
  | { kind: 'retry'; atMs: number; ms: number; code: string }
  /** Anything else worth noting: a notice, a summary, joined messages, a plan. */
  | {
      kind: 'note';
      atMs: number;
      code: string;
      text: string;
      values?: NoteValues | undefined;
    };

/** For a note without a text: the values shown with its code. */
export type NoteValues = Readonly<Record<string, string | number>>;

/** Calls of a live message kept with their times: the first ones, and fewer edits, to leave room for refusals. */
export const MAX_LIVE_POINTS = 60;
export const MAX_LIVE_EDITS = 30;

/** One call of a live message. */
export interface LivePoint {
  /** From the delivery in epoch milliseconds; in an attempt, milliseconds since it began. */
  atMs: number;
  kind: 'sent' | 'edited' | 'refused' | 'failed';
  code?: string | undefined;
  retryAfterMs?: number | undefined;
}

/** Calls of a live message to its platform. */
export interface LiveCounts {
  sent: number;
  edited: number;
  /** Answered "too fast". */
  refused: number;
  failed: number;
  /** Absent in attempts of earlier versions. */
  points?: readonly LivePoint[] | undefined;
}

/** One run of a turn on one node: from a claim of its head to its end, a pause for a person, or a shutdown. */
export interface TraceAttempt {
  node: string;
  epoch: number;
  /** The turn had started before: on another node, before a restart, or before it was parked. */
  resumed?: boolean | undefined;
  /** The first turn with its question, if that was answered before: `/retry`, or *Answer again*. */
  askedAgain?: string | undefined;
  /** Failed attempts and deaths of nodes before this one. */
  attempts: number;
  crashes: number;
  /** Milliseconds from the acceptance of the message to the start of this attempt, by the database's clock. */
  afterMs: number;
  ms: number;
  profile: string;
  /** How it ended: a reason of the turn, `silent`, `parked` or `released`; `running` before that. */
  outcome: string;
  spans: TraceSpan[];
  /** Spans beyond `MAX_SPANS`. */
  dropped?: number | undefined;
  live?: LiveCounts | undefined;
  /** What the newest model call of the conversation was sent: the only personal text in it. */
  prompt?: SentPrompt | undefined;
}

/** What the store knows about a turn. Milliseconds in `…Ms` count from the acceptance of its message. */
export interface TurnFacts {
  turnId: string;
  session: SessionKey;
  address: string;
  state: 'queued' | 'running' | 'parked' | 'done';
  reason?: string | undefined;
  failure?: { code: string } | undefined;
  acceptedAt: Date;
  nowMs: number;
  endedMs?: number | undefined;
  /** It has a final text that people see. */
  answered: boolean;
  /** The turn that answered it, if its message was joined. */
  joinedInto?: string | undefined;
  /** Its place in the queue of its session. */
  queue: {
    /** Messages before it that are not finished. */
    ahead: number;
    /** The turn at the head, if it is a different one. */
    head?: { turnId: string; state: TurnFacts['state'] } | undefined;
    owner?: string | undefined;
    /** Milliseconds until the lane is due; 0 = it is. */
    dueInMs: number;
    attempts: number;
    crashes: number;
    error?: string | undefined;
    dead: boolean;
  };
  attempts: readonly TraceAttempt[];
  /** Answers in the journal, for calls whose attempt ended with its process. */
  answers: readonly { iteration: number; model?: string | undefined; usage?: Usage | undefined }[];
  approvals: readonly {
    atMs: number;
    decidedMs?: number | undefined;
    state: 'pending' | 'approved' | 'denied';
    by?: string | undefined;
    tool: string;
    expiresInMs: number;
  }[];
  /** The waiting calls of a client, while the turn waits for them. */
  waitsForCaller: boolean;
  /** The delivery of the answer; undefined over HTTP and before the turn ends. */
  delivery?:
    | {
        sentMs?: number | undefined;
        /** Deliveries to the chat before it. */
        ahead: number;
        attempts: number;
        waitedMs: number;
        dueInMs: number;
        owner?: string | undefined;
        error?: string | undefined;
        dead: boolean;
      }
    | undefined;
  /** Live gateways, and the turns they run. */
  gateways: number;
  running: number;
}

/** One line of a turn's timeline. */
export interface TimelineLine {
  /** Milliseconds since the message was accepted. */
  atMs: number;
  ms?: number | undefined;
  kind:
    | 'accepted'
    | 'begun'
    | 'model_call'
    | 'tool'
    | 'retry'
    | 'note'
    | 'live'
    | 'parked'
    | 'released'
    | 'approval'
    | 'delivery'
    | 'ended';
  text: string;
  isError?: boolean | undefined;
}

/** Why a message has the answer that it has, or none. */
export type WhyCode =
  | 'answered'
  | 'joined'
  | 'silent'
  | 'stopped'
  | 'interrupted'
  | 'failed'
  | 'dead_letter'
  | 'delivery_waits'
  | 'delivery_retried'
  | 'delivery_dead'
  | 'waits_for_approval'
  | 'waits_for_client'
  | 'queued_behind'
  | 'collecting'
  | 'no_room'
  | 'no_gateway'
  | 'retried'
  | 'running';

/** A turn for people: one sentence, and its timeline. */
export interface TurnExplanation {
  turnId: string;
  session: SessionKey;
  state: TurnFacts['state'];
  reason?: string | undefined;
  acceptedAt: Date;
  code: WhyCode;
  why: string;
  /** Of all its model calls that have a price. */
  cost?: Cost | undefined;
  timeline: TimelineLine[];
  /** What the newest model call was sent; absent before the first one. */
  prompt?: SentPrompt | undefined;
}

/** Messages that did not become turns, by sender, place and reason of the refusal. */
export interface Refusal {
  /** The chat: `channel:chat_id`, with its thread. */
  address: string;
  senderId: string;
  /** A code of `Receipt`, `not_mentioned` in a group, or `ignored` by its channel. */
  code: string;
  /** What the log says in addition. */
  detail: string;
  count: number;
  lastAt: Date;
}

/** Counts a message that did not become a turn. Never throws, never waits. */
export type NoteRefusal = (refusal: Omit<Refusal, 'count' | 'lastAt'>) => void;

/** Throws only `StoreError`. */
export interface TraceStore {
  /** Adds an attempt that ended without the turn; the last one is stored with the end of its turn. */
  noteAttempt(turnId: string, attempt: TraceAttempt): Promise<void>;
  /** Everything known about a turn; undefined when there is none with that id. */
  turnFacts(turnId: string): Promise<TurnFacts | undefined>;
  /** The newest turn of all, or of a session, also by the address of one of its chats. */
  newestTurn(id: string | undefined): Promise<{ turnId: string; acceptedAt: Date } | undefined>;
  /** Adds to the counts in one statement. */
  noteRefusals(refusals: readonly Refusal[]): Promise<void>;
  /** The newest refusals in a chat or of a session, or anywhere; newest first. */
  refusals(id: string | undefined, limit: number): Promise<Refusal[]>;
  /**
   * Deletes attempts and refusals older than this, at most `limit` of each, and refusals beyond `MAX_REFUSALS`; also the
   * definitions of tools that only such attempts refer to, and what abandoned evaluations had done.
   */
  purgeTraces(olderThanMs: number, limit: number): Promise<number>;
}

/** Longest stored text of one message, in UTF-16 units; longer for the system prompt. */
export const MAX_PROMPT_MESSAGE_CHARS = 1_500;

export const MAX_PROMPT_SYSTEM_CHARS = 32_000;

/** Stored messages after the system prompt: the newest ones. */
export const MAX_PROMPT_MESSAGES = 24;

/** Tools that are kept by name. */
export const MAX_PROMPT_TOOLS = 200;

/** One message of a prompt. */
export interface PromptMessage {
  role: ChatMessage['role'];
  /** Estimated tokens of the whole message. */
  tokens: number;
  /** Its text, with tool calls; for a long one the beginning and the end. */
  content: string;
  /** It was longer. */
  cut?: true;
}

/** What was sent to the model in the newest call of an attempt. */
export interface SentPrompt {
  /** Which answer of the turn, from 1. */
  iteration: number;
  model: string;
  messages: PromptMessage[];
  /** Messages between the system prompt and the kept ones. */
  omitted: number;
  tools: { name: string; tokens: number }[];
  /** Names the definitions of these tools among those that are kept (`ReplayStore.keepTools`); absent without tools. */
  toolsKey?: string | undefined;
  /** The tokens that the prompt and its answer could take up; absent in traces of earlier versions. */
  contextWindow?: number | undefined;
}

/** Replaces secrets in a text. Never throws. */
export type Redact = (text: string) => string;

/** The tools by the list that offers them: it is the same for all turns of a profile. */
const toolsByList = new WeakMap<readonly object[], Pick<SentPrompt, 'tools' | 'toolsKey'>>();

/** The prompt within its limits; `redact` sees every text before it is cut. Never throws. */
export function sentPrompt(
  { iteration, request }: { iteration: number; request: ChatRequest },
  redact: Redact,
): SentPrompt {
  const { model, messages, tools = [], contextWindow } = request;
  const system = messages[0]?.role === 'system' ? messages.slice(0, 1) : [];
  const others = messages.slice(system.length);
  const newest = others.slice(-MAX_PROMPT_MESSAGES);
  return {
    iteration,
    model,
    messages: [
      ...system.map((message) => promptMessage(message, MAX_PROMPT_SYSTEM_CHARS, redact)),
      ...newest.map((message) => promptMessage(message, MAX_PROMPT_MESSAGE_CHARS, redact)),
    ],
    omitted: others.length - newest.length,
    ...sentTools(tools),
    contextWindow,
  };
}

function sentTools(list: NonNullable<ChatRequest['tools']>): Pick<SentPrompt, 'tools' | 'toolsKey'> {
  const cached = toolsByList.get(list);
  if (cached !== undefined) return cached;
  const definitions = list.map((tool) => JSON.stringify(tool));
  const tools = list.slice(0, MAX_PROMPT_TOOLS).map(({ name }, at) => ({
    name,
    tokens: estimateTokens(definitions[at] ?? ''),
  }));
  const toolsKey = createHash('sha256').update(definitions.join('\n')).digest('hex');
  const result = list.length === 0 ? { tools } : { tools, toolsKey };
  toolsByList.set(list, result);
  return result;
}

function promptMessage(message: ChatMessage, chars: number, redact: Redact): PromptMessage {
  const text = textOf(message);
  const content = redact(text);
  const clipped = { role: message.role, tokens: estimateTokens(text), content: clipMiddle(content, chars) };
  return content.length > chars ? { ...clipped, cut: true } : clipped;
}

/** What the model reads in a message: its text, calls with their arguments, and how many pictures. */
function textOf(message: ChatMessage): string {
  switch (message.role) {
    case 'assistant': {
      const calls = (message.toolCalls ?? []).map(({ name, args }) => `${name}(${JSON.stringify(args)})`);
      return [message.content, ...calls].filter(Boolean).join('\n');
    }
    case 'user': {
      const pictures = message.images?.length ?? 0;
      return pictures === 0 ? message.content : `${message.content}\n[${pictures} × image]`;
    }
    case 'tool':
      return `${message.toolName}: ${message.content}`;
    default:
      return message.content;
  }
}
