/**
 * One filter behind every provider: thoughts, tool calls and turn marks that a model wrote into its text are removed
 * from it, character by character, so that it does not matter where a stream is cut into pieces.
 *
 * A thought counts where the answer begins, or if the model is known to begin in one. A tool call counts when it names
 * an offered tool. Nothing counts in code, and no call after a quotation mark: there an answer talks about markup.
 */
import type { ModelHabits } from '../learned.ts';
import type { AnswerFilter } from '../answers/read-answer.ts';
import type { MakeToolCall, OfferedTools } from '../answers/tool-calls.ts';
import { FilterState } from './filter-state.ts';
import { FilteredOutput } from './filtered-output.ts';
import { openCode, takePlain } from './plain-characters.ts';
import { marksIn, START, TEXT } from './places.ts';
import { takeEnd, takeMark } from './read-marks.ts';
import { MarkScanner } from './scanner.ts';

/** What the filter knows about the request and the model. */
export interface FilterOptions {
  offered: OfferedTools;
  makeCall: MakeToolCall;
  habits: Pick<ModelHabits, 'startsInThought'>;
}

/** What may start something in the text of an answer, and at its beginning. */
const MAY_BEGIN = /[<[`◁]/;
const MAY_BEGIN_ANSWER = /^\s|[<[`{◁]/;

/** Makes the filter of one answer. */
export function createAnswerFilter({ offered, makeCall, habits }: FilterOptions): AnswerFilter {
  const out = new FilteredOutput(offered, makeCall);
  const state = new FilterState(out, habits);
  const scanner = new MarkScanner();
  /** The text that passed last: it ends with the last character. */
  let passed = '';

  const passes = (text: string): boolean => {
    if (scanner.held !== '' || text === '') return false;
    if (state.place === START) {
      if (!out.isFirst || state.isHolding || habits.startsInThought || MAY_BEGIN_ANSWER.test(text))
        return false;
      state.place = TEXT;
      out.hasText = true;
    } else if (state.place !== TEXT || state.ticks > 0 || MAY_BEGIN.test(text)) return false;
    passed = text;
    return true;
  };

  const takePlainly = (character: string): void => {
    while (!takePlain(state, character)) {
      if (!scanner.isPlain(marksIn(state.place), character)) {
        takeCharacter(character);
        return;
      }
    }
    state.previous = character;
  };

  const takeCharacter = (character: string): void => {
    if (state.ticks > 0 && state.place === TEXT && character !== '`') openCode(state);
    const set = marksIn(state.place);
    if (scanner.isPlain(set, character)) {
      takePlainly(character);
      return;
    }
    if (scanner.held === '') state.beforeMark = state.previous;
    const { plain, rest, mark } = scanner.take(set, character);
    if (mark !== undefined) takeMark(state, mark);
    else if (plain !== '') {
      takePlainly(plain);
      feed(rest);
    }
  };

  const feed = (text: string): void => {
    for (let at = 0; at < text.length && !state.over; at += 1) takeCharacter(text[at] ?? '');
  };

  const end = (cutOff: boolean): void => {
    // The beginning of a mark that is never completed is plain text.
    for (const character of scanner.release()) while (!takePlain(state, character));
    if (takeEnd(state, cutOff) === 'ended') return;
    feed(state.release());
    end(cutOff);
  };

  return {
    passes,
    take(chunk) {
      if (chunk.type === 'text') {
        state.previous = passed.at(-1) ?? state.previous;
        passed = '';
        feed(chunk.delta);
      } else if (chunk.type === 'done') {
        end(chunk.finishReason === 'length');
        const called = out.hasCalls && chunk.finishReason === 'stop';
        out.push(called ? { ...chunk, finishReason: 'tool_calls' } : chunk);
      } else {
        // A server that separates thoughts leaves no partial one in the text.
        if (chunk.type === 'thinking') habits.startsInThought = false;
        out.push(chunk);
      }
      return out.take();
    },
    get over() {
      return state.over;
    },
  };
}
