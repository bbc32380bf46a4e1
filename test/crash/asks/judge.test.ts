/** What the judge of a run with questions finds, and what it lets pass. */
import { describe, expect, it } from 'vitest';
import { type AskEvidence, type ChatEvidence, judgeAsks } from './judge.ts';

const chat = (
  name: string,
  ...texts: (string | [text: string, buttons: number, sentAt: number])[]
): ChatEvidence => ({
  chat: name,
  shown: texts.map((one, id) => {
    const [text, buttons, sentAt] = typeof one === 'string' ? [one, 0, 0] : one;
    return { id, text, buttons, sentAt };
  }),
});
const ASKED = 'Anna has me ask you:\n\nAsked for s00#0: well?\n\nYou have answered.';
const CARD = '◆ default has finished: Look after s90#0 in peace';

/** A run in which one person was asked and one subagent worked, with these changes. */
const judged = (change: Partial<AskEvidence> = {}): ReturnType<typeof judgeAsks> =>
  judgeAsks({
    wanted: ['s00#0'],
    answered: new Map([['s00#0', 'reply']]),
    friends: [chat('7200', 'echo: hello', ASKED)],
    owners: [chat('7101', 'Approved by API. wipe\n"word": "s00#0"')],
    worker: chat('7103', CARD),
    cards: 1,
    results: ['Answer to s00#0.'],
    deaths: [5_000],
    ...change,
  });

describe('the judge of questions', () => {
  it('finds nothing in a run in which everything ended once', () => {
    expect(judged()).toEqual({ lost: [], storedTwice: [], seenTwice: [], ambiguous: [] });
  });

  it('finds answers that were not read, or were read twice, and people who read that theirs was not passed on', () => {
    expect(judged({ results: [] }).lost).toEqual(['s00#0: the answer was not read']);
    expect(judged({ results: ['Answer to s00#0.', 'Answer to s00#0.'] }).storedTwice).toHaveLength(1);
    const friends = [chat('7200', ASKED, 'Nothing was passed on: you have already answered this question.')];
    expect(judged({ friends }).lost).toHaveLength(1);
  });

  it('finds people who were not asked, and questions that did not end', () => {
    expect(judged({ friends: [chat('7200')] }).lost).toEqual(['s00#0: nobody was asked']);
    const open = ASKED.replace('You have answered.', 'Your next message');
    expect(judged({ friends: [chat('7200', [open, 3, 0])] }).lost).toHaveLength(2);
  });

  it('finds cards that are missing or left open, on any screen', () => {
    expect(judged({ worker: chat('7103') }).lost).toEqual(['the subagent of s90#0 has no card']);
    const working = CARD.replace('has finished', 'is working in the background');
    expect(judged({ worker: chat('7103', [working, 1, 0]) }).lost).toHaveLength(2);
    expect(judged({ owners: [chat('7101', ['May I do this? wipe', 3, 0])] }).lost).toHaveLength(1);
    const copied = (seen: number, end = CARD) => judged({ worker: chat('7103', [working, 1, seen], end) });
    expect(copied(4_900)).toMatchObject({ lost: [], ambiguous: [expect.stringContaining('2 times')] });
    expect(copied(3_900)).toMatchObject({ lost: [`left open: ${working}`, expect.any(String)] });
    expect(copied(4_900, working).lost).not.toEqual([]);
  });

  it('finds second copies, unless a kill may have taken the reply to the first', () => {
    const copies = (seen: number) => judged({ friends: [chat('7200', [ASKED, 0, seen], [ASKED, 0, 9_000])] });
    expect(copies(1_000).seenTwice).toHaveLength(1);
    expect(copies(4_100)).toMatchObject({ seenTwice: [], ambiguous: [expect.stringContaining('2 times')] });
  });
});
