/** What the agent may ask of a model server, whoever makes it. */

/** A call the model asks for; `args` is an object already, never text. */
export interface ToolCall {
  id: string;
  name: string;
  args: Record<string, unknown>;
  /** Set when the model's arguments were not an object: the text as it came; the tool is not run. */
  malformed?: string | undefined;
}

/** One message of a model's context. Tool results name the call they answer. */
export type ChatMessage =
  | { role: 'system'; content: string }
  | { role: 'user'; content: string }
  | { role: 'assistant'; content: string; thinking?: string | undefined; toolCalls?: ToolCall[] | undefined }
  | { role: 'tool'; content: string; toolCallId: string; toolName: string };

/** A tool as the model sees it; `parameters` is JSON Schema, prepared once per profile. */
export interface ToolSchema {
  name: string;
  description: string;
  parameters: Record<string, unknown>;
}

export interface ChatRequest {
  model: string;
  messages: readonly ChatMessage[];
  tools?: readonly ToolSchema[];
  /** Ask for extended reasoning (N-31); a model without it is asked plainly. */
  think?: boolean;
  temperature?: number;
  /** Upper bound of tokens to make. */
  maxTokens?: number;
  /** The window the server must hold open for this call, in tokens; one value per model so that it is never reloaded. */
  contextWindow: number;
  /** Whose call this is: calls that wait for a place take turns by session. */
  sessionKey?: string;
  /** Hears once that the call must wait for a place, with the number of calls ahead of it. */
  onQueued?: (ahead: number) => void;
}

/** Tokens and model time of one call. From a provider, zero means that the server did not say. */
export interface Usage {
  promptTokens: number;
  completionTokens: number;
  /** Milliseconds the model worked: as the server tells, else as long as the call took. */
  modelMs: number;
  /** The server did not report all of the tokens: they are estimated. */
  estimated?: true | undefined;
}

/** A piece of an answer. `done` comes exactly once and last; a stream that ends without it is `bad_response`. */
export type ChatChunk =
  | { type: 'text'; delta: string }
  | { type: 'thinking'; delta: string }
  | { type: 'tool_call'; call: ToolCall }
  | { type: 'done'; finishReason: 'stop' | 'length' | 'tool_calls'; usage: Usage };

/** The collected stream: the same answer in one piece (B-10). */
export interface LLMResponse {
  content: string;
  thinking: string;
  toolCalls: ToolCall[];
  finishReason: 'stop' | 'length' | 'tool_calls';
  usage: Usage;
}

/** What a model can do; `contextWindow` is the largest the server would give it, in tokens. */
export interface ModelCapabilities {
  contextWindow: number;
  /** The server does not tell the window: `contextWindow` is a guess that a profile's own may beat (B-30). */
  windowGuessed?: boolean | undefined;
  tools: boolean;
  thinking: boolean;
  vision: boolean;
}

/**
 * A model server. Every method throws only `ProviderError`; once `signal` aborts, the
 * connection is closed at once, during a silent prefill too, and the call ends with code `aborted`.
 */
export interface LLMProvider {
  readonly name: string;
  /**
   * Names of the models the server has now. Where there are several servers: of all that answer, or, given `like`, of the
   * one that a model of that name belongs to.
   */
  models(signal: AbortSignal, like?: string): Promise<string[]>;
  capabilities(model: string, signal: AbortSignal): Promise<ModelCapabilities>;
  streamChat(request: ChatRequest, signal: AbortSignal): AsyncIterable<ChatChunk>;
  /** Lets go of pooled connections. Never throws. */
  close(): Promise<void>;
}
