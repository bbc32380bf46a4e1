/**
 * The output items of a response while it grows (reasoning, messages, function calls), and the events that report them.
 */
import type { ToolCall } from '../../../../src/protocol/agent/provider.ts';
import { wireToolCall } from './completion-answer.ts';
import type { FunctionName } from './response-tools.ts';

/** Emits one event: its type and its fields. */
export type Emit = (type: string, body: Record<string, unknown>) => void;

/** The items of one response. `output` holds those that are finished. */
export interface Items {
  readonly output: unknown[];
  text: (delta: string) => void;
  thinking: (delta: string) => void;
  /** The text so far was thinking: for answers whose events no one has seen. */
  textWasThinking: () => void;
  toolCall: (call: ToolCall) => void;
  /** Finishes the item that is open. */
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
export function createItems(responseId: string, names: ReadonlyMap<string, FunctionName>, emit: Emit): Items {
  const output: unknown[] = [];
  let open: OpenItem | undefined;

  const begin = (kind: OpenItem['kind']): OpenItem => {
    const { prefix, part, item } = GROWING[kind];
    const begun = { kind, id: itemId(prefix, responseId, output.length), text: '' };
    open = begun;
    const at = { output_index: output.length };
    emit('response.output_item.added', {
      ...at,
      item: { id: begun.id, status: 'in_progress', ...item([]) },
    });
    emit('response.content_part.added', { ...at, item_id: begun.id, content_index: 0, part: part('') });
    return begun;
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
    const done = { id, status: 'completed', ...item([part(text)]) };
    emit('response.output_item.done', { ...at, item: done });
    output.push(done);
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
      const called = { ...call, name };
      output.push(emitToolCall(called, namespace, { responseId, index: output.length }, emit));
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
  const { id: callId, function: called } = wireToolCall(call);
  const id = itemId('fc', responseId, index);
  const at = { output_index: index };
  const named = { name: called.name, ...(namespace != null && { namespace }) };
  const item = { id, type: 'function_call', call_id: callId, ...named };
  emit('response.output_item.added', { ...at, item: { ...item, arguments: '', status: 'in_progress' } });
  emit('response.function_call_arguments.delta', { ...at, item_id: id, delta: called.arguments });
  emit('response.function_call_arguments.done', { ...at, item_id: id, arguments: called.arguments });
  const done = { ...item, arguments: called.arguments, status: 'completed' };
  emit('response.output_item.done', { ...at, item: done });
  return done;
}

function itemId(prefix: string, responseId: string, index: number): string {
  return `${prefix}_${responseId.replace(/^resp_/, '')}_${index}`;
}
