/** Turns that may end without a message: an answer that is only the silent token is neither shown nor stored. */
import type { EventBody } from '../../contracts/event.ts';
import type { LiveTurn } from '../../contracts/delivery.ts';
import type { Emit } from '../deps.ts';
import { isSilent, mayBeSilent, isSilentReply } from './silent-token.ts';
import type { TurnResult } from './agent-loop.ts';

/** Events held back until it is known whether the turn has an answer; beyond them only text is kept. */
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
}

/** Opens the live message at once or, with a silent token, as soon as the text can no longer be that token. Never throws. */
export function openLiveOutput({ silentToken, textSoFar, open, emit }: LiveOutputStart): LiveOutput {
  let live: LiveTurn | undefined;
  let earlierText = textSoFar;
  let held: EventBody[] = [];

  const goLive = (): void => {
    live = open();
    if (earlierText !== '') emit({ type: 'snapshot', text: earlierText });
    for (const body of held) emit(body);
    held = [];
  };
  const shownText = (): string =>
    earlierText + held.map((body) => (body.type === 'stream_chunk' ? body.delta : '')).join('');
  const hold = (body: EventBody): void => {
    switch (body.type) {
      case 'turn_started':
      case 'notice':
      case 'approval_needed':
      case 'approval_decided':
        emit(body);
        break;
      case 'thinking_started':
      case 'thinking_delta':
      case 'thinking_finished':
        break;
      case 'stream_reset':
        held = held.filter((before) => !('msgId' in before && before.msgId === body.msgId));
        emit(body);
        break;
      case 'snapshot':
        earlierText = body.text;
        held = held.filter(({ type }) => !type.startsWith('stream_'));
        break;
      default:
        if (held.length < MAX_HELD || body.type === 'stream_chunk') held.push(body);
        if (silentToken !== undefined && !mayBeSilent(shownText(), silentToken)) goLive();
    }
  };
  // Live from the start: new subscribers get the text so far.
  if (!isSilent(silentToken, textSoFar)) live = open();
  return {
    emit: silentToken === undefined ? emit : (event) => (live === undefined ? hold(event) : emit(event)),
    finish(result) {
      if (live === undefined && silentToken !== undefined && isSilentReply(result.text, silentToken)) {
        return { ...result, text: '', silent: true };
      }
      if (live === undefined) goLive();
      return { ...result, silent: false };
    },
    settle: async () => await live?.settle(),
    shownOn: () => live?.shownOn() ?? [],
  };
}
