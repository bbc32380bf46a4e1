/** A completion without a session that repeats the last message, and vectors of texts. */
import type { GatewayApi, StatelessRequest } from '../../../src/protocol/gateway-api.ts';
import type { ChatChunk } from '../../../src/protocol/agent/provider.ts';
import { USAGE } from '../gateway/turn.ts';

/** Some thinking, then the text in two pieces. */
export async function* echoCompletion(request: StatelessRequest): AsyncIterable<ChatChunk> {
  yield { type: 'thinking', delta: 'Let me see. ' };
  yield { type: 'text', delta: 'Echo: ' };
  yield { type: 'text', delta: request.messages.at(-1)?.content ?? '' };
  yield { type: 'done', finishReason: 'stop', usage: USAGE };
}

/** A vector per text: its length, and a fraction that needs all bits of a float. */
export const fakeEmbed: GatewayApi['embed'] = (_caller, { input, dimensions = 2 }) =>
  Promise.resolve({
    vectors: input.map((text) => [text.length, 0.1, ...Array<number>(dimensions - 2).fill(0)]),
    promptTokens: input.length,
  });
