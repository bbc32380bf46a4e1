/** How a fake Ollama answers one chat: the script a test writes, and the NDJSON lines it becomes. */
import type { ChatBody } from './request.ts';

export interface FakeToolCall {
  name: string;
  /** An object on the real server; anything else is malformed. */
  args: unknown;
  id?: string;
}

/** An injected failure, after `after` content lines. */
export type Failure =
  /** An answer with this status instead of a stream. */
  | { kind: 'status'; status: number; error: string; html?: boolean }
  /** The connection dies before a single byte. */
  | { kind: 'reset' }
  /** `{"error": …}` under status 200, then the end. */
  | { kind: 'error_line'; after: number; error: string }
  /** The connection dies. */
  | { kind: 'cut'; after: number }
  /** These bytes appear where a line should, and the stream continues. */
  | { kind: 'bytes'; after: number; bytes: string | Uint8Array }
  /** The stream ends properly, but without its done line. */
  | { kind: 'no_done'; after: number }
  /** Nothing more arrives and the connection stays open until the caller leaves or `release()`. */
  | { kind: 'hang'; after: number }
  /** The whole answer arrives, but its HTTP body does not end until the caller leaves or `release()`. */
  | { kind: 'linger' };

export interface Reply {
  /** One token per entry; a string is split at words. */
  text?: string | readonly string[];
  thinking?: string | readonly string[];
  toolCalls?: readonly FakeToolCall[];
  /** Where tool calls go: in `done:false` lines (rendered path, default) or only in the done line (native path). */
  toolCallsIn?: 'chunk' | 'done';
  /** Tokens per second; all at once if absent. */
  perSecond?: number;
  /** Silence, not even headers, until `release()`: a prefill. */
  hold?: boolean;
  doneReason?: 'stop' | 'length' | 'load' | 'unload';
  completionTokens?: number;
  failure?: Failure;
  eol?: '\n' | '\r\n';
  /** Fields no client knows, on every line. */
  extra?: Record<string, unknown>;
  /** Cuts the whole stream into the packets it travels in; for replies without `perSecond`. */
  packets?: (wire: Buffer) => Buffer[];
}

/** A reply, its text alone, or a function that makes one from the request. */
export type Answer = string | Reply | ((body: ChatBody) => string | Reply);

/** One line and the bytes after it; a function is called when it is due. */
export type Line = string | Uint8Array | (() => string);

export function toReply(answer: Answer, body: ChatBody): Reply {
  const given = typeof answer === 'function' ? answer(body) : answer;
  return typeof given === 'string' ? { text: given } : given;
}

/** Splits text after its blanks: `'a b'` is `['a ', 'b']`. */
export function wordTokens(text: string | readonly string[] | undefined): readonly string[] {
  return typeof text === 'string' ? (text.match(/\S+\s*|\s+/g) ?? []) : (text ?? []);
}

/** The lines before the done line: thinking, then text, then tool calls. */
export function contentLines(model: string, reply: Reply): string[] {
  const eol = reply.eol ?? '\n';
  const extra = reply.extra === undefined ? '' : `,${JSON.stringify(reply.extra).slice(1, -1)}`;
  const head = `{"model":${JSON.stringify(model)},"created_at":"2026-01-01T00:00:00.000000Z","message":{"role":"assistant",`;
  const tail = `},"done":false${extra}}${eol}`;
  const thinking = wordTokens(reply.thinking).map(
    (token) => `${head}"content":"","thinking":${JSON.stringify(token)}${tail}`,
  );
  const text = wordTokens(reply.text).map((token) => `${head}"content":${JSON.stringify(token)}${tail}`);
  const calls = reply.toolCallsIn === 'done' ? [] : (reply.toolCalls ?? []);
  const called = calls.map(
    (call, index) => `${head}"content":"","tool_calls":[${JSON.stringify(wireCall(call, index))}]${tail}`,
  );
  return [...thinking, ...text, ...called];
}

/** The closing line with the counts; like the server, it leaves out zeros. */
export function doneLine(model: string, reply: Reply, promptTokens: number, totalMs: number): string {
  const tokens = reply.completionTokens ?? wordTokens(reply.thinking).length + wordTokens(reply.text).length;
  const calls = reply.toolCallsIn === 'done' ? (reply.toolCalls ?? []).map(wireCall) : [];
  const nanos = Math.max(1, Math.round(totalMs * 1e6));
  const line = {
    model,
    created_at: '2026-01-01T00:00:00.000000Z',
    message: { role: 'assistant', content: '', ...(calls.length > 0 && { tool_calls: calls }) },
    done: true,
    done_reason: reply.doneReason ?? 'stop',
    total_duration: nanos,
    load_duration: 1_000_000,
    ...(promptTokens > 0 && { prompt_eval_count: promptTokens, prompt_eval_duration: 2_000_000 }),
    ...(tokens > 0 && { eval_count: tokens, eval_duration: nanos }),
    ...reply.extra,
  };
  return `${JSON.stringify(line)}${reply.eol ?? '\n'}`;
}

function wireCall(call: FakeToolCall, index: number): object {
  return {
    ...(call.id !== undefined && { id: call.id }),
    function: { index, name: call.name, arguments: call.args },
  };
}
