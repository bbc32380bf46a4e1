/**
 * One filter behind every provider: thoughts, tool calls and turn marks that a model wrote into its text are removed
 * from it, character by character, so that it does not matter where a stream is cut into pieces.
 *
 * A thought counts where the answer begins, or if the model is known to begin in one. A tool call counts when it names
 * an offered tool. Nothing counts in code, and no call after a quotation mark: there an answer talks about markup.
 */
import type { AnswerFilter } from '../answers/read-answer.ts';
import type { MakeToolCall, OfferedTools, TextCall } from '../answers/tool-calls.ts';
import { FilteredOutput, FilterState } from './filter-state.ts';
import { openCode, takePlain } from './plain-characters.ts';
import { AT_LINE, AT_START, CALLS, IN_TEXT, type Mark } from './marks.ts';
import { beginsBareCall } from './candidates.ts';
import { MarkScanner, marksIn, START, TEXT } from './places.ts';
import { takeEnd, takeMark } from './read-marks.ts';

/** What may start something in the text of an answer, and at its beginning. */
const MAY_BEGIN = beginnings(IN_TEXT, AT_LINE);
const MAY_BEGIN_ANSWER = beginnings(AT_START, AT_LINE);
const BLANK_OR_BRACKET = /^[\s{]/;

/** Makes the filter of one answer to a request that offered these tools. */
export function createAnswerFilter(
  offered: OfferedTools,
  makeCall: MakeToolCall,
  habits: FilterState['habits'],
): AnswerFilter {
  const out = new FilteredOutput(offered, makeCall);
  const reader = new TextReader(new FilterState(out, habits));
  const { state } = reader;
  /** The text that passed last: it ends with the last character. */
  let lastText = '';

  const passes = (text: string): boolean => {
    if (reader.isHolding || text === '') return false;
    if (state.place === START) {
      if (!out.isFirst || state.isHolding || habits.startsInThought) return false;
      if (BLANK_OR_BRACKET.test(text) || MAY_BEGIN_ANSWER.test(text)) return false;
      if (offered.size > 0 && beginsBareCall(text[0] ?? '', offered)) return false;
      state.place = TEXT;
      out.hasText = true;
    } else if (state.place !== TEXT || state.ticks > 0 || MAY_BEGIN.test(text)) return false;
    lastText = text;
    out.hasWords ||= /\S/.test(text);
    return true;
  };
  return {
    passes,
    filterChunk(chunk) {
      if (chunk.type === 'text') {
        state.previous = lastText.at(-1) ?? state.previous;
        lastText = '';
        reader.feed(chunk.delta);
      } else if (chunk.type === 'done') {
        reader.end(chunk.finishReason === 'length');
        if (!out.hasWords && !out.hasCalls && chunk.finishReason === 'stop')
          out.calls(callsInThought(out.tail.text, offered));
        const hasCalls = out.hasCalls && chunk.finishReason === 'stop';
        out.push(hasCalls ? { ...chunk, finishReason: 'tool_calls' } : chunk);
      } else {
        // A server that separates thoughts leaves no partial one in the text.
        if (chunk.type === 'thinking') {
          habits.startsInThought = false;
          out.tail.add(chunk.delta);
        }
        out.push(chunk);
      }
      return out.takeChunks();
    },
    get over() {
      return state.over;
    },
  };
}

/**
 * A pattern that rules out nearly all texts in which no mark begins. Of marks that begin with a letter, the text must
 * have all, or end within them; those of lines must begin where a line may.
 */
function beginnings(anywhere: readonly Mark[], atLine: readonly Mark[]): RegExp {
  const firsts = (marks: readonly Mark[]): string[] => [
    ...new Set(marks.map(({ literal }) => literal[0] ?? '')),
  ];
  const isWord = (text: string): boolean => /^[a-z]/i.test(text);
  const markers = firsts(anywhere).filter((first) => !isWord(first));
  const lines = firsts(atLine).filter((first) => !markers.includes(first));
  const words = anywhere.map(({ literal }) => literal).filter(isWord);
  const within = words.map((word) =>
    word
      .split('')
      .reduceRight((rest, character) => `${escaped(character)}(?:$${rest === '' ? '' : `|${rest}`})`, ''),
  );
  return new RegExp(
    [`[${markers.map(escaped).join('')}\`]`, `(?:^|\\n)[${lines.map(escaped).join('')}]`, ...within].join(
      '|',
    ),
  );
}

/** A text as a pattern that finds it. */
function escaped(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, String.raw`\$&`);
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
    const set = marksIn(state.place, state.previous);
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
      if (!this.#scanner.isPlain(marksIn(state.place, state.previous), character)) {
        this.#readCharacter(character);
        return;
      }
    }
    state.previous = character;
  }
}

/** How many marks at the end of a thought may begin its calls. */
const MAX_CALLS_IN_THOUGHT = 8;

/**
 * The calls with which a thought ends. They count if an answer has neither text nor calls: the model forgot to end its
 * thought, or its server took the calls for a part of it.
 */
function callsInThought(thinking: string, offered: OfferedTools): TextCall[] {
  if (offered.size === 0) return [];
  const starts = [...thinking.matchAll(CALL_MARKS)].map(({ index }) => index).slice(-MAX_CALLS_IN_THOUGHT);
  for (const start of starts) {
    const calls: TextCall[] = [];
    const out = new FilteredOutput(offered, (call) => {
      calls.push(call);
      return { id: '', name: call.name, args: {} };
    });
    const reader = new TextReader(new FilterState(out, { startsInThought: false }));
    reader.feed(thinking.slice(start));
    reader.end(false);
    if (calls.length > 0 && !out.hasWords) return calls;
  }
  return [];
}

const CALL_MARKS = new RegExp(CALLS.map(({ literal }) => escaped(literal)).join('|'), 'g');
