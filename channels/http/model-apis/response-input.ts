/** The input items of `POST /v1/responses`: as a model's context, or what a session takes from them. */
import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { StatelessMessage } from '../../../src/protocol/gateway-api.ts';
import type { InlineFile } from '../../../src/protocol/media.ts';
import { cleanText } from '../../../src/lib/text.ts';
import { parseShape } from '../body.ts';
import {
  callArguments,
  contentSchema,
  readCall,
  readContent,
  readText,
  type SessionInput,
  type ToolOutput,
} from './completion-messages.ts';
import { invalid, unsupported } from './fields.ts';

const message = z.object({
  role: z.enum(['user', 'assistant', 'system', 'developer']),
  content: contentSchema.nullish(),
});
const functionCall = z.object({
  call_id: z.string(),
  name: z.string(),
  namespace: z.string().nullish(),
  arguments: callArguments,
});
const callOutput = z.object({ call_id: z.string().min(1), output: contentSchema.nullish() });

/** Any item; which kind it is, and whether it is supported, is checked when it is read. */
export const inputItem = z.looseObject({ type: z.string().nullish() });
type Item = z.infer<typeof inputItem>;
export type Input = string | readonly Item[];

/** True for an item that stands for a stored one; its `type` may be left out. */
export function isReference(item: Item): boolean {
  return (
    item.type === 'item_reference' ||
    (item.type == null && item['role'] === undefined && typeof item['id'] === 'string')
  );
}

/** One item in the gateway's terms, without earlier reasoning; only a session knows what a reference stands for. */
type ReadItem =
  | { kind: 'message'; role: 'user' | 'assistant' | 'system'; text: string; files: InlineFile[] }
  | { kind: 'call'; id: string; name: string; arguments: string }
  | { kind: 'output'; result: ToolOutput }
  | { kind: 'reasoning' }
  | { kind: 'reference' };

/** The whole input as a model's context; `instructions` come first. Throws `HttpError` 400 that names the invalid item. */
export function inputContext(input: Input, instructions: string | null | undefined): StatelessMessage[] {
  const messages: StatelessMessage[] = [];
  if (typeof instructions === 'string' && instructions !== '') {
    messages.push({ role: 'system', content: cleanText(instructions) });
  }
  const toolNames = new Map<string, string>();
  for (const [index, item] of readItems(input).entries()) {
    if (item.kind === 'message') messages.push(toMessage(item));
    else if (item.kind === 'call') {
      toolNames.set(item.id, item.name);
      addCall(messages, item);
    } else if (item.kind === 'output') {
      const { toolCallId, content: text } = item.result;
      const toolName = toolNames.get(toolCallId);
      if (toolName === undefined)
        throw invalid(`input.${index}.call_id`, 'no earlier item is that function call');
      messages.push({ role: 'tool', content: text, toolCallId, toolName });
    }
  }
  return messages;
}

/** What a session takes from the input: the user's message at its end, or the outputs of the calls it waits for. */
export function inputForSession(input: Input): SessionInput {
  const items = readItems(input).filter(({ kind }) => kind !== 'reasoning');
  const last = items.at(-1);
  if (last?.kind === 'message' && last.role === 'user')
    return { kind: 'message', content: last.text, files: last.files };
  const from = items.findLastIndex(({ kind }) => kind !== 'output') + 1;
  const results = items.slice(from).flatMap((item) => (item.kind === 'output' ? [item.result] : []));
  if (results.length > 0) return { kind: 'results', results };
  throw invalid(
    'input',
    'in a session it must end with a message of the user or with outputs of function calls',
  );
}

/** The system text of a call in a session; undefined without any. */
export function inputInstructions(input: Input, instructions: string | null | undefined): string | undefined {
  const requestText =
    typeof instructions === 'string' && instructions !== '' ? [cleanText(instructions)] : [];
  const inItems = readItems(input).flatMap((item) =>
    item.kind === 'message' && item.role === 'system' ? [item.text] : [],
  );
  const texts = [...requestText, ...inItems];
  return texts.length === 0 ? undefined : texts.join('\n\n');
}

function readItems(input: Input): ReadItem[] {
  if (typeof input === 'string')
    return [{ kind: 'message', role: 'user', text: cleanText(input), files: [] }];
  return input.map(readItem);
}

function readItem(item: Item, index: number): ReadItem {
  const param = `input.${index}`;
  if (isReference(item)) return { kind: 'reference' };
  switch (item.type ?? 'message') {
    case 'message': {
      const { role, content } = parseShape(item, message, param);
      if (role === 'user')
        return { kind: 'message', role, ...readContent(content ?? '', `${param}.content`) };
      const text = readText(content ?? '', `${param}.content`);
      return { kind: 'message', role: role === 'developer' ? 'system' : role, text, files: [] };
    }
    case 'function_call': {
      const { call_id: id, arguments: text, ...functionName } = parseShape(item, functionCall, param);
      return { kind: 'call', id, name: nameForModel(functionName), arguments: text };
    }
    case 'function_call_output': {
      const { call_id: toolCallId, output } = parseShape(item, callOutput, param);
      return { kind: 'output', result: { toolCallId, content: readText(output ?? '', `${param}.output`) } };
    }
    case 'reasoning':
      return { kind: 'reasoning' };
    default:
      throw unsupported(`${param}.type`, `items of type "${(item.type ?? '').slice(0, 40)}" are not read`);
  }
}

function toMessage({ role, text, files }: ReadItem & { kind: 'message' }): StatelessMessage {
  return { role, content: text, ...(files.length > 0 && { files }) };
}

/** A call belongs to the assistant's message before it, if there is one. */
function addCall(
  messages: StatelessMessage[],
  { id, name, arguments: text }: ReadItem & { kind: 'call' },
): void {
  const call = readCall(id, name, text);
  const last = messages.at(-1);
  if (last?.role === 'assistant') last.toolCalls = [...(last.toolCalls ?? []), call];
  else messages.push({ role: 'assistant', content: '', toolCalls: [call] });
}

/** A function by the names that its client uses. */
export interface FunctionName {
  name: string;
  namespace?: string | null | undefined;
}

const MAX_NAME = 64;

/** A function's name for the model: `namespace__name`, shortened with a digest where that is too long. */
export function nameForModel({ name, namespace }: FunctionName): string {
  if (namespace == null) return name;
  const fullName = `${namespace}__${name}`;
  if (fullName.length <= MAX_NAME) return fullName;
  const digest = createHash('sha256').update(fullName).digest('hex').slice(0, 8);
  return `${fullName.slice(0, MAX_NAME - digest.length - 1)}_${digest}`;
}
