/** Turns that may end without a message: an answer with little but the silent token is neither shown nor stored. */
import type { EventBody } from '../../protocol/event.ts';
import type { LiveTurn } from '../../protocol/delivery.ts';
import type { Emit } from '../deps.ts';

import type { TurnEmitter } from '../../protocol/bus.ts';
import type { Turn, TurnResult } from './turn-state.ts';

/** Longest rest of an answer with the token that still counts as "nothing to report", in UTF-16 units. */
export const MAX_SILENT_REST = 300;

/** Events held back until the end of the turn; beyond them only text is kept. */
export const MAX_HELD = 200;

/** Output of a turn. */
export interface LiveOutput {
  /** Notes an event for the trace, and emits it or holds it back. */
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
 * Opens the live message of `turn` at once. With a silent token nothing is shown before the end: small models write the token after
 * any number of words. Then an answer with little but the token is dropped, and any other is shown without the token.
 * Never throws.
 */
export function openLiveOutput(
  { silentToken, reply, trace }: Turn,
  open: () => LiveTurn,
  emitter: TurnEmitter,
): LiveOutput {
  let live: LiveTurn | undefined;
  if (silentToken === undefined) live = open();
  const events = new HeldEvents(reply.text);
  return {
    emit(event) {
      trace?.event(event);
      if (live !== undefined || AT_ONCE.has(event.type)) emitter.emit(event);
      else events.add(event);
    },
    finish(result) {
      if (live !== undefined || silentToken === undefined) return { ...result, silent: false };
      const text = withoutToken(result.text, silentToken);
      if (!result.isError && isSilentReply(result.text, silentToken))
        return { ...result, text: '', silent: true, unsaid: text };
      live = open();
      events.release(emitter, text === result.text ? undefined : text);
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
  release(emitter: TurnEmitter, wholeText: string | undefined): void {
    const isShown = ({ type }: EventBody): boolean => wholeText === undefined || !type.startsWith('stream_');
    const text = wholeText ?? this.#earlierText;
    if (wholeText === undefined && text !== '') emitter.emit({ type: 'snapshot', text });
    for (const body of this.#events.filter(isShown)) emitter.emit(body);
    if (wholeText !== undefined) emitter.emit({ type: 'snapshot', text: wholeText });
  }
}

/** True when there is no text, or it has the token and little else. */
function isSilentReply(text: string, token: string): boolean {
  if (text === '' || isRepeated(text, token)) return true;
  const rest = withoutToken(text, token);
  return rest !== text && rest.length <= MAX_SILENT_REST;
}

/** The text without the token and the markup at it, trimmed if it had one. */
function withoutToken(text: string, token: string): string {
  const escaped = Array.from(token, (character) =>
    /[\p{L}\p{N}]/u.test(character) ? character : `\\\\?\\u{${character.codePointAt(0)?.toString(16)}}`,
  );
  const pattern = new RegExp(
    `[*_~\`"'“”]{0,8}(?<![\\p{L}\\p{N}])${escaped.join('')}(?![\\p{L}\\p{N}])[*_~\`"'“”]{0,8}`,
    'giu',
  );
  const rest = text.replace(pattern, '');
  return rest === text ? text : rest.trim();
}

/**
 * True for a turn with a silent token whose text so far says nothing: it is the token, its beginning, or the token with
 * little else.
 */
export function isSilent(token: string | undefined, text: string): boolean {
  return token !== undefined && (isSilentReply(text, token) || isBeginning(text, token));
}

/** Only letters and digits count: punctuation around the token and its case do not. */
function letters(text: string): string {
  return text.toUpperCase().replaceAll(/[^\p{L}\p{N}]/gu, '');
}

/** The token, once or more often (each model call of a turn may write it). */
function isRepeated(text: string, token: string): boolean {
  const content = letters(text);
  return content !== '' && content.length % letters(token).length === 0 && isBeginning(text, token);
}

function isBeginning(text: string, token: string): boolean {
  const one = letters(token);
  const content = letters(text.slice(0, MAX_SILENT_REST));
  return (
    one !== '' &&
    text.length <= MAX_SILENT_REST &&
    one.repeat(Math.ceil(content.length / one.length)).startsWith(content)
  );
}
