/**
 * Whether the gateway can be reached: one banner says that it cannot, whatever failed for that reason. It is shown until a
 * request gets an answer and the stream of the open chat is there again.
 */
import { computed, signal } from '@preact/signals';

const requestFailed = signal(false);
const streamLost = signal(false);

/** True while the banner says it: no other notice is needed then. */
export const connectionLost = computed(() => requestFailed.value || streamLost.value);

/** Notes whether a request got an answer. */
export function noteRequest(isAnswered: boolean): void {
  requestFailed.value = !isAnswered;
}

/** Notes whether the stream of the open chat is lost. */
export function noteStream(isLost: boolean): void {
  streamLost.value = isLost;
}
