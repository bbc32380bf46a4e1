/** A model's complete answer, for a caller that does not care how it grows. */
import type { ChatChunk, Echo, LLMResponse, ToolCall, Usage } from '../../../src/protocol/agent/provider.ts';

/** Collects a stream into one response. Throws what the stream throws. */
export async function collectChat(stream: AsyncIterable<ChatChunk>): Promise<LLMResponse> {
  let content = '';
  let thinking = '';
  const toolCalls: ToolCall[] = [];
  let finishReason: LLMResponse['finishReason'] = 'stop';
  let echo: Echo | undefined;
  let usage: Usage = { promptTokens: 0, completionTokens: 0, modelMs: 0 };
  for await (const chunk of stream) {
    if (chunk.type === 'text') content += chunk.delta;
    else if (chunk.type === 'thinking') thinking += chunk.delta;
    else if (chunk.type === 'tool_call') toolCalls.push(chunk.call);
    else if (chunk.type === 'text_was_thinking') {
      thinking += content;
      content = '';
    } else ({ finishReason, usage, echo } = chunk);
  }
  return { content, thinking, toolCalls, finishReason, usage, ...(echo && { echo }) };
}
