/** Tells a conversation, once, what its model's server is not sent because it refuses it. */
import type { EventBody } from '../../protocol/event.ts';
import type { SessionKey } from '../../protocol/message.ts';
import { type Omission, omissionText } from '../../protocol/agent/omissions.ts';
import { inEnglish, type Say } from '../../protocol/texts/say.ts';
import { Recent } from '../../lib/recent.ts';

/** A conversation is notified again after this time, in milliseconds. */
const NOTIFIED_MS = 24 * 60 * 60_000;
/** Conversations remembered at once. */
const MAX_NOTIFIED = 10_000;

/** Remembers what each conversation was notified of. */
export class OmissionNotices {
  readonly #notified: Recent<Set<string>>;

  /** `monotonicNow` is a clock in milliseconds. */
  constructor(monotonicNow: () => number = () => performance.now()) {
    this.#notified = new Recent(NOTIFIED_MS, MAX_NOTIFIED, monotonicNow);
  }

  /** Says what is left out of the requests to a model, in one line; nothing that this conversation has read before. */
  tell(
    { sessionKey, say = inEnglish }: { sessionKey: SessionKey; say?: Say | undefined },
    { model, omissions }: { model: string; omissions: readonly Omission[] },
    emit: (event: EventBody) => void,
  ): void {
    const notified = this.#notified.get(sessionKey) ?? new Set<string>();
    const fresh = omissions.filter((part) => !notified.has(`${model} ${part}`));
    if (fresh.length === 0) return;
    for (const part of fresh) notified.add(`${model} ${part}`);
    this.#notified.set(sessionKey, notified);
    const parts = fresh.map((part) => say.text(omissionText(part))).join('; ');
    emit({ type: 'notice', code: 'request_reduced', text: say('turn.omissions', { model, parts }) });
  }
}
