/** Recorded bodies as the conversations that they carry, and back: to see them in another shape. */
import { z } from 'zod';
import type { ChatMessage } from '../../src/protocol/agent/provider.ts';
import { textOf } from '../fakes/model/spoken-text.ts';
import type { UpstreamBody } from '../fakes/model/scripted-upstream.ts';

const fields = z.looseObject({
  role: z.enum(['system', 'user', 'assistant', 'tool']),
  tool_call_id: z.string().default(''),
  tool_calls: z
    .array(
      z.looseObject({
        id: z.string(),
        function: z.looseObject({
          name: z.string(),
          arguments: z.union([z.string().transform((text): unknown => JSON.parse(text)), z.unknown()]),
        }),
      }),
    )
    .default([]),
});
const args = z.record(z.string(), z.unknown());

/** The conversation in a body; pictures are left out. */
export function readWire({ messages }: UpstreamBody): ChatMessage[] {
  return messages.map((message): ChatMessage => {
    const { role, tool_call_id: toolCallId, tool_calls: calls } = fields.parse(message);
    const content = textOf(message);
    if (role === 'tool') return { role, content, toolCallId, toolName: 'tool' };
    if (role !== 'assistant' || calls.length === 0) return { role, content };
    const toolCalls = calls.map(({ id, function: { name, arguments: given } }) => ({
      id,
      name,
      args: args.parse(given),
    }));
    return { role, content, toolCalls };
  });
}

/** The body with this conversation instead of its own, as OpenAI's wire carries it. */
export function toBody(body: UpstreamBody, messages: readonly ChatMessage[]): UpstreamBody {
  return {
    ...body,
    messages: messages.map((message) => ({
      role: message.role,
      content: message.content,
      ...(message.role === 'tool' && { tool_call_id: message.toolCallId }),
      ...(message.role === 'assistant' &&
        message.toolCalls !== undefined && {
          tool_calls: message.toolCalls.map(({ id, name, args: given }) => ({
            id,
            type: 'function',
            function: { name, arguments: given },
          })),
        }),
    })),
  };
}
