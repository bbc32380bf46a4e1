/** Which of several answers the page shows, without a browser. */
import { describe, expect, it } from 'vitest';
import {
  type TurnMarks,
  turnVisibilities,
} from '../../../../../../channels/http/page/chat/turn/turn-visibility.ts';

const question: TurnMarks = { turnId: 'a', questionLeftOut: false };
const answer = (turnId: string, nth: number, count: number, answerLeftOut: boolean): TurnMarks => ({
  ...(turnId === 'a' ? question : {}),
  turnId,
  answerLeftOut,
  tries: { of: 'a', nth, count },
});
const hidden = (turns: TurnMarks[]): string[] =>
  [...turnVisibilities(turns)].filter(([, { isHidden }]) => isHidden).map(([turnId]) => turnId);

describe('the answers to a question', () => {
  it('are shown one at a time: the one that the model reads, with its neighbors', () => {
    const turns = [answer('a', 1, 3, true), answer('b', 2, 3, false), answer('c', 3, 3, true)];
    expect(hidden(turns)).toEqual(['a', 'c']);
    expect(turnVisibilities(turns).get('b')).toEqual({
      isHidden: false,
      isQuestionHidden: false,
      isTakenBack: false,
      isLast: true,
      asksLast: false,
      place: { nth: 2, count: 3, before: 'a', after: 'c' },
    });
  });

  it('are all hidden while another one is being written', () => {
    expect(hidden([answer('a', 1, 2, true)])).toEqual(['a']);
  });

  it('have no neighbor if that is not loaded', () => {
    const place = turnVisibilities([answer('b', 2, 2, false)]).get('b')?.place;
    expect(place).toEqual({ nth: 2, count: 2, before: undefined, after: undefined });
  });

  it('are shown as undone with the last one, and what follows them stays the last of the chat', () => {
    const gone = { ...answer('a', 1, 2, true), questionLeftOut: true };
    const found = turnVisibilities([gone, answer('b', 2, 2, true), { turnId: 'z', questionLeftOut: false }]);
    expect([...found.values()].map(({ isTakenBack, isHidden }) => [isTakenBack, isHidden])).toEqual([
      [true, true],
      [true, false],
      [false, false],
    ]);
    expect([...found].filter(([, { isLast }]) => isLast).map(([turnId]) => turnId)).toEqual(['z']);
  });

  it('come with the wording of the question that they answer', () => {
    const wording = (turnId: string, nth: number, isOut: boolean): TurnMarks => ({
      turnId,
      questionLeftOut: isOut,
      answerLeftOut: isOut,
      tries: { of: 'a', nth, count: 3 },
    });
    const read = (...turns: TurnMarks[]): string[] =>
      [...turnVisibilities(turns)].map(([turnId, { isHidden, isQuestionHidden, asksLast }]) =>
        [turnId, turnId !== 'c' && !isQuestionHidden && 'asked', !isHidden && 'answered', asksLast && 'last']
          .filter((word) => word !== false)
          .join(' '),
      );
    const repeat: TurnMarks = { turnId: 'c', answerLeftOut: false, tries: { of: 'a', nth: 3, count: 3 } };
    expect(read(wording('a', 1, true), wording('b', 2, false))).toEqual(['a', 'b asked answered last']);
    expect(read(wording('a', 1, false), wording('b', 2, true))).toEqual(['a asked answered last', 'b']);
    // The second wording, whose second answer is the one that is read.
    const outdated = { ...wording('b', 2, true), questionLeftOut: false };
    expect(read(wording('a', 1, true), outdated, repeat)).toEqual(['a', 'b asked last', 'c answered']);
    // The second wording before its answer, and all of it taken back.
    const { answerLeftOut: _none, ...unanswered } = wording('b', 2, false);
    expect(read(wording('a', 1, true), unanswered)).toEqual(['a', 'b asked answered last']);
    expect(read(wording('a', 1, true), wording('b', 2, true))).toEqual(['a', 'b asked answered']);
  });

  it('need no marks: a single turn stands alone', () => {
    expect(turnVisibilities([{ turnId: 'x' }]).get('x')).toMatchObject({
      isHidden: false,
      isTakenBack: false,
    });
  });
});
