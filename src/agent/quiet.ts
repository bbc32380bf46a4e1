/** Turns that may have nothing to say: an answer that is only the quiet token opens no screen and leaves nothing behind. */
import type { EventBody } from '../event.ts';
import type { LiveTurn } from '../live.ts';
import type { TurnResult } from './turn.ts';

/** Events held back until it is known whether the turn speaks; of more, only the text is kept. */
export const MAX_HELD = 200;
/** Text longer than this speaks, whatever it is made of, in UTF-16 units. */
export const MAX_QUIET_CHARS = 400;

export interface ScreenStart {
  /** Undefined = the turn speaks from the start. */
  quietToken: string | undefined;
  /** What the turn has said before a crash. */
  textSoFar: string;
  /** Something of the turn is on screen already. */
  begun: boolean;
  open: () => LiveTurn;
  emit: (body: EventBody) => void;
}

/** Where a turn is seen. */
export interface Screen {
  readonly watch: (body: EventBody) => void;
  /** The result as it is to be committed: without a text when the turn was quiet. */
  end(result: TurnResult): ScreenResult;
  /** As `LiveTurn.settle`. */
  settle(): Promise<void>;
}

export interface ScreenResult extends TurnResult {
  quiet: boolean;
}

/** Opens the screen at once, or, with a quiet token, as soon as the text can no longer be that token. Never throws. */
export function openScreen({ quietToken, textSoFar, begun, open, emit }: ScreenStart): Screen {
  let live: LiveTurn | undefined;
  let held: EventBody[] = [];

  const speak = (): void => {
    live = open();
    for (const body of held) emit(body);
    held = [];
  };
  const said = (): string =>
    textSoFar + held.map((body) => (body.type === 'stream_chunk' ? body.delta : '')).join('');
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
      default:
        if (held.length < MAX_HELD || body.type === 'stream_chunk') held.push(body);
        if (quietToken !== undefined && !mayBeQuiet(said(), quietToken)) speak();
    }
  };
  if (quietToken === undefined || begun || !mayBeQuiet(textSoFar, quietToken)) speak();
  return {
    watch: (body) => (live === undefined ? hold(body) : emit(body)),
    end(result) {
      if (live === undefined && quietToken !== undefined && isQuiet(result.text, quietToken)) {
        return { ...result, text: '', quiet: true };
      }
      if (live === undefined) speak();
      return { ...result, quiet: false };
    },
    settle: async () => await live?.settle(),
  };
}

/** Only letters and digits count: people's marks around the token, and its case, do not. */
function letters(text: string): string {
  return text.toUpperCase().replaceAll(/[^\p{L}\p{N}]/gu, '');
}

/** True while the text may still become the token, once or more often (each model call of a turn may say it). */
function mayBeQuiet(text: string, token: string): boolean {
  if (text.length > MAX_QUIET_CHARS) return false;
  const one = letters(token);
  const heard = letters(text);
  return one !== '' && one.repeat(Math.ceil(heard.length / one.length)).startsWith(heard);
}

/** True when the whole text is the token. */
function isQuiet(text: string, token: string): boolean {
  const heard = letters(text);
  return heard !== '' && heard.length % letters(token).length === 0 && mayBeQuiet(text, token);
}
