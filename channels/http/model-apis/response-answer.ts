/** One response as OpenAI's clients read it: whole, or as events from the first token on. */
import type { ServerResponse } from 'node:http';
import type { ToolCall, Usage } from '../../../src/protocol/agent/provider.ts';
import type { EventStream } from '../event-stream.ts';
import { type AnswerWriter, type FinishReason, type Refuse, sendWhole, streamFailure } from './answer.ts';
import type { Citation } from '../../../src/protocol/knowledge.ts';
import { withAnnotations } from './annotations.ts';
import { wireToolCall } from './completion-answer.ts';
import type { FunctionName } from './response-input.ts';

/** What is known about a response before it begins: its id and the request's own fields, which it repeats. */
export interface ResponseHead {
  id: string;
  /** Epoch seconds. */
  created_at: number;
  model: string;
  /** Of the request, as it came. */
  asked: Record<string, unknown>;
  /** Functions in namespaces, by their names for the model. */
  names: ReadonlyMap<string, FunctionName>;
  /** The citations in a text that exist. Never throws. */
  cited: (text: string) => Promise<readonly Citation[]>;
  /** Stores the finished response; false if it is not stored. Never throws. */
  keep(response: Record<string, unknown>): Promise<boolean>;
}

/** Writes events to an open stream. Each has a number; the first two say that the response has begun. */
export function streamedResponse(stream: EventStream, head: ResponseHead, refuse: Refuse): AnswerWriter {
  let number = 0;
  const write: Emit = (type, body) => {
    const event = { type, ...body, sequence_number: number++ };
    stream.write(`event: ${type}\ndata: ${JSON.stringify(event)}\n\n`);
  };
  const begin = (): void => {
    if (number > 0) return;
    const response = responseObject(head, 'in_progress', []);
    write('response.created', { response });
    write('response.in_progress', { response });
  };
  const { output, close, ...writers } = createItems(head.id, head.names, (type, body) => {
    begin();
    write(type, body);
  });
  return {
    ...writers,
    whole: false,
    // What a stream has sent stays where it is.
    textWasThinking: () => undefined,
    waiting() {
      begin();
      stream.write(': ping\n\n');
    },
    finish(reason, usage) {
      begin();
      close();
      // What a client knows to be complete can be referred to.
      void stored(head, endOf(head, reason, output, usage)).then((response) => {
        write(`response.${String(response['status'])}`, { response });
        stream.end();
      });
    },
    fail: streamFailure(stream, refuse, ({ code, message }) =>
      write('response.failed', {
        response: { ...responseObject(head, 'failed', output), error: { code, message } },
      }),
    ),
  };
}

/** Collects the response and sends it as one JSON body. */
export function wholeResponse(outgoing: ServerResponse, head: ResponseHead, refuse: Refuse): AnswerWriter {
  const { output, close, ...writers } = createItems(head.id, head.names, () => undefined);
  return {
    ...writers,
    whole: true,
    waiting: () => undefined,
    finish(reason, usage) {
      close();
      void stored(head, endOf(head, reason, output, usage)).then((response) => {
        sendWhole(outgoing, response);
      });
    },
    fail: refuse,
  };
}

/** The response once it is stored; `store` says whether it is. */
async function stored(
  head: ResponseHead,
  response: Record<string, unknown>,
): Promise<Record<string, unknown>> {
  const annotated = await withAnnotations(response, head.cited);
  return { ...annotated, store: await head.keep(annotated) };
}

/** Reasons why a response is incomplete, by the reason of its end. */
const INCOMPLETE: Partial<Record<FinishReason, string>> = {
  length: 'max_output_tokens',
  content_filter: 'content_filter',
};

function endOf(
  head: ResponseHead,
  reason: FinishReason,
  output: readonly unknown[],
  usage: Usage,
): Record<string, unknown> {
  const incompleteReason = INCOMPLETE[reason];
  return {
    ...responseObject(head, incompleteReason === undefined ? 'completed' : 'incomplete', output),
    incomplete_details: incompleteReason === undefined ? null : { reason: incompleteReason },
    usage: {
      input_tokens: usage.promptTokens,
      input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
      output_tokens: usage.completionTokens,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: usage.promptTokens + usage.completionTokens,
    },
  };
}

function responseObject(
  { id, created_at, model, asked: request }: ResponseHead,
  status: string,
  output: readonly unknown[],
): Record<string, unknown> {
  return {
    id,
    object: 'response',
    created_at,
    status,
    background: false,
    error: null,
    incomplete_details: null,
    ...request,
    model,
    output,
    usage: null,
  };
}

type Emit = (type: string, body: Record<string, unknown>) => void;

/** The items of one response. `output` holds those that are finished. */
interface Items {
  readonly output: unknown[];
  text: (delta: string) => void;
  thinking: (delta: string) => void;
  /** The text so far was thinking: for answers whose events no one has seen. */
  textWasThinking: () => void;
  toolCall: (call: ToolCall) => void;
  close: () => void;
}

/** The two kinds of items that grow: where their text is, and the names of their events. */
const GROWING = {
  message: {
    prefix: 'msg',
    events: 'response.output_text',
    part: (text: string) => ({ type: 'output_text', text, annotations: [], logprobs: [] }),
    item: (content: unknown[]) => ({ type: 'message', role: 'assistant', content }),
    likelihoods: { logprobs: [] },
  },
  reasoning: {
    prefix: 'rs',
    events: 'response.reasoning_text',
    part: (text: string) => ({ type: 'reasoning_text', text }),
    item: (content: unknown[]) => ({ type: 'reasoning', summary: [], content }),
    likelihoods: {},
  },
} as const;

interface OpenItem {
  kind: keyof typeof GROWING;
  id: string;
  text: string;
}

/** Makes the items of the response with that id; `names` are those of functions in namespaces, by the model's. */
function createItems(responseId: string, names: ReadonlyMap<string, FunctionName>, emit: Emit): Items {
  const output: unknown[] = [];
  let open: OpenItem | undefined;

  const begin = (kind: OpenItem['kind']): OpenItem => {
    const { prefix, part, item } = GROWING[kind];
    const openItem = { kind, id: itemId(prefix, responseId, output.length), text: '' };
    open = openItem;
    const at = { output_index: output.length };
    emit('response.output_item.added', {
      ...at,
      item: { id: openItem.id, status: 'in_progress', ...item([]) },
    });
    emit('response.content_part.added', { ...at, item_id: openItem.id, content_index: 0, part: part('') });
    return openItem;
  };
  const close = (): void => {
    if (open === undefined) return;
    const { kind, id, text } = open;
    open = undefined;
    const { events, part, item, likelihoods } = GROWING[kind];
    const at = { output_index: output.length };
    const place = { ...at, item_id: id, content_index: 0 };
    emit(`${events}.done`, { ...place, text, ...likelihoods });
    emit('response.content_part.done', { ...place, part: part(text) });
    const finishedItem = { id, status: 'completed', ...item([part(text)]) };
    emit('response.output_item.done', { ...at, item: finishedItem });
    output.push(finishedItem);
  };
  const grow = (kind: OpenItem['kind'], delta: string): void => {
    if (delta === '') return;
    if (open?.kind !== kind) close();
    const item = open ?? begin(kind);
    item.text += delta;
    const { events, likelihoods } = GROWING[kind];
    const place = { output_index: output.length, item_id: item.id, content_index: 0 };
    emit(`${events}.delta`, { ...place, delta, ...likelihoods });
  };
  return {
    output,
    text: (delta) => grow('message', delta),
    thinking: (delta) => grow('reasoning', delta),
    textWasThinking() {
      if (open?.kind !== 'message') return;
      open = {
        kind: 'reasoning',
        id: itemId(GROWING.reasoning.prefix, responseId, output.length),
        text: open.text,
      };
    },
    toolCall(call) {
      close();
      const { name, namespace }: FunctionName = names.get(call.name) ?? call;
      const namedCall = { ...call, name };
      output.push(emitToolCall(namedCall, namespace, { responseId, index: output.length }, emit));
    },
    close,
  };
}

/** Emits a function call as a whole; returns its item. */
function emitToolCall(
  call: ToolCall,
  namespace: string | null | undefined,
  { responseId, index }: { responseId: string; index: number },
  emit: Emit,
): Record<string, unknown> {
  const { id: callId, function: func } = wireToolCall(call);
  const id = itemId('fc', responseId, index);
  const at = { output_index: index };
  const nameFields = { name: func.name, ...(namespace != null && { namespace }) };
  const item = { id, type: 'function_call', call_id: callId, ...nameFields };
  emit('response.output_item.added', { ...at, item: { ...item, arguments: '', status: 'in_progress' } });
  emit('response.function_call_arguments.delta', { ...at, item_id: id, delta: func.arguments });
  emit('response.function_call_arguments.done', { ...at, item_id: id, arguments: func.arguments });
  const finishedItem = { ...item, arguments: func.arguments, status: 'completed' };
  emit('response.output_item.done', { ...at, item: finishedItem });
  return finishedItem;
}

function itemId(prefix: string, responseId: string, index: number): string {
  return `${prefix}_${responseId.replace(/^resp_/, '')}_${index}`;
}
