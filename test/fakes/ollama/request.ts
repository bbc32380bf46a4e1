/** What the fake Ollama accepts in POST /api/chat: as strict as the server, and stricter where the server would guess. */
import { z } from 'zod';

const toolCall = z.object({
  id: z.string().optional(),
  function: z.object({
    name: z.string().min(1),
    arguments: z.record(z.string(), z.unknown()),
    index: z.number().optional(),
  }),
});

const message = z.object({
  role: z.enum(['system', 'user', 'assistant', 'tool']),
  content: z.string().default(''),
  thinking: z.string().optional(),
  images: z.array(z.string()).optional(),
  tool_calls: z.array(toolCall).optional(),
  tool_name: z.string().optional(),
  tool_call_id: z.string().optional(),
});

const tool = z.object({
  type: z.literal('function'),
  function: z.object({
    name: z.string().min(1),
    description: z.string().optional(),
    parameters: z.looseObject({ type: z.string() }),
  }),
});

const options = z.looseObject({
  num_ctx: z.number().int().positive().optional(),
  num_predict: z.number().int().optional(),
  temperature: z.number().optional(),
  top_p: z.number().optional(),
  seed: z.number().int().optional(),
  stop: z.array(z.string()).optional(),
  presence_penalty: z.number().optional(),
  frequency_penalty: z.number().optional(),
});

const chatBody = z.looseObject({
  model: z.string(),
  messages: z.array(message).default([]),
  tools: z.array(tool).optional(),
  stream: z.boolean().default(true),
  think: z.union([z.boolean(), z.enum(['low', 'medium', 'high', 'max'])]).optional(),
  format: z.union([z.literal('json'), z.looseObject({})]).optional(),
  logprobs: z.boolean().optional(),
  top_logprobs: z.number().int().min(0).max(20).optional(),
  truncate: z.boolean().default(true),
  shift: z.boolean().default(true),
  keep_alive: z.union([z.number(), z.string()]).optional(),
  options: options.optional(),
});

/** A request as the fake understood it; unknown fields are kept, as the server ignores them. */
export type ChatBody = z.infer<typeof chatBody>;
export type ChatBodyMessage = ChatBody['messages'][number];

/** Reads a body, or returns the text of the 400 answer. */
export function readChatBody(text: string): { body: ChatBody } | { error: string } {
  if (text === '') return { error: 'missing request body' };
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    return { error: `invalid request body: ${String(error)}` };
  }
  const parsed = chatBody.safeParse(json);
  if (!parsed.success) return { error: `json: cannot unmarshal ${z.prettifyError(parsed.error)}` };
  if (parsed.data.model === '') return { error: 'model is required' };
  return strayToolMessage(parsed.data) ?? { body: parsed.data };
}

/** A tool result must follow an assistant message that asked for it, and name the tool. */
function strayToolMessage(body: ChatBody): { error: string } | undefined {
  let asked: { id?: string | undefined; name: string }[] = [];
  for (const message of body.messages) {
    if (message.role === 'assistant') {
      asked = (message.tool_calls ?? []).map((call) => ({ id: call.id, name: call.function.name }));
    } else if (message.tool_calls !== undefined) {
      return { error: `a ${message.role} message cannot have tool_calls` };
    } else if (message.role === 'tool') {
      const known = asked.some(
        (call) =>
          call.name === message.tool_name &&
          (message.tool_call_id === undefined || message.tool_call_id === call.id),
      );
      if (!known) return { error: `tool message answers no call: ${message.tool_name ?? '(no tool_name)'}` };
    } else asked = [];
  }
  return undefined;
}

/** The model a body of POST /api/show names; empty if it names none. */
export function readModelName(text: string): string {
  try {
    const body = z
      .object({ model: z.string().optional(), name: z.string().optional() })
      .parse(JSON.parse(text));
    return body.model ?? body.name ?? '';
  } catch {
    return '';
  }
}
