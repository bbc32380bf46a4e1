/** A model call outside the conversation: its whole text and usage, and thinking events while it streams. */
import { cleanText } from '../../lib/text.ts';
import type { ChatRequest, Usage } from '../../protocol/agent/provider.ts';
import type { LastingNote } from '../../lib/async/lasting-note.ts';
import type { AgentDeps, Emit } from '../deps.ts';
import { withQueueNotice } from './model-call.ts';
import { type StreamLimits, StreamWatchdog } from './stream-watchdog.ts';
import { meterCall } from './call-usage.ts';

/** A call that is shown, with its text as thinking under a title. */
export interface ShownCall {
  /** Names the call in its events. */
  msgId: string;
  title: string;
}

export interface TextCall {
  request: ChatRequest;
  signal: AbortSignal;
  /** As that of a `ModelCall`. */
  waits?: LastingNote | undefined;
  /** Longest answer that is read, thinking included, in UTF-16 units; the connection is closed after it. */
  maxChars: number;
  /** Undefined = the call is not shown. */
  shown?: ShownCall | undefined;
  /** Called once with the usage of the call, also when the stream broke; not called when the model had not begun. */
  onUsage: (usage: Usage) => void | Promise<void>;
}

/**
 * Returns the model's text without its thinking. Emits a shown call as thinking, and in any case a notice when the call
 * waits in a queue. Throws `ProviderError`, the signal's reason, or what `paid` throws.
 */
export async function completeText(
  { provider, limits }: Pick<AgentDeps, 'provider'> & { limits: StreamLimits },
  { request, signal, waits, maxChars, shown, onUsage }: TextCall,
  emit: Emit,
): Promise<string> {
  const meter = meterCall(request, 0);
  const watchdog = new StreamWatchdog(signal, limits);
  let text = '';
  let chars = 0;
  if (shown !== undefined) emit({ type: 'thinking_started', ...shown });
  try {
    const queueable = withQueueNotice(request, { watchdog, waits }, emit);
    await watchdog.guard(async (closed) => {
      for await (const chunk of provider.streamChat(queueable, closed)) {
        watchdog.onChunk();
        meter.add(chunk);
        if (chunk.type === 'text_was_thinking') text = '';
        if (chunk.type !== 'text' && chunk.type !== 'thinking') continue;
        if (chunk.type === 'text') text += chunk.delta;
        const delta = cleanText(chunk.delta);
        if (shown !== undefined && delta !== '') emit({ type: 'thinking_delta', msgId: shown.msgId, delta });
        chars += delta.length;
        if (chars > maxChars) break;
      }
    });
  } finally {
    await waits?.end();
    const usage = meter.usage(watchdog.startedAt);
    if (usage !== undefined) await onUsage(usage);
    if (shown !== undefined) {
      emit({ type: 'thinking_finished', msgId: shown.msgId, ...(usage && { usage, model: request.model }) });
    }
  }
  return cleanText(text);
}
