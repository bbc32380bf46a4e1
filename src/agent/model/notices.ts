/** Tells a conversation, once, what its model's server is not sent because it refuses it. */
import { isMcpTool } from '../../protocol/agent/profile.ts';
import type { EventBody } from '../../protocol/event.ts';
import { TtlCache } from '../../lib/ttl-cache.ts';
import type { FittedPrompt } from '../prompt/context-window.ts';
import type { PromptStart } from '../prompt/system-prompt.ts';
import type { Turn } from '../turn/turn-state.ts';
import type { SessionKey } from '../../protocol/message.ts';
import { type Omission, omissionText } from '../../protocol/agent/omissions.ts';
import { inEnglish, type Say } from '../../protocol/texts/say.ts';

/** How long a conversation is not notified of the same again, in milliseconds, and how many notices are remembered. */
export const NOTICE_TTL_MS = 24 * 60 * 60_000;

const MAX_NOTICES = 10_000;

export class SmallWindowNotices {
  readonly #notices: TtlCache<true>;

  /** `monotonicNow` is a clock in milliseconds. */
  constructor(monotonicNow: () => number = () => performance.now()) {
    this.#notices = new TtlCache(NOTICE_TTL_MS, MAX_NOTICES, monotonicNow);
  }

  /** Emits what the conversation was not notified of yet about a prompt for a window of so many tokens. Never throws. */
  note(
    turn: Turn,
    model: string,
    window: number,
    start: PromptStart,
    fitted: FittedPrompt,
    emit: (event: EventBody) => void,
  ): void {
    // The conversation of a subagent is nobody's.
    if (turn.parentTurnId !== undefined) return;
    const { schemas, hidden: hiddenTools } = start.tools;
    const about = { model, tokens: window };
    const gatewayTools = hiddenTools.filter((name) => !isMcpTool(name));
    if (schemas.length === 0 && hiddenTools.length > 0) {
      this.#notify(turn, `none ${model}`, () => turn.say('turn.no_tools_fit', about), emit);
    } else if (gatewayTools.length > 0) {
      // Tools of servers behind the pair are no loss that a person notices; `/status` counts them.
      const counts = {
        ...about,
        offered: turn.prepared.tools.size - hiddenTools.length,
        all: turn.prepared.tools.size,
      };
      this.#notify(turn, `fewer ${model}`, () => turn.say('turn.fewer_tools', counts), emit);
    }
    const conversation = turn.history.reduce((sum, { tokens }) => sum + tokens, 0);
    if (fitted.parts.history < conversation) {
      this.#notify(turn, 'history', () => turn.say('turn.history_left_out'), emit);
    }
  }

  #notify(turn: Turn, topic: string, text: () => string, emit: (event: EventBody) => void): void {
    const key = `${turn.sessionKey} ${topic}`;
    if (this.#notices.get(key) === true) return;
    this.#notices.set(key, true);
    turn.log.info({ what: topic }, 'small_window');
    emit({ type: 'notice', code: 'small_window', text: text() });
  }
}

/** A conversation is notified again after this time, in milliseconds. */
const NOTIFIED_MS = 24 * 60 * 60_000;
/** Conversations remembered at once. */
const MAX_NOTIFIED = 10_000;

/** Remembers what each conversation was notified of. */
export class OmissionNotices {
  readonly #notified: TtlCache<Set<string>>;

  /** `monotonicNow` is a clock in milliseconds. */
  constructor(monotonicNow: () => number = () => performance.now()) {
    this.#notified = new TtlCache(NOTIFIED_MS, MAX_NOTIFIED, monotonicNow);
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
