/**
 * A forced tool call. Ollama cannot force one, but can constrain an answer to a JSON Schema (`format`): the answer is
 * requested in the form of the call, and becomes one.
 */
import type {
  AnswerFormat,
  ChatChunk,
  ChatRequest,
  ToolCall,
  ToolSchema,
} from '../../protocol/agent/provider.ts';
import { ProviderError } from '../../protocol/errors.ts';
import { textRef } from '../../protocol/texts/say.ts';
import { createCallMaker, type MakeToolCall, offeredTools } from '../answers/tool-calls.ts';
import { fieldsOf } from '../answers/read-fields.ts';
import { parseJson } from '../../lib/json/json.ts';
import { wireSchema } from '../../lib/json/wire-schema.ts';

/** The request to send instead, and the reader that turns its answer into the call. */
interface ForcedCall {
  request: ChatRequest;
  read(answer: AsyncIterable<ChatChunk>): AsyncGenerator<ChatChunk>;
}

/** Undefined when the request lets the model choose. */
export function forceToolCall(request: ChatRequest): ForcedCall | undefined {
  const { toolChoice, tools = [], ...rest } = request;
  if (toolChoice === undefined) return undefined;
  const allowedTools =
    toolChoice === 'required' ? tools : tools.filter(({ name }) => name === toolChoice.name);
  const [first, ...others] = allowedTools;
  if (first === undefined) {
    throw new ProviderError('bad_request', 'A tool call is required, and no tool of that name is offered.');
  }
  const only = others.length === 0 ? first : undefined;
  const format = only === undefined ? anyCall(allowedTools) : argumentsOf(only);
  const note = only === undefined ? describeAll(allowedTools) : describeOne(only);
  return {
    request: { ...rest, format, messages: [...request.messages, { role: 'system', content: note }] },
    read: (answer) => readCall(answer, only?.name, createCallMaker(offeredTools(allowedTools))),
  };
}

function argumentsOf({ name, parameters }: ToolSchema): AnswerFormat {
  return { type: 'json_schema', name, schema: wireSchema(parameters).schema };
}

/** One object: which tool, and its arguments. */
function anyCall(tools: readonly ToolSchema[]): AnswerFormat {
  const anyOf = tools.map(({ name, parameters }) => ({
    type: 'object',
    properties: { name: { const: name }, arguments: wireSchema(parameters).schema },
    required: ['name', 'arguments'],
    additionalProperties: false,
  }));
  return { type: 'json_schema', name: 'tool_call', schema: { anyOf } };
}

function describeOne({ name, description, parameters }: ToolSchema): string {
  return (
    `Call the tool "${name}" now. ${description}\n` +
    `Answer with its arguments only, a JSON object of this JSON Schema: ${JSON.stringify(parameters)}`
  );
}

function describeAll(tools: readonly ToolSchema[]): string {
  const lines = tools.map(
    ({ name, description, parameters }) =>
      `- ${name}: ${description} Arguments: ${JSON.stringify(parameters)}`,
  );
  return [
    'Call one of these tools now. Answer with a JSON object only: {"name": <the tool>, "arguments": {…}}.',
    ...lines,
  ].join('\n');
}

/** Passes thinking on, and returns the text as one tool call. `tool` is undefined when the text names it. */
async function* readCall(
  answer: AsyncIterable<ChatChunk>,
  tool: string | undefined,
  makeCall: MakeToolCall,
): AsyncGenerator<ChatChunk> {
  let text = '';
  for await (const chunk of answer) {
    if (chunk.type === 'text') text += chunk.delta;
    else if (chunk.type !== 'done') yield chunk;
    else {
      yield { type: 'tool_call', call: toCall(text, tool, makeCall) };
      yield { ...chunk, finishReason: chunk.finishReason === 'length' ? 'length' : 'tool_calls' };
    }
  }
}

function toCall(text: string, tool: string | undefined, makeCall: MakeToolCall): ToolCall {
  // A text that was cut off by the token limit is returned as it arrived.
  const value = fieldsOf(parseJson(text));
  const args = tool === undefined ? fieldsOf(value?.['arguments']) : value;
  const name = tool ?? value?.['name'];
  if (typeof name !== 'string') {
    throw new ProviderError('bad_response', textRef('provider.no_call'), { retryable: true });
  }
  const call = makeCall({ name, args });
  return args === undefined ? { ...call, malformed: text } : call;
}
