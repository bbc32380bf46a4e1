/** The judge of linked chats itself: each kind of violation is found, and nothing allowed is reported. */
import { describe, expect, it } from 'vitest';
import { messageAt, readQuestion, wholeAnswer } from '../script.ts';
import { judgeLinks, type LinkEvidence } from './judge.ts';

const PAGE = 'http:s00';
const CHAT = 'telegram:1';
const OTHER = 'discord:2';
const NONE = { lost: [], reordered: [], storedTwice: [], seenTwice: [], ambiguous: [], failed: [] };

/** Two questions of one chat, answered in both, as required. */
function run(
  change: (evidence: ReturnType<typeof good>) => void = () => undefined,
): ReturnType<typeof judgeLinks> {
  const evidence = good();
  change(evidence);
  return judgeLinks(evidence satisfies LinkEvidence);
}

function good() {
  const said = [0, 1].map((index) => ({ ...messageAt(1, 0, index, [[]]), address: CHAT }));
  const answers = said.map(({ text }) => {
    const question = readQuestion(text);
    if (question === undefined) throw new Error('no question');
    return wholeAnswer(question).trim();
  });
  const turns = said.map(({ text }, at) => ({
    id: `t${at}`,
    session: PAGE,
    address: CHAT,
    laneSeq: at + 1,
    state: 'done',
    reason: 'completed' as string | null,
    question: text,
    answers: [answers[at] ?? ''],
    createdAt: 100 + at * 10,
    endedAt: 105 + at * 10,
  }));
  const parts = new Map<string, string[]>();
  const screens = new Map<string, { id: string; text: string }[]>([
    [CHAT, []],
    [OTHER, []],
  ]);
  for (const [at, { text }] of said.entries()) {
    const ids = [String(10 + at), String(20 + at * 2), String(21 + at * 2)];
    parts.set(`t${at}`, [ids[0] ?? '']);
    parts.set(`t${at}:asked@${OTHER}`, [ids[1] ?? '']);
    parts.set(`t${at}@${OTHER}`, [ids[2] ?? '']);
    screens.get(CHAT)?.push({ id: ids[0] ?? '', text: answers[at] ?? '' });
    screens.get(OTHER)?.push({ id: ids[1] ?? '', text: `Ada on Telegram: ${text}` });
    screens.get(OTHER)?.push({ id: ids[2] ?? '', text: answers[at] ?? '' });
  }
  const members = [PAGE, CHAT, OTHER].map((address) => ({
    address: address as `${string}:${string}`,
    session: PAGE,
    from: 1,
    until: 1_000,
  }));
  return {
    said,
    refused: [] as string[],
    turns,
    parts,
    screens,
    members,
    struck: new Map<string, Set<string>>(),
  };
}

describe('the judge of linked chats', () => {
  it('finds nothing when all is well', () => {
    expect(run()).toEqual(NONE);
  });

  it('finds what one of the chats does not show', () => {
    expect(run(({ screens }) => screens.get(OTHER)?.pop()).lost).toEqual([
      expect.stringContaining('s00#1: not in discord:2'),
    ]);
    expect(run(({ screens }) => screens.get(CHAT)?.shift()).lost).toHaveLength(1);
    expect(run(({ screens }) => screens.get(OTHER)?.shift()).lost).toEqual([
      expect.stringContaining('s00#0'),
    ]);
    expect(run(({ turns }) => turns.pop()).lost).toEqual(['s00#1: no turn']);
  });

  it('expects nothing of a chat that joined or left in the meantime', () => {
    const gone = (from: number, until: number) =>
      run(({ members, screens }) => {
        Object.assign(members[2] ?? {}, { from, until });
        screens.get(OTHER)?.splice(2, 2);
      });
    expect(gone(1, 111)).toEqual(NONE);
    expect(gone(111, 1_000).lost).toEqual([]);
    expect(gone(1, 116).lost).toHaveLength(2);
  });

  it('finds what is shown again, except a send whose reply a kill took', () => {
    const twice = (struck: boolean, id = '99') =>
      run(({ screens, struck: kills }) => {
        const [first] = screens.get(OTHER) ?? [];
        screens.get(OTHER)?.push({ id, text: first?.text ?? '' });
        if (struck) kills.set(OTHER, new Set(['99']));
      });
    expect(twice(false).seenTwice).toHaveLength(1);
    // Another chat has a message with that number.
    expect(twice(false, '10').seenTwice).toEqual([expect.stringContaining('shows s00#0 again')]);
    expect(twice(true)).toMatchObject({ seenTwice: [], ambiguous: [expect.stringContaining('discord:2')] });
  });

  it('finds a different order, two turns of one message, and a failure', () => {
    const swap = run(({ parts }) => {
      parts.set('t0', ['11']);
      parts.set('t1', ['10']);
    });
    expect(swap.reordered).toHaveLength(1);
    expect(
      run(({ turns }) =>
        turns.splice(0, 2, ...turns.toReversed().map((turn, at) => ({ ...turn, laneSeq: at + 1 }))),
      ).reordered,
    ).not.toEqual([]);
    expect(run(({ turns }) => turns.push({ ...turns[0]!, id: 't9' })).storedTwice).toHaveLength(1);
    expect(run(({ turns }) => (turns[0]!.reason = 'failed')).failed).toHaveLength(1);
  });

  it('reads the order on a screen from the screen: ids of some platforms are unordered', () => {
    const texts = (change: Parameters<typeof run>[0] = () => undefined) =>
      run((evidence) => {
        const named = (id: string) => `$${100 - Number(id)}:fake.test`;
        for (const shown of evidence.screens.values())
          for (const message of shown) message.id = named(message.id);
        for (const [ref, ids] of evidence.parts) evidence.parts.set(ref, ids.map(named));
        change(evidence);
      });
    expect(texts()).toEqual(NONE);
    const swapped = texts(({ screens }) => screens.set(CHAT, screens.get(CHAT)?.toReversed() ?? []));
    expect(swapped.reordered).toHaveLength(1);
  });
});
