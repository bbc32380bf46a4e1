/** What the fake llama-server accepts in POST /v1/chat/completions: as strict as the server, and stricter where it would guess. */
import { z } from 'zod';

const toolCall = z.strictObject({
  id: z.string().min(1),
  type: z.literal('function'),
  // Text with JSON in it: the chat template fails on anything else.
  function: z.strictObject({ name: z.string().min(1), arguments: z.string().refine(isJson, 'no JSON') }),
});

const message = z.discriminatedUnion('role', [
  z.strictObject({ role: z.literal('system'), content: z.string() }),
  z.strictObject({ role: z.literal('user'), content: z.string() }),
  z.strictObject({
    role: z.literal('assistant'),
    content: z.string().nullish(),
    reasoning_content: z.string().optional(),
    tool_calls: z.array(toolCall).optional(),
  }),
  z.strictObject({ role: z.literal('tool'), content: z.string(), tool_call_id: z.string().min(1) }),
]);

const tool = z.strictObject({
  type: z.literal('function'),
  function: z.strictObject({
    name: z.string().min(1),
    description: z.string().optional(),
    parameters: z.looseObject({ type: z.string() }),
    strict: z.boolean().optional(),
  }),
});

const chatBody = z.looseObject({
  model: z.string().optional(),
  messages: z.array(message).min(1),
  tools: z.array(tool).optional(),
  stream: z.boolean().default(false),
  stream_options: z.object({ include_usage: z.boolean().default(false) }).nullish(),
  max_tokens: z.number().int().optional(),
  temperature: z.number().optional(),
  top_p: z.number().optional(),
  seed: z.number().int().optional(),
  stop: z.array(z.string()).optional(),
  presence_penalty: z.number().optional(),
  frequency_penalty: z.number().optional(),
  logit_bias: z.record(z.string(), z.number()).optional(),
  reasoning_effort: z.string().optional(),
  response_format: z.looseObject({ type: z.enum(['text', 'json_object', 'json_schema']) }).optional(),
  tool_choice: z
    .union([
      z.enum(['none', 'auto', 'required']),
      z.strictObject({ type: z.literal('function'), function: z.strictObject({ name: z.string() }) }),
    ])
    .optional(),
  parallel_tool_calls: z.boolean().optional(),
  logprobs: z.boolean().optional(),
  top_logprobs: z.number().int().optional(),
  chat_template_kwargs: z.object({ enable_thinking: z.boolean().optional() }).optional(),
});

/** A request as the fake understood it; unknown fields are kept, as the server ignores them. */
export type LlamaBody = z.infer<typeof chatBody>;

/** An error in the server's words; `code` is the status, a number. */
export interface LlamaError {
  code: number;
  message: string;
  type: string;
  n_prompt_tokens?: number;
  n_ctx?: number;
}

/** Reads a body, or returns the error to answer with. */
export function readLlamaBody(text: string): { body: LlamaBody } | { error: LlamaError } {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    return { error: { code: 500, message: String(error), type: 'server_error' } };
  }
  const parsed = chatBody.safeParse(json);
  if (!parsed.success) return { error: invalid(z.prettifyError(parsed.error)) };
  const stray = strayResult(parsed.data);
  return stray === undefined ? { body: parsed.data } : { error: invalid(stray) };
}

/** A tool result must follow the assistant message that asked for it. */
function strayResult({ messages }: LlamaBody): string | undefined {
  let asked: string[] = [];
  for (const message of messages) {
    if (message.role === 'assistant') asked = (message.tool_calls ?? []).map((call) => call.id);
    else if (message.role !== 'tool') asked = [];
    else if (!asked.includes(message.tool_call_id))
      return `no call ${message.tool_call_id} for a tool message`;
  }
  return undefined;
}

/** The fake's tokenizer: a token is up to four characters, and each message costs four more. */
export function promptTokens({ messages, tools }: LlamaBody): number {
  const schemas = tools === undefined ? 0 : Math.ceil(JSON.stringify(tools).length / 4);
  return messages.reduce((sum, { content }) => sum + Math.ceil((content ?? '').length / 4) + 4, schemas);
}

function invalid(message: string): LlamaError {
  return { code: 400, message, type: 'invalid_request_error' };
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
