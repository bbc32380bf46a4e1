/** Requests that tests send to providers. */
import type { ChatRequest } from '../../src/protocol/agent/provider.ts';

/** For a call that no one ends. */
export const never = new AbortController().signal;

/** A plain question. */
export function question(content: string, more: Partial<ChatRequest> = {}): ChatRequest {
  return { model: 'fake', messages: [{ role: 'user', content }], contextWindow: 8_192, ...more };
}
