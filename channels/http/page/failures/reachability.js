/**
 * Whether the gateway can be reached: one banner says that it cannot, whatever failed for that reason. It is shown until a
 * request gets an answer and the stream of the open chat is there again.
 */
import { byId } from '../dom.ts';

const failing = { requests: false, stream: false };

/** Notes whether a request got an answer. @param {boolean} isAnswered */
export function noteRequest(isAnswered) {
  show({ requests: !isAnswered });
}

/** Notes whether the stream of the open chat is lost. @param {boolean} isLost */
export function noteStream(isLost) {
  show({ stream: isLost });
}

/** True where the banner says it: no other notice is needed then. */
export function isBannerShown() {
  return banner().checkVisibility();
}

/** @param {Partial<typeof failing>} change */
function show(change) {
  Object.assign(failing, change);
  banner().hidden = !failing.requests && !failing.stream;
}

function banner() {
  return byId('connection-banner', HTMLElement);
}
