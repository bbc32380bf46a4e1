/** Turns that may end without a message: an answer with little but the silent token is neither shown nor stored. */
import type { EventBody } from '../../protocol/event.ts';
import type { LiveTurn } from '../../protocol/delivery.ts';
import type { Emit } from '../deps.ts';
import { isSilentReply, withoutToken } from './silent-token.ts';
import type { TurnResult } from './agent-loop.ts';

/** Events held back until the end of the turn; beyond them only text is kept. */
export const MAX_HELD = 200;

export interface LiveOutputStart {
  /** Undefined = the turn is shown from its start. */
  silentToken: string | undefined;
  /** Text of the turn from before a crash. */
  textSoFar: string;
  open: () => LiveTurn;
  emit: Emit;
}

/** Output of a turn. */
export interface LiveOutput {
  readonly emit: Emit;
  /** The result to commit: without a text when the turn was silent. */
  finish(result: TurnResult): OutputResult;
  /** As `LiveTurn.settle`. */
  settle: LiveTurn['settle'];
  /** As `LiveTurn.shownOn`. */
  shownOn: LiveTurn['shownOn'];
}

export interface OutputResult extends TurnResult {
  silent: boolean;
  /** What a silent answer said besides the token. */
  unsaid?: string;
}

/**
 * Opens the live message at once. With a silent token nothing is shown before the end: small models write the token after
 * any number of words. Then an answer with little but the token is dropped, and any other is shown without the token.
 * Never throws.
 */
export function openLiveOutput({ silentToken, textSoFar, open, emit }: LiveOutputStart): LiveOutput {
  let live: LiveTurn | undefined;
  if (silentToken === undefined) live = open();
  const held = new HeldEvents(textSoFar);
  return {
    emit: (body) => {
      if (live !== undefined || AT_ONCE.has(body.type)) emit(body);
      else held.add(body);
    },
    finish(result) {
      if (live !== undefined || silentToken === undefined) return { ...result, silent: false };
      const text = withoutToken(result.text, silentToken);
      if (!result.isError && isSilentReply(result.text, silentToken))
        return { ...result, text: '', silent: true, unsaid: text };
      live = open();
      held.release(emit, text === result.text ? undefined : text);
      return { ...result, text, silent: false };
    },
    settle: async () => await live?.settle(),
    shownOn: () => live?.shownOn() ?? [],
  };
}

/** Events that people must see while the turn runs. */
const AT_ONCE: ReadonlySet<EventBody['type']> = new Set([
  'turn_started',
  'notice',
  'approval_needed',
  'approval_decided',
]);

/** What a turn has shown nobody yet. */
class HeldEvents {
  #earlierText: string;
  #events: EventBody[] = [];

  constructor(textSoFar: string) {
    this.#earlierText = textSoFar;
  }

  add(body: EventBody): void {
    switch (body.type) {
      case 'thinking_started':
      case 'thinking_delta':
      case 'thinking_finished':
        break;
      case 'stream_reset':
        this.#events = this.#events.filter((event) => !('msgId' in event && event.msgId === body.msgId));
        break;
      case 'snapshot':
        this.#earlierText = body.text;
        this.#events = this.#events.filter(({ type }) => !type.startsWith('stream_'));
        break;
      case 'stream_chunk':
        this.#addChunk(body);
        break;
      default:
        if (this.#events.length < MAX_HELD) this.#events.push(body);
    }
  }

  /** One event for the text of a call, however long it gets. */
  #addChunk(body: Extract<EventBody, { type: 'stream_chunk' }>): void {
    const last = this.#events.at(-1);
    if (last?.type === 'stream_chunk' && last.msgId === body.msgId)
      this.#events[this.#events.length - 1] = { ...last, delta: last.delta + body.delta };
    else this.#events.push(body);
  }

  /** Emits everything; with `wholeText` that text in place of the texts of the calls. */
  release(emit: Emit, wholeText: string | undefined): void {
    const isShown = ({ type }: EventBody): boolean => wholeText === undefined || !type.startsWith('stream_');
    const before = wholeText ?? this.#earlierText;
    if (wholeText === undefined && before !== '') emit({ type: 'snapshot', text: before });
    for (const body of this.#events.filter(isShown)) emit(body);
    if (wholeText !== undefined) emit({ type: 'snapshot', text: wholeText });
  }
}
