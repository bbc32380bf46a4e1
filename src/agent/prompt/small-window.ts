/** Notifies a conversation, once each, of what a small window costs it: tools that are not offered, turns that fell out of the prompt. */
import { isMcpTool } from '../../protocol/agent/profile.ts';
import type { EventBody } from '../../protocol/event.ts';
import { Recent } from '../../lib/recent.ts';
import type { TurnContext, TurnIdentity } from '../state/turn-state.ts';
import type { FittedPrompt } from './context-window.ts';
import type { PromptStart } from './system-prompt.ts';

/** How long a conversation is not notified of the same again, in milliseconds, and how many notices are remembered. */
export const NOTICE_TTL_MS = 24 * 60 * 60_000;
const MAX_NOTICES = 10_000;

/** A prompt as it was made for a window. */
export interface MadePrompt {
  model: string;
  /** In tokens. */
  window: number;
  start: PromptStart;
  fitted: FittedPrompt;
}

/** The parts of a turn that are read. */
type NotifiedTurn = Pick<TurnIdentity, 'sessionKey' | 'parentTurnId' | 'say' | 'log'> &
  Pick<TurnContext, 'prepared' | 'history'>;

export class SmallWindowNotices {
  readonly #notices: Recent<true>;

  /** `monotonicNow` is a clock in milliseconds. */
  constructor(monotonicNow: () => number = () => performance.now()) {
    this.#notices = new Recent(NOTICE_TTL_MS, MAX_NOTICES, monotonicNow);
  }

  /** Emits what the conversation was not notified of yet. Never throws. */
  note(
    turn: NotifiedTurn,
    { model, window, start, fitted }: MadePrompt,
    emit: (event: EventBody) => void,
  ): void {
    // The conversation of a subagent is nobody's.
    if (turn.parentTurnId !== undefined) return;
    const { schemas, hidden } = start.tools;
    const about = { model, tokens: window };
    const own = hidden.filter((name) => !isMcpTool(name));
    if (schemas.length === 0 && hidden.length > 0) {
      this.#notify(turn, `none ${model}`, () => turn.say('turn.no_tools_fit', about), emit);
    } else if (own.length > 0) {
      // Tools of servers behind the pair are no loss that a person notices; `/status` counts them.
      const counts = {
        ...about,
        offered: turn.prepared.tools.size - hidden.length,
        all: turn.prepared.tools.size,
      };
      this.#notify(turn, `fewer ${model}`, () => turn.say('turn.fewer_tools', counts), emit);
    }
    const conversation = turn.history.reduce((sum, { tokens }) => sum + tokens, 0);
    if (fitted.parts.history < conversation) {
      this.#notify(turn, 'history', () => turn.say('turn.history_left_out'), emit);
    }
  }

  #notify(turn: NotifiedTurn, what: string, text: () => string, emit: (event: EventBody) => void): void {
    const key = `${turn.sessionKey} ${what}`;
    if (this.#notices.get(key) === true) return;
    this.#notices.set(key, true);
    turn.log.info({ what }, 'small_window');
    emit({ type: 'notice', code: 'small_window', text: text() });
  }
}
