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
  const reader = new TextReader(new FilterState(out, habits));
  const { state } = reader;
  /** The text that passed last: it ends with the last character. */
  let passed = '';

  const passes = (text: string): boolean => {
    if (reader.isHolding || text === '') return false;
    if (state.place === START) {
      if (!out.isFirst || state.isHolding || habits.startsInThought || MAY_BEGIN_ANSWER.test(text))
        return false;
      state.place = TEXT;
      out.hasText = true;
    } else if (state.place !== TEXT || state.ticks > 0 || MAY_BEGIN.test(text)) return false;
    passed = text;
    return true;
  };
  return {
    passes,
    filterChunk(chunk) {
      if (chunk.type === 'text') {
        state.previous = passed.at(-1) ?? state.previous;
        passed = '';
        reader.feed(chunk.delta);
      } else if (chunk.type === 'done') {
        reader.end(chunk.finishReason === 'length');
        const called = out.hasCalls && chunk.finishReason === 'stop';
        out.push(called ? { ...chunk, finishReason: 'tool_calls' } : chunk);
      } else {
        // A server that separates thoughts leaves no partial one in the text.
        if (chunk.type === 'thinking') habits.startsInThought = false;
        out.push(chunk);
      }
      return out.takeChunks();
    },
    get over() {
      return state.over;
    },
  };
}

/** Reads the text of an answer character by character: marks change what the text after them is. */
class TextReader {
  readonly #scanner = new MarkScanner();
  readonly state: FilterState;

  constructor(state: FilterState) {
    this.state = state;
  }

  /** True within what may become a mark. */
  get isHolding(): boolean {
    return this.#scanner.held !== '';
  }

  feed(text: string): void {
    for (let at = 0; at < text.length && !this.state.over; at += 1) this.#readCharacter(text[at] ?? '');
  }

  end(cutOff: boolean): void {
    const { state } = this;
    // The beginning of a mark that is never completed is plain text.
    for (const character of this.#scanner.release()) while (!takePlain(state, character));
    if (takeEnd(state, cutOff) === 'ended') return;
    this.feed(state.release());
    this.end(cutOff);
  }

  #readCharacter(character: string): void {
    const { state } = this;
    if (state.ticks > 0 && state.place === TEXT && character !== '`') openCode(state);
    const set = marksIn(state.place);
    if (this.#scanner.isPlain(set, character)) {
      this.#takePlainly(character);
      return;
    }
    if (!this.isHolding) state.beforeMark = state.previous;
    const { plain, rest, mark } = this.#scanner.scanCharacter(set, character);
    if (mark !== undefined) takeMark(state, mark);
    else if (plain !== '') {
      this.#takePlainly(plain);
      this.feed(rest);
    }
  }

  #takePlainly(character: string): void {
    const { state } = this;
    while (!takePlain(state, character)) {
      if (!this.#scanner.isPlain(marksIn(state.place), character)) {
        this.#readCharacter(character);
        return;
      }
    }
    state.previous = character;
  }
}
