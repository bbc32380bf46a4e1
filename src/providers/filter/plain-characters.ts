/** What a character outside any mark means, by its place in the answer. */
import { bareCandidate, beginsBareCall, type Candidate, fenceCandidate } from './candidates.ts';
import { type FilterState, MAX_HELD_CALL, MAX_HELD_MARKS } from './filter-state.ts';
import { type CallsPlace, START, TEMPLATE_SET, TEXT } from './places.ts';
import { endCalls, endTemplateThought } from './read-marks.ts';
import { beginsCode, mayBeCalls } from './text-calls.ts';
import { FOR_ALL, FUNCTIONARY } from './marks.ts';

const BLANK = /\s/;
/** Backticks that make a fence. */
const FENCE = 3;

/** Takes a character; false when it only ended the previous place and must be taken again. */
export function takePlain(state: FilterState, character: string): boolean {
  const { place, out } = state;
  switch (place.at) {
    case 'start':
      return takeAtStart(state, character);
    case 'text':
      // Backticks wait for what follows: a fence may hold a call.
      if (character === '`') countTick(state);
      else out.text(character);
      return true;
    case 'code':
      return takeCode(state, place.ticks, character);
    case 'thought':
      if (place.implicit) state.hold(character);
      place.begun ||= !BLANK.test(character);
      if (place.begun) out.thinking(character);
      return true;
    case 'after_thought':
      endTemplateThought(state, place, character);
      return false;
    case 'calls':
      takeInCalls(state, place, character);
      return true;
    case 'header':
      state.hold(character, MAX_HELD_MARKS);
      return true;
    case 'candidate':
      return takeCandidate(state, place, character);
    case 'after_fence':
    case 'after_turn':
      if (BLANK.test(character)) {
        state.hold(character, MAX_HELD_MARKS);
        return true;
      }
      state.giveUp();
      return false;
    default:
      return place satisfies never;
  }
}

function takeAtStart(state: FilterState, character: string): boolean {
  const { out, habits } = state;
  if (BLANK.test(character)) {
    state.hold(character, MAX_HELD_MARKS);
    return true;
  }
  if (out.hasCalls && ';,'.includes(character)) return true;
  if (out.isFirst && habits.startsInThought) {
    state.place = { at: 'thought', set: TEMPLATE_SET, implicit: true, begun: false };
    return false;
  }
  const blanks = state.release();
  // Blanks after a thought or a call are not part of the text.
  if (out.isFirst) out.text(blanks);
  const mayCall = out.offered.size > 0 && beginsBareCall(character, out.offered);
  state.place = mayCall ? { at: 'candidate', candidate: bareCandidate(out.offered), chars: 0 } : TEXT;
  return false;
}

/** What may be calls is held; at its first characters most of what is none is found out. */
function takeInCalls(state: FilterState, place: CallsPlace, character: string): void {
  state.hold(character, MAX_HELD_CALL);
  if (state.place !== place) return;
  if (place.head !== undefined) {
    place.head += character;
    const isFunctionary = place.begin.trimStart() === FUNCTIONARY;
    if (isFunctionary && FOR_ALL.startsWith(place.head)) {
      if (place.head !== FOR_ALL) return;
      state.release();
      state.place = TEXT;
      return;
    }
    // Python's prompt looks the same, but never stands before a name on a line of its own.
    const verdict = isFunctionary
      ? beginsCode(place.head, state.out.offered)
      : mayBeCalls(place.head, state.out.offered);
    if (verdict === 'no' || verdict === 'code') {
      state.giveUp();
      return;
    }
    if (verdict !== 'open') place.head = undefined;
  }
  if (place.closes?.(character) === true) endCalls(state, '');
}

function countTick(state: FilterState): void {
  if (state.ticks === 0) state.beforeTicks = state.previous;
  state.ticks += 1;
}

/** Backticks were written and something else follows: inline code, a fence, or a fence that may hold a call. */
export function openCode(state: FilterState): void {
  const { ticks, beforeTicks, out } = state;
  state.ticks = 0;
  const atLineStart = beforeTicks === '' || beforeTicks === '\n';
  if (ticks >= FENCE && atLineStart && out.offered.size > 0) {
    state.place = { at: 'candidate', candidate: fenceCandidate(ticks, out.offered), chars: 0 };
    return;
  }
  out.text('`'.repeat(ticks));
  state.place = { at: 'code', ticks };
}

function takeCode(state: FilterState, ticks: number, character: string): boolean {
  const run = state.ticks;
  const isFence = ticks >= FENCE;
  state.ticks = character === '`' ? run + 1 : 0;
  if (character !== '`' && (isFence ? run >= ticks : run === ticks)) {
    state.place = TEXT;
    // A mark after code is not in quotes.
    state.previous = '';
    return false;
  }
  state.out.text(character);
  // Inline code that never ends was a stray backtick.
  if (!isFence && character === '\n') state.place = TEXT;
  return true;
}

function takeCandidate(
  state: FilterState,
  place: { candidate: Candidate; chars: number },
  character: string,
): boolean {
  const { candidate } = place;
  const { out } = state;
  const verdict = candidate.addCharacter(character);
  place.chars += 1;
  if (verdict === 'open' && place.chars <= MAX_HELD_CALL) return true;
  if (verdict === 'text') {
    // The character that showed it may begin something else.
    out.text(candidate.raw().slice(0, -1));
    state.place = TEXT;
    return false;
  }
  const calls = verdict === 'closed' ? candidate.calls(out.offered) : undefined;
  if (calls === undefined) {
    out.text(candidate.raw());
    const staysOpen = candidate.ticks > 0 && verdict !== 'closed';
    state.place = staysOpen ? { at: 'code', ticks: candidate.ticks } : TEXT;
    state.ticks = staysOpen && character === '`' ? 1 : 0;
  } else if (candidate.isLast) {
    state.hold(candidate.raw());
    state.place = { at: 'after_fence', calls };
  } else {
    out.calls(calls);
    state.place = START;
  }
  return true;
}
