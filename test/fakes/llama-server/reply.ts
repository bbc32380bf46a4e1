/** How a fake llama-server answers one chat: the script a test writes, and the events it becomes. */
import { type LlamaBody, type LlamaError, promptTokens } from './request.ts';
import { wordTokens } from '../ollama/reply.ts';

/** An injected failure, after `after` tokens. */
export type LlamaFailure =
  /** An answer with this status and body instead of a stream. */
  | { kind: 'refuse'; status: number; body: string }
  /** An error reported under status 200, then the end: in an event, or in older servers' separate field. */
  | { kind: 'error'; after: number; error: LlamaError; field?: 'data' | 'error' }
  /** The connection dies. */
  | { kind: 'cut'; after: number }
  /** These bytes appear where an event should, and the stream continues. */
  | { kind: 'bytes'; after: number; bytes: string | Uint8Array }
  /** The stream ends properly, but without finish_reason and `[DONE]`. */
  | { kind: 'no_end'; after: number }
  /** Everything arrives except this one. */
  | { kind: 'without'; part: 'finish' | 'done' }
  /** Nothing more arrives and the connection stays open until the caller leaves or `release()`. */
  | { kind: 'hang'; after: number }
  /** The whole answer arrives, but its HTTP body does not end until the caller leaves or `release()`. */
  | { kind: 'linger' };

export interface LlamaReply {
  /** One token per entry; a string is split at words. */
  text?: string | readonly string[];
  /** Left out when the request disables thinking. */
  thinking?: string | readonly string[];
  /** Where thinking goes: llama-server and vLLM, or Ollama and OpenRouter. */
  thinkingIn?: 'reasoning_content' | 'reasoning';
  toolCalls?: readonly { name: string; args: unknown; id?: string }[];
  /** Cuts the answer like a token limit; `max_tokens` does so on its own. */
  cutBy?: number;
  /** Silence, not even headers, until `release()`: a prefill. */
  hold?: boolean;
  failure?: LlamaFailure;
  eol?: '\n' | '\r\n';
  /** Fields no client knows, on every event. */
  extra?: Record<string, unknown>;
  /** Comments between events, as proxies send them to keep a connection open. */
  comments?: boolean;
  /** Cuts the whole stream into the packets it travels in. */
  packets?: (wire: Buffer) => Buffer[];
}

export type LlamaAnswer = string | LlamaReply | ((body: LlamaBody) => string | LlamaReply);

export function toLlamaReply(answer: LlamaAnswer, body: LlamaBody): LlamaReply {
  const given = typeof answer === 'function' ? answer(body) : answer;
  return typeof given === 'string' ? { text: given } : given;
}

/** The events of an answer: its opening, one per token, its end. */
export interface LlamaEvents {
  opening: string;
  tokens: string[];
  finish: string;
  usage: string;
  done: string;
}

/** The same answer in one document, as the server returns it without `stream`. */
export function wholeOf(reply: LlamaReply, body: LlamaBody, prefilled?: number): object {
  const thinks = body.chat_template_kwargs?.enable_thinking !== false;
  const thinking = thinks ? wordTokens(reply.thinking).join('') : '';
  const words = wordTokens(reply.text);
  const calls = (reply.toolCalls ?? []).map(({ name, args, id }, index) => ({
    id: id ?? `call${index}`,
    type: 'function',
    function: { name, arguments: JSON.stringify(args) },
  }));
  const message = {
    role: 'assistant',
    content: words.join(''),
    ...(thinking !== '' && { [reply.thinkingIn ?? 'reasoning_content']: thinking }),
    ...(calls.length > 0 && { tool_calls: calls }),
  };
  const prompt = promptTokens(body);
  const made = deltasOf(reply, body).length;
  return {
    id: 'chatcmpl-fake',
    object: 'chat.completion',
    created: 1,
    model: body.model ?? '',
    choices: [{ index: 0, finish_reason: calls.length > 0 ? 'tool_calls' : 'stop', message }],
    usage: { completion_tokens: made, prompt_tokens: prompt, total_tokens: prompt + made },
    timings: { ...promptTimings(prompt, prefilled), prompt_ms: 12.5, predicted_n: made, predicted_ms: 30.2 },
    ...reply.extra,
  };
}

/** Tokens of the prompt that were read, and that were in the cache. */
function promptTimings(prompt: number, prefilled = prompt): { cache_n: number; prompt_n: number } {
  const read = Math.min(prompt, prefilled);
  return { cache_n: prompt - read, prompt_n: read };
}

/** The server's events: role; one token each; an empty delta with finish_reason; usage with no choices; `[DONE]`. */
export function eventsOf(reply: LlamaReply, body: LlamaBody, prefilled?: number): LlamaEvents {
  const eol = reply.eol ?? '\n';
  const comment = reply.comments === true ? `: ping${eol}${eol}` : '';
  const event = (choices: object[], more: object = {}): string => {
    const head = {
      object: 'chat.completion.chunk',
      created: 1,
      id: 'chatcmpl-fake',
      model: body.model ?? '',
    };
    const value = { choices, ...head, system_fingerprint: 'b1-fake', ...more, ...reply.extra };
    return `${comment}data: ${JSON.stringify(value)}${eol}${eol}`;
  };
  const deltas = deltasOf(reply, body);
  const limit = Math.min(reply.cutBy ?? Infinity, body.max_tokens ?? Infinity);
  const sent = deltas.slice(0, limit);
  const cut = sent.length < deltas.length || reply.cutBy === sent.length;
  const ended = (reply.toolCalls?.length ?? 0) > 0 ? 'tool_calls' : 'stop';
  const prompt = promptTokens(body);
  const counts = {
    completion_tokens: sent.length,
    prompt_tokens: prompt,
    total_tokens: prompt + sent.length,
  };
  const timings = {
    ...promptTimings(prompt, prefilled),
    prompt_ms: 12.5,
    predicted_n: sent.length,
    predicted_ms: 30.2,
  };
  const wantsUsage = body.stream_options?.include_usage === true;
  const choice = (delta: object, reason: string | null): object[] => [
    { finish_reason: reason, index: 0, delta },
  ];
  return {
    opening: event(choice({ role: 'assistant', content: null }, null)),
    tokens: sent.map((delta) => event(choice(delta, null))),
    finish: event(choice({}, cut ? 'length' : ended), wantsUsage ? {} : { timings }),
    usage: wantsUsage ? event([], { usage: counts, timings }) : '',
    done: `data: [DONE]${eol}${eol}`,
  };
}

/** One delta per token: thinking, text, then tool calls as id, name and one character, then one character each. */
function deltasOf(reply: LlamaReply, body: LlamaBody): object[] {
  const thinks = body.chat_template_kwargs?.enable_thinking !== false;
  const thinking = thinks ? wordTokens(reply.thinking) : [];
  const field = reply.thinkingIn ?? 'reasoning_content';
  const calls = (reply.toolCalls ?? []).flatMap(({ name, args, id }, index) => {
    const [first = '', ...rest] = JSON.stringify(args);
    const opening = {
      index,
      id: id ?? `call${index}`,
      type: 'function',
      function: { name, arguments: first },
    };
    return [
      { tool_calls: [opening] },
      ...rest.map((character) => ({ tool_calls: [{ index, function: { arguments: character } }] })),
    ];
  });
  return [
    ...thinking.map((token) => ({ [field]: token })),
    ...wordTokens(reply.text).map((token) => ({ content: token })),
    ...calls,
  ];
}
