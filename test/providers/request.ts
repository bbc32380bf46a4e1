/** What tests ask providers. */
import type { ChatRequest } from '../../src/contracts/model/provider.ts';

/** Of a call that nobody ends. */
export const never = new AbortController().signal;

/** A plain question. */
export function question(content: string, more: Partial<ChatRequest> = {}): ChatRequest {
  return { model: 'fake', messages: [{ role: 'user', content }], contextWindow: 8_192, ...more };
}
