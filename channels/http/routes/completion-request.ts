/** The body of a chat-completions request, and its messages in the gateway's terms. */
import { z } from 'zod';
import type { ChatMessage, ToolCall } from '../../../src/contracts/provider.ts';
import { cleanText } from '../../../src/lib/text.ts';
import { HttpError } from '../errors.ts';

/** Text, or parts; only text parts are supported. */
const contentSchema = z
  .union([z.string(), z.array(z.looseObject({ type: z.string(), text: z.string().optional() }))])
  .nullish();

const toolCallSchema = z.object({
  id: z.string(),
  function: z.object({ name: z.string(), arguments: z.string() }),
});

const messageSchema = z.object({
  role: z.enum(['system', 'developer', 'user', 'assistant', 'tool']),
  content: contentSchema,
  tool_calls: z.array(toolCallSchema).nullish(),
  tool_call_id: z.string().nullish(),
});

/** Other fields (penalties, `tools`, `response_format`, …) are accepted and ignored. */
export const completionSchema = z.object({
  model: z.string().min(1).nullish(),
  messages: z.array(messageSchema).min(1, 'at least one message is needed'),
  stream: z.boolean().nullish(),
  stream_options: z.object({ include_usage: z.boolean().nullish() }).nullish(),
  user: z.string().nullish(),
  n: z.number().nullish(),
  temperature: z.number().min(0).max(2).nullish(),
  max_tokens: z.int().min(1).nullish(),
  max_completion_tokens: z.int().min(1).nullish(),
  /** Not in OpenAI's API: the plan mode of this turn, instead of the session's. */
  mode: z.string().nullish(),
});

/** A body that passed the schema. */
export type CompletionBody = z.infer<typeof completionSchema>;
type WireMessage = z.infer<typeof messageSchema>;

/** The last message, which a call in a session posts. Throws `HttpError` 400 when it is not the user's. */
export function lastUserText(messages: readonly WireMessage[]): string {
  const last = messages.length - 1;
  const message = messages[last];
  if (message?.role !== 'user') {
    throw invalid(`messages.${last}.role`, 'in a session the last message must have the role "user"');
  }
  return textOf(message, last);
}

/** The whole list as a model's context. Throws `HttpError` 400 that names the invalid message. */
export function toContext(messages: readonly WireMessage[]): ChatMessage[] {
  const toolNames = new Map<string, string>();
  return messages.map((message, index): ChatMessage => {
    const content = textOf(message, index);
    switch (message.role) {
      case 'user':
        return { role: 'user', content };
      case 'assistant': {
        const toolCalls = (message.tool_calls ?? []).map(toToolCall);
        for (const call of toolCalls) toolNames.set(call.id, call.name);
        return toolCalls.length === 0
          ? { role: 'assistant', content }
          : { role: 'assistant', content, toolCalls };
      }
      case 'tool': {
        const toolCallId = message.tool_call_id ?? '';
        const toolName = toolNames.get(toolCallId);
        if (toolName === undefined) {
          throw invalid(`messages.${index}.tool_call_id`, 'no earlier assistant message has that tool call');
        }
        return { role: 'tool', content, toolCallId, toolName };
      }
      default:
        return { role: 'system', content };
    }
  });
}

function textOf({ content }: WireMessage, index: number): string {
  if (typeof content === 'string') return cleanText(content);
  const parts = content ?? [];
  const unsupported = parts.find((part) => part.type !== 'text');
  if (unsupported !== undefined) {
    throw invalid(
      `messages.${index}.content`,
      `parts of type "${unsupported.type.slice(0, 40)}" are not supported, only text`,
    );
  }
  return cleanText(parts.map((part) => part.text ?? '').join('\n'));
}

function toToolCall(call: z.infer<typeof toolCallSchema>): ToolCall {
  const { name } = call.function;
  try {
    const args = z.record(z.string(), z.unknown()).safeParse(JSON.parse(call.function.arguments));
    if (args.success) return { id: call.id, name, args: args.data };
  } catch {
    // Not JSON: passed on as malformed, like a model's own invalid arguments.
  }
  return { id: call.id, name, args: {}, malformed: call.function.arguments };
}

function invalid(param: string, why: string): HttpError {
  return new HttpError(400, 'invalid_body', `"${param}": ${why}.`, { param });
}
