/** An inbound message as the model reads it. Pure. */
import type { InboundMessage } from '../../contracts/message.ts';

/** What the user said, with the files named that came along. */
export function messageText(message: InboundMessage): string {
  const files = message.media.map(
    ({ kind, name }) => `[attached ${kind}${name === undefined ? '' : `: ${name}`}]`,
  );
  return [message.content, ...files].filter((line) => line !== '').join('\n');
}
