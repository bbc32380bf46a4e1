/**
 * A model server that refuses what one real server refuses, in its words and with its status, and answers everything else
 * as a script says; both wires.
 */
import {
  type ScriptedUpstream,
  startScriptedUpstream,
  type UpstreamAnswer,
  type UpstreamBody,
} from './scripted-upstream.ts';
import {
  allResults,
  alternate,
  nineCharacterIds,
  noSystem,
  noTools,
  orderOfTools,
  type RuledMessage,
  singleCalls,
  systemFirst,
  type TemplateRule,
} from './template-rules.ts';

/** What a server answers instead of text. */
export interface StrictRefusal {
  status: number;
  body: unknown;
}

/** Reads a request; undefined when the server accepts it. */
export type ServerRule = (body: UpstreamBody) => StrictRefusal | undefined;

/** What the model does with an accepted request. */
export interface StrictAnswer {
  text?: string;
  /** Further fields of an OpenAI-compatible message, in the pieces in which they are streamed. */
  pieces?: readonly Record<string, unknown>[];
  /** `extra`: further fields of the call. */
  toolCalls?: readonly { name: string; args: Record<string, unknown>; extra?: Record<string, unknown> }[];
  /** An error in the middle of nothing: the turn fails for a reason that has nothing to do with the rules. */
  refusal?: StrictRefusal;
}

export interface StrictServer extends ScriptedUpstream {
  /** What was refused by the rules, in order. */
  readonly refused: readonly StrictRefusal[];
}

/** The call ids of llama.cpp have 32 letters and digits (common/chat.cpp): they are refused by Mistral's templates. */
const callId = (nth: number): string => `x${nth}`.padEnd(32, 'Q');

/** Starts a server; `answer` is asked with every request that no rule refuses. */
export async function startStrictServer(
  rules: readonly ServerRule[],
  answer: (body: UpstreamBody) => StrictAnswer,
  ownedBy?: string,
): Promise<StrictServer> {
  const refused: StrictRefusal[] = [];
  let calls = 0;
  const upstream = await startScriptedUpstream((body) => {
    const refusal = firstRefusal(rules, body);
    if (refusal !== undefined) {
      refused.push(refusal);
      return asJson(refusal);
    }
    const given = answer(body);
    if (given.refusal !== undefined) return asJson(given.refusal);
    const withIds = (given.toolCalls ?? []).map((call) => ({ ...call, id: callId((calls += 1)) }));
    return { body: 'options' in body ? ollamaLines(given, withIds) : openaiEvents(given, withIds) };
  }, ownedBy);
  return Object.assign(upstream, { refused });
}

function firstRefusal(rules: readonly ServerRule[], body: UpstreamBody): StrictRefusal | undefined {
  for (const rule of rules) {
    const refusal = rule(body);
    if (refusal !== undefined) return refusal;
  }
  return undefined;
}

function asJson({ status, body }: StrictRefusal): UpstreamAnswer {
  return { status, headers: { 'content-type': 'application/json' }, body: [JSON.stringify(body)] };
}

type CallWithId = NonNullable<StrictAnswer['toolCalls']>[number] & { id: string };

function openaiEvents({ text = '', pieces = [] }: StrictAnswer, calls: readonly CallWithId[]): string[] {
  const event = (delta: unknown, finish: string | null): string =>
    `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
  const toolCalls = calls.map(({ id, name, args, extra }, index) => ({
    index,
    id,
    ...extra,
    type: 'function',
    function: { name, arguments: JSON.stringify(args) },
  }));
  return [
    ...pieces.map((piece) => event(piece, null)),
    ...(text === '' ? [] : [event({ content: text }, null)]),
    ...(toolCalls.length === 0 ? [] : [event({ tool_calls: toolCalls }, null)]),
    event({}, toolCalls.length === 0 ? 'stop' : 'tool_calls'),
    'data: [DONE]\n\n',
  ];
}

function ollamaLines({ text = '' }: StrictAnswer, calls: readonly CallWithId[]): string[] {
  const toolCalls = calls.map(({ id, name, args }) => ({ id, function: { name, arguments: args } }));
  const message = {
    role: 'assistant',
    content: text,
    ...(toolCalls.length > 0 && { tool_calls: toolCalls }),
  };
  const last = { role: 'assistant', content: '' };
  return [
    `${JSON.stringify({ model: 'fake', message, done: false })}\n`,
    `${JSON.stringify({ model: 'fake', message: last, done: true, done_reason: 'stop' })}\n`,
  ];
}

/** The messages of a body, as rules read them. */
function messagesOf({ messages }: UpstreamBody): RuledMessage[] {
  return messages.map((message) => ({
    ...message,
    tool_calls: callsIn(message['tool_calls']),
    tool_call_id: idIn(message),
  }));
}

function callsIn(value: unknown): { id?: string }[] {
  const list: unknown[] = Array.isArray(value) ? value : [];
  return list.map((call) =>
    typeof call === 'object' && call !== null && 'id' in call && typeof call.id === 'string'
      ? { id: call.id }
      : {},
  );
}

function idIn(message: Record<string, unknown>): string | undefined {
  const id = message['tool_call_id'];
  return typeof id === 'string' ? id : undefined;
}

function ruled(rule: TemplateRule, refusal: (words: string) => StrictRefusal): ServerRule {
  return (body) => {
    const words = rule(messagesOf(body));
    return words === undefined ? undefined : refusal(words);
  };
}

/** llama-server: an exception of a template is a 500 that quotes the template (ollama/ollama#18241, moltis-org/moltis#317). */
const llamaServer = (words: string): StrictRefusal => ({
  status: 500,
  body: {
    error: {
      code: 500,
      message:
        '\n------------\nWhile executing CallExpression at line 85, column 32 in source:\n...first %}↵            ' +
        `{{- raise_exception('${words.slice(0, 39)}...\n                                           ^\nError: Jinja Exception: ${words}`,
      type: 'server_error',
    },
  },
});

/** vLLM: an exception of a template is a 400 (vllm/entrypoints/openai/serving_engine.py; vllm-project/vllm#41114). */
const vllm = (words: string): StrictRefusal => ({
  status: 400,
  body: { object: 'error', message: words, type: 'BadRequestError', param: null, code: 400 },
});

/** Ollama's renderers, as of qwen3.8 in 0.32.13: a 500 with the words alone (ollama/ollama#17754, #17774). */
const ollama = (words: string): StrictRefusal => ({
  status: 500,
  body: { error: words.charAt(0).toLowerCase() + words.slice(1).replace(/\.$/, '') },
});

/** Mistral's API; the code is a text (openclaw/openclaw#33177; arterm-sedov/cmw-platform-agent docs/MISTRAL_TOOL_CALL_ID_FIX.md). */
const mistral =
  (type: string, code: string) =>
  (words: string): StrictRefusal => ({
    status: 400,
    body: { object: 'error', message: words, type, param: null, code },
  });

/** Servers by what they refuse, for `rules`. */
export const STRICT_SERVERS = {
  'Qwen 3.5 on llama-server': [ruled(systemFirst, llamaServer)],
  'Qwen 3.8 on Ollama': [ruled(systemFirst, ollama)],
  'Mistral Small on vLLM': [ruled(systemFirst, vllm), ruled(alternate, vllm), ruled(nineCharacterIds, vllm)],
  'Ministral on llama-server': [ruled(systemFirst, llamaServer), ruled(alternate, llamaServer)],
  'the API of Mistral': [
    ruled(orderOfTools, mistral('invalid_request_message_order', '3230')),
    ruled(allResults, mistral('invalid_request_message_order', '3230')),
    ruled(nineCharacterIds, mistral('invalid_function_call', '3280')),
  ],
  /** These need another shape than the usual one. */
  'Gemma 2 on vLLM': [ruled(noSystem, vllm), ruled(noTools, vllm)],
  'Llama 3.1 on llama-server': [ruled(singleCalls, llamaServer)],
} satisfies Record<string, readonly ServerRule[]>;
