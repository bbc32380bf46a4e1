/** A completion without a session that says the last message back. */
import type { StatelessRequest } from '../../src/contracts/gateway-api.ts';
import type { ChatChunk } from '../../src/contracts/provider.ts';
import { USAGE } from './gateway/turn.ts';

/** Some thinking, then the words in two pieces. */
export async function* echoCompletion(request: StatelessRequest): AsyncIterable<ChatChunk> {
  yield { type: 'thinking', delta: 'Let me see. ' };
  yield { type: 'text', delta: 'Echo: ' };
  yield { type: 'text', delta: request.messages.at(-1)?.content ?? '' };
  yield { type: 'done', finishReason: 'stop', usage: USAGE };
}
