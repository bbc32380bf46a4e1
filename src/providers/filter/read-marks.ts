/** What a mark means, by its place in the answer; and what the end of the answer means. */
import { createBracketScan, readName } from '../answers/tool-calls.ts';
import { type FilterState, MAX_HELD_CALL, MAX_HELD_MARKS } from './filter-state.ts';
import type { Mark } from './marks.ts';
import { type CallsPlace, endsOf, MESSAGE_SET, START, TEXT } from './places.ts';

/** Characters after which a call is only quoted, and those before which the end of a thought is. */
const QUOTES = '"\'`“„‘«‹';
const PUNCTUATION = '"\'`”’»›.,;:)?!';

/** Takes a mark that counts in the current place. */
export function takeMark(state: FilterState, mark: Mark): void {
  const { place, out } = state;
  state.previous = '';
  switch (mark.kind) {
    case 'thought':
      state.release();
      state.place = { at: 'thought', set: endsOf(mark), implicit: false, begun: false };
      break;
    case 'end_of_thought':
      if (place.at === 'text') {
        state.place = { at: 'after_thought', before: state.beforeMark, literal: mark.literal };
      } else endThought(state);
      break;
    case 'calls':
      if (out.offered.size === 0 || (state.beforeMark !== '' && QUOTES.includes(state.beforeMark))) {
        passAsText(state, mark.literal);
      } else beginCalls(state, mark);
      break;
    case 'end_of_calls':
      if (place.at === 'calls') endCalls(state, mark.literal);
      else if (!out.hasCalls) passAsText(state, mark.literal);
      break;
    case 'wrapper':
      state.release();
      state.wrapperEnd = mark.end;
      state.place = TEXT;
      break;
    case 'end_of_wrapper':
      if (state.wrapperEnd === mark.literal) endTurn(state, mark.literal);
      else passAsText(state, mark.literal);
      break;
    case 'end_of_turn':
      if (mark.literal === '</s>' && place.at === 'text' && state.speaksOfMarkup)
        passAsText(state, mark.literal);
      else endTurn(state, mark.literal);
      break;
    case 'role':
      state.over = true;
      break;
    case 'header':
      endTurn(state, '');
      state.release();
      state.place = { at: 'header' };
      state.hold(mark.literal);
      break;
    case 'end_of_header':
      readHeader(state, state.release());
      break;
    case 'mention':
      state.speaksOfMarkup = true;
      passAsText(state, mark.literal);
      break;
    default:
      mark satisfies never;
  }
}

/** Blanks before an answer are a part of it, unless it is only calls; what else was held are marks, as the calls show. */
function beginCalls(state: FilterState, mark: Mark & { kind: 'calls' }): void {
  const blanks = state.place.at === 'start' && state.out.isFirst ? state.release() : '';
  state.release();
  state.place = callsPlace(mark, blanks);
  state.hold(blanks + mark.literal, MAX_HELD_CALL);
}

/** The place after a mark that begins calls. */
function callsPlace({ literal, until, ...mark }: Mark & { kind: 'calls' }, blanks: string): CallsPlace {
  const closes = until.length === 0 ? createBracketScan() : undefined;
  for (const character of literal.split('')) closes?.(character);
  return { at: 'calls', set: endsOf({ ...mark, literal, until }), begin: blanks + literal, head: '', closes };
}

/** The answer has ended, `cutOff` at its token limit. What is open gets the meaning that it has so far. */
export function takeEnd(state: FilterState, cutOff: boolean): 'ended' | 'again' {
  const { place, out, habits } = state;
  switch (place.at) {
    case 'start':
      if (out.isFirst) out.text(state.release());
      break;
    case 'text':
      out.text('`'.repeat(state.ticks));
      break;
    case 'thought':
      if (!place.implicit || cutOff) break;
      // The model did not think this time: what was shown as a thought is its answer.
      habits.startsInThought = false;
      state.place = START;
      return 'again';
    case 'after_thought':
      endTemplateThought(state, place, '');
      break;
    case 'calls':
      endCalls(state, '');
      break;
    case 'candidate':
      out.text(place.candidate.raw());
      break;
    case 'after_fence':
      out.calls(place.calls);
      break;
    case 'code':
    case 'after_turn':
    case 'header':
      break;
    default:
      place satisfies never;
  }
  return 'ended';
}

/**
 * Whether the end of a thought was one, by the character after it (none at the end of the answer): then the text before
 * it was thinking. In an answer about markup, or with thoughts of its own, it is text.
 */
export function endTemplateThought(
  state: FilterState,
  { before, literal }: { before: string; literal: string },
  next: string,
): void {
  const { out } = state;
  const isMention = (next !== '' && PUNCTUATION.includes(next)) || (before === ' ' && next === ' ');
  if (isMention || state.speaksOfMarkup || out.hasThought || out.hasCalls) {
    passAsText(state, literal);
    return;
  }
  out.push({ type: 'text_was_thinking' });
  state.habits.startsInThought = true;
  endThought(state);
}

function endThought(state: FilterState): void {
  state.release();
  state.out.hasThought = true;
  state.place = START;
}

function passAsText(state: FilterState, literal: string): void {
  passBlanks(state);
  state.out.text(literal);
  state.place = TEXT;
}

/** Blanks at the beginning are part of the text that follows; those after a thought or a call are not. */
function passBlanks(state: FilterState): void {
  const blanks = state.release();
  if (state.out.isFirst) state.out.text(blanks);
}

/** Calls, or what seemed to be some, have ended; `end` is the mark of their end. */
export function endCalls(state: FilterState, end: string): void {
  const { place, out } = state;
  if (place.at !== 'calls') return;
  const block = state.release() + end;
  if (place.name === undefined) state.place = out.markedCalls(block, place.begin, end) ? START : TEXT;
  else {
    out.calls([{ name: place.name, args: block }]);
    state.place = START;
  }
}

/** The model ends its turn, or one of its messages (harmony). */
function endTurn(state: FilterState, literal: string): void {
  const { place, out } = state;
  if (place.at === 'calls') endCalls(state, '');
  else if (place.at === 'after_fence') out.calls(place.calls);
  else if (place.at === 'thought') out.hasThought = true;
  else if (place.at === 'start' && literal !== '') passBlanks(state);
  if (place.at !== 'after_turn' && place.at !== 'text') state.release();
  state.place = { at: 'after_turn' };
  // Text that follows would show that the mark was only mentioned: in text only.
  if (place.at === 'text' || place.at === 'after_turn') state.hold(literal, MAX_HELD_MARKS);
}

/** `<|start|>assistant<|channel|>commentary to=functions.list_dir <|constrain|>json`: what the message is, and for whom. */
function readHeader(state: FilterState, header: string): void {
  const { out } = state;
  const [, recipient = ''] = /to=([\w.:-]{1,80})/.exec(header) ?? [];
  const [, channel = 'final'] = /<\|channel\|>\s{0,8}([a-z]{1,20})/.exec(header) ?? [];
  const name = readName(recipient, out.offered);
  if (/<\|start\|>(user|system|developer)/.test(header)) state.over = true;
  else if (out.offered.has(name)) state.place = { at: 'calls', set: MESSAGE_SET, begin: '', name };
  else if (channel === 'analysis' || recipient !== '') {
    state.place = { at: 'thought', set: MESSAGE_SET, implicit: false, begun: false };
  } else state.place = TEXT;
}
