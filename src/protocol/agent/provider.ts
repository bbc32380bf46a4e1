/** What the agent may request from any model server, and what API callers may request for an answer. */
import { z } from 'zod';
import type { Picture } from '../media.ts';
import type { ModelOmissions, Omission } from './omissions.ts';

/** How much a model thinks before it answers, in OpenAI's terms. */
export const REASONING_EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const;

/** Any JSON Schema; the provider passes it on, `lib/json/json-schema.ts` checks answers against it. */
const jsonSchema = z.record(z.string(), z.unknown());

const answerFormat = z.discriminatedUnion('type', [
  z.object({ type: z.literal('json_object') }),
  z.object({
    type: z.literal('json_schema'),
    name: z.string(),
    description: z.string().optional(),
    schema: jsonSchema,
    strict: z.boolean().optional(),
  }),
]);

/** `required`: any of the tools must be called; a name: that one. Absent = the model decides. */
const toolChoice = z.union([z.literal('required'), z.object({ name: z.string() })]);

/** Options of one model call. */
export const answerOptions = z.object({
  temperature: z.number().optional(),
  topP: z.number().optional(),
  /** Only the most likely tokens are drawn from; 0 or -1 = all. */
  topK: z.number().optional(),
  /** Only tokens at least this likely, relative to the likeliest one. */
  minP: z.number().optional(),
  typicalP: z.number().optional(),
  /** Makes tokens of the last `repeatLastN` less likely; 1 = not at all. */
  repeatPenalty: z.number().optional(),
  repeatLastN: z.number().optional(),
  /** The version of Mirostat that draws the tokens; 0 = none. */
  mirostat: z.number().optional(),
  mirostatTau: z.number().optional(),
  mirostatEta: z.number().optional(),
  maxTokens: z.number().optional(),
  /** Texts that end the answer; they are not part of it. */
  stop: z.array(z.string()).optional(),
  seed: z.number().optional(),
  presencePenalty: z.number().optional(),
  frequencyPenalty: z.number().optional(),
  /** Added to the likelihood of tokens, by token id. */
  logitBias: z.record(z.string(), z.number()).optional(),
  reasoningEffort: z.enum(REASONING_EFFORTS).optional(),
  /** Ask for extended reasoning (N-31); a model without it gets a plain request. `reasoningEffort` wins. */
  think: z.boolean().optional(),
  format: answerFormat.optional(),
  toolChoice: toolChoice.optional(),
  /** False: at most one tool call in an answer. */
  parallelToolCalls: z.boolean().optional(),
});

/** A tool as the model sees it; `parameters` is JSON Schema. */
export const toolSchema = z.object({
  name: z.string(),
  description: z.string(),
  parameters: jsonSchema,
  /** The arguments must match `parameters`: a call that does not is an error. */
  strict: z.boolean().optional(),
});

/** What a caller requests besides the messages. */
export const callerOptions = answerOptions.extend({
  /** The caller's system messages, joined; they follow the profile's own prompt. */
  instructions: z.string().optional(),
  /** Tools that the caller runs itself. The list, even an empty one, replaces the gateway's tools. */
  tools: z.array(toolSchema).optional(),
  /** With `tools`: the gateway's own tools are offered in addition. */
  gatewayTools: z.boolean().optional(),
});

export type AnswerOptions = z.infer<typeof answerOptions>;
export type CallerOptions = z.infer<typeof callerOptions>;
export type AnswerFormat = NonNullable<AnswerOptions['format']>;
export type ToolSchema = z.infer<typeof toolSchema> & {
  server?: string | undefined;
};

/** Fields of a server's answer that nobody here reads; they go back to it as they came. */
export type OpaqueFields = Readonly<Record<string, unknown>>;

/**
 * What a server sent with an answer and wants back: thoughts with their field, signatures, encrypted blocks. No other
 * server or model gets it, nor the `extra` fields of the answer's calls.
 */
export interface Echo {
  /** Who sent it, `<provider>/<model>`; undefined for a history that a caller sent: the model that it asks. */
  from?: string | undefined;
  /** The field of the thoughts, if the server wants those of earlier turns, too. */
  thoughtField?: string | undefined;
  fields?: OpaqueFields | undefined;
}

/** A call the model requests. */
export interface ToolCall {
  id: string;
  name: string;
  /** Already an object, never text; never nested deeper than `MAX_JSON_DEPTH`. */
  args: Record<string, unknown>;
  /** The original text of arguments that were no object, or nested too deeply: the tool is not run. */
  malformed?: string | undefined;
  /** Further fields of the call, such as Gemini's signature of the thought behind it. */
  extra?: OpaqueFields | undefined;
  /** The model made it through `use_tool`, and reads it so in its history; everyone else sees the tool itself. */
  viaUseTool?: true | undefined;
}

/** One message of a model's context. Tool results name the call they answer. */
export type ChatMessage =
  | { role: 'system'; content: string }
  /** `pictures` are references (`Pictures`); only `images` are sent, to models that see. `more` is what follows them. */
  | {
      role: 'user';
      content: string;
      pictures?: readonly string[] | undefined;
      images?: readonly Picture[] | undefined;
      more?: readonly (string | Picture)[] | undefined;
    }
  | {
      role: 'assistant';
      content: string;
      thinking?: string | undefined;
      toolCalls?: ToolCall[] | undefined;
      echo?: Echo | undefined;
    }
  | { role: 'tool'; content: string; toolCallId: string; toolName: string };

export interface ChatRequest extends AnswerOptions {
  model: string;
  messages: readonly ChatMessage[];
  /** The schemas of the gateway's own tools are prepared once per profile. */
  tools?: readonly ToolSchema[];
  /** Report the likelihood of each token, with that many alternatives. */
  topLogprobs?: number | undefined;
  /** Send tool schemas in their simplest form, to a server that has refused the usual one. */
  reducedSchemas?: boolean;
  /** False: thoughts and opaque fields of earlier answers are left out. Default true. */
  echo?: boolean;
  /** The window for this call, in tokens: always the same for a model, so that it is never reloaded. */
  contextWindow: number;
  /** Whose call this is, as a user id: users take turns for slots, however many sessions they have. */
  userId?: string;
  /** Called once if the call must wait for a slot, with the number of calls ahead of it. */
  onQueued?: (ahead: number) => void;
  /** Awaited when a waiting call gets its slot, before it is sent; if it throws, the call ends with that error. */
  onPlace?: () => Promise<void>;
  /** Called once, when the answer begins, with the parts that its server was not sent because it refuses them. */
  onOmissions?: (omissions: readonly Omission[]) => void;
}

/** Tokens and model time of one call. From a provider, zero means that the server did not say. */
export interface Usage {
  promptTokens: number;
  completionTokens: number;
  /** Milliseconds the model worked, as reported by the server, else the duration of the call. */
  modelMs: number;
  /** The server did not report all of the tokens: they are estimated. */
  estimated?: true | undefined;
}

/**
 * Why an answer ended: on its own, at its token limit, with tool calls, by a content filter, or with a refusal of the
 * model (the text, if any, is the refusal).
 */
export type FinishReason = 'stop' | 'length' | 'tool_calls' | 'content_filter' | 'refusal';

/** The likelihood of one token of an answer, with those of the requested alternatives. */
export interface TokenLogprob {
  token: string;
  /** Natural logarithm of the probability. */
  logprob: number;
  /** UTF-8 bytes of the token; null if the server does not say. */
  bytes: number[] | null;
  top: Omit<TokenLogprob, 'top'>[];
}

/** A piece of an answer. `done` occurs exactly once and last; a stream that ends without it is `bad_response`. */
export type ChatChunk =
  | { type: 'text'; delta: string; logprobs?: TokenLogprob[] | undefined }
  | { type: 'thinking'; delta: string }
  /** All text of this answer so far was thinking: its end was marked, but not its beginning. At most once. */
  | { type: 'text_was_thinking' }
  | { type: 'tool_call'; call: ToolCall }
  | {
      type: 'done';
      finishReason: FinishReason;
      usage: Usage;
      echo?: Echo | undefined;
      /** The server's word for the end of the answer, when it is not a known one: it counts as `stop`. */
      unknownReason?: string | undefined;
    };

/** The collected stream: the same answer in one piece (B-10). */
export interface LLMResponse {
  content: string;
  thinking: string;
  toolCalls: ToolCall[];
  finishReason: FinishReason;
  usage: Usage;
  echo?: Echo | undefined;
  /** The server's word for the end of the answer, when it is not a known one. */
  unknownReason?: string | undefined;
}

/** What a model can do; `contextWindow` is the largest the server would give it, in tokens. */
export interface ModelCapabilities {
  contextWindow: number;
  /** `contextWindow` is a guess, because the server does not report it; a profile's own value may override it (B-30). */
  windowGuessed?: boolean | undefined;
  tools: boolean;
  thinking: boolean;
  /** It supports thinking effort levels, not only yes or no. */
  thinkingLevels?: boolean | undefined;
  vision: boolean;
  /** False for a model that cannot chat, such as one for vectors only; undefined if the server does not say. */
  chat?: boolean | undefined;
  /** It makes vectors of texts; absent if it does not, or the server does not say. */
  embeds?: true | undefined;
  /** Parts of requests that are left out now because the server refused them; absent if there are none. */
  omissions?: readonly Omission[] | undefined;
  /** Options the server does not know: it would silently ignore them in a call. */
  unsupported?: readonly (keyof AnswerOptions)[] | undefined;
}

/** The model that answers to a name, and what it can do. */
export interface DescribedModel {
  name: string;
  capabilities: ModelCapabilities;
}

/** Texts to turn into vectors. */
export interface EmbedRequest {
  model: string;
  input: readonly string[];
  /** Length of the vectors, for models that can shorten theirs. */
  dimensions?: number | undefined;
  /** Whose call this is: calls waiting for a slot take turns by user. */
  userId?: string | undefined;
}

/** One vector per text, in the same order; `promptTokens` is 0 if the server does not say. */
export interface Embeddings {
  vectors: number[][];
  promptTokens: number;
}

/**
 * The chats of a model server. Every method throws only `ProviderError`. When `signal` aborts, the connection closes at
 * once, also during a silent prefill, with code `aborted`.
 */
export interface ChatProvider {
  readonly name: string;
  /** Names of the server's models; of several servers all that answer, or, with `like`, those of that model's server. */
  models(signal: AbortSignal, like?: string): Promise<string[]>;
  capabilities(model: string, signal: AbortSignal): Promise<ModelCapabilities>;
  streamChat(request: ChatRequest, signal: AbortSignal): AsyncIterable<ChatChunk>;
  /** What the servers are not sent now because they refuse it, by model. Never throws. Absent: nothing ever is. */
  omissions?(): readonly ModelOmissions[];
  close(): Promise<void>;
}

/** A model server. */
export interface LLMProvider extends ChatProvider {
  /** Vectors of texts, under the same rules. A text that is too long for the model is an error, never cut. */
  embed(request: EmbedRequest, signal: AbortSignal): Promise<Embeddings>;
}

/** A model, and the variable or field that names it. */
export interface NamedModel {
  place: string;
  model: string;
}

export interface ModelReport {
  model: string;
  /** Names that no server has, each as a sentence that starts with the variable or field and says what to do. */
  missing: readonly string[];
  /** What the default model's small window costs, and what to do; undefined while it is large enough, or unknown. */
  smallWindow?: string | undefined;
}

/** The model that answers for another one, or for itself. */
export interface WhoAnswers {
  answering: string;
  /** Why another one answers, as the end of "the model …"; undefined if none does. */
  reason: string | undefined;
  /** Whether it can call tools; undefined while its server does not say. */
  tools: boolean | undefined;
  /** Parts of requests that are left out now because its server refused them. */
  omissions: readonly Omission[];
}

/** A model that did not answer when last used, and the one that answers instead; '' = the usual model. */
export interface ReplacedModel {
  model: string;
  instead: string;
  /** As the end of "the model …". */
  reason: string;
}
