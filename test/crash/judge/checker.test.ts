/** The judge of crash runs detects each failure it is meant to, and nothing in a run without failures. */
import { describe, expect, it } from 'vitest';
import { SUMMARY_INSTRUCTION } from '../../../src/agent/after-turn/compress.ts';
import { type Evidence, judge, type Verdict } from './checker.ts';
import { messageAt, questionOf, readQuestion, scriptedAnswer, wholeAnswer } from '../script.ts';
import { classify } from './windows.ts';
import type { TurnRow } from '../rows.ts';

const SEED = 1;
const CHAT = 'telegram:-100';
const SORRY = 'Sorry, *this* could not be answered.';
/** Sessions of the script as this run names them: the first on HTTP, the second on Telegram. */
const KEYS = ['http:s00', CHAT];

/** A run of two sessions with six messages each, one kill and no failure. */
function cleanRun(): Evidence {
  const accepted = KEYS.flatMap((_, session) =>
    Array.from({ length: 6 }, (_, index) => messageAt(SEED, session, index)),
  );
  const turns = accepted.map((said, at): TurnRow => {
    const question = readQuestion(said.text);
    if (question === undefined) throw new Error('The script does not understand itself.');
    return {
      id: `turn-${said.id}`,
      session: KEYS[Math.floor(at / 6)] ?? '',
      laneSeq: said.index + 1,
      userSeq: said.index * 2 + 1,
      finalSeq: said.index * 2 + 2,
      state: 'done',
      reason: 'completed',
      question: said.text,
      answers: [wholeAnswer(question)],
    };
  });
  const effects = new Map(
    turns.flatMap((turn) =>
      (readQuestion(turn.question)?.rounds ?? []).flatMap((round, at) =>
        round.map((effect, part): [string, number] => [`${effect} ${turn.id}.${at + 1}.${part}`, 1]),
      ),
    ),
  );
  const shown = turns.filter((turn) => turn.session === CHAT);
  return {
    accepted,
    refused: [],
    final: { turns, parts: new Map(shown.map((turn, at) => [turn.id, [String(at + 1)]])), deadLetters: 0 },
    asked: accepted.map(({ session, index }) => ({ session, index })),
    effects,
    screens: new Map([
      [CHAT, shown.map((turn, at) => ({ id: String(at + 1), text: turn.answers[0] ?? '' }))],
    ]),
    kills: [{ rows: { turns: [], deliveries: [] }, screens: new Map(), effects: new Map() }],
    streams: [],
    orphans: [],
    exits: [],
  };
}

function turnOf(evidence: Evidence, at: number): TurnRow {
  const turn = evidence.final.turns[at];
  if (turn === undefined) throw new Error(`There is no turn ${at}.`);
  return turn;
}

/** The evidence of a kill about a turn that it struck. */
function struck(evidence: Evidence, turn: TurnRow, parts: string[] | null): void {
  const kill = evidence.kills[0];
  kill?.rows.turns.push({
    id: turn.id,
    address: CHAT,
    instance: null,
    state: 'running',
    question: turn.question,
    journal: [],
    parts,
  });
  for (const [chat, messages] of evidence.screens) kill?.screens.set(chat, [...messages]);
}

/** Shows the answer of a Telegram turn a second time. */
function showAgain(evidence: Evidence, turn: TurnRow): void {
  evidence.screens.get(CHAT)?.push({ id: '99', text: turn.answers[0] ?? '' });
}

/** A turn failed; its chat shows a text instead of an answer. */
function fail(evidence: Evidence, turn: TurnRow, shown: string): void {
  Object.assign(turn, { reason: 'failed', answers: [SORRY] });
  const [id] = evidence.final.parts.get(turn.id) ?? [];
  const message = evidence.screens.get(CHAT)?.find((each) => each.id === id);
  if (message !== undefined) message.text = shown;
}

/** A reader of the event stream saw a turn, with the stored text unless it matters. */
function watch(evidence: Evidence, turn: TurnRow, { text = turn.answers[0] ?? '', ends = 1 }): void {
  const seen = new Map([[turn.id, { texts: new Map([['call', text]]), ends }]]);
  Object.assign(evidence, { streams: [seen] });
}

type Failure = keyof Omit<Verdict, 'ambiguous'>;

const planted: [Failure, string, (evidence: Evidence) => void][] = [
  ['lost', 'a message without a turn', (run) => void run.final.turns.splice(3, 1)],
  ['lost', 'a turn without an answer', (run) => void turnOf(run, 2).answers.pop()],
  ['lost', 'a turn that never ended', (run) => Object.assign(turnOf(run, 2), { state: 'running' })],
  ['lost', 'an answer cut short', (run) => Object.assign(turnOf(run, 2), { answers: ['answer to'] })],
  ['lost', 'an answer that is not on screen', (run) => void run.screens.get(CHAT)?.pop()],
  [
    'lost',
    'a message whose text stayed unfinished',
    (run) => Object.assign(run.screens.get(CHAT)?.[1] ?? {}, { text: 'answer' }),
  ],
  ['lost', 'a message that was refused', (run) => Object.assign(run, { refused: ['s00#1: 429'] })],
  ['reordered', 'messages stored in another order', (run) => Object.assign(turnOf(run, 1), { userSeq: 99 })],
  ['reordered', 'answers in another order', (run) => Object.assign(turnOf(run, 1), { finalSeq: 99 })],
  [
    'reordered',
    'a model that is asked backwards',
    (run) => Object.assign(run, { asked: run.asked.toReversed() }),
  ],
  [
    'reordered',
    'a screen in another order',
    (run) => void run.screens.set(CHAT, run.screens.get(CHAT)?.toReversed() ?? []),
  ],
  [
    'storedTwice',
    'a message accepted twice',
    (run) => void run.final.turns.push({ ...turnOf(run, 11), laneSeq: 9, userSeq: 90, finalSeq: 91 }),
  ],
  [
    'storedTwice',
    'an answer stored twice',
    (run) => turnOf(run, 4).answers.push(turnOf(run, 4).answers[0] ?? ''),
  ],
  ['seenTwice', 'an answer shown twice', (run) => showAgain(run, turnOf(run, 8))],
  [
    'seenTwice',
    'a stream that told other words',
    (run) => watch(run, turnOf(run, 1), { text: 'answer', ends: 1 }),
  ],
  ['seenTwice', 'a stream that ended a turn twice', (run) => watch(run, turnOf(run, 1), { ends: 2 })],
  ['orphans', 'a process that outlived its gateway', (run) => Object.assign(run, { orphans: ['bwrap'] })],
  ['exits', 'a gateway that ended by itself', (run) => Object.assign(run, { exits: ['code 1'] })],
  [
    'lost',
    'a failure without a word',
    (run) => Object.assign(turnOf(run, 2), { reason: 'failed', answers: [] }),
  ],
  ['lost', 'a failure that no screen tells', (run) => fail(run, turnOf(run, 8), 'answer to')],
  [
    'seenTwice',
    'a stream that told a failure in other words',
    (run) => {
      fail(run, turnOf(run, 2), '');
      watch(run, turnOf(run, 2), { text: '' });
    },
  ],
  ['failed', 'a turn that failed', (run) => Object.assign(turnOf(run, 5), { reason: 'failed' })],
];

describe('the judge of crash runs', () => {
  it('does not mistake a summary of earlier questions for a question', () => {
    const { text } = messageAt(SEED, 0, 0);
    const user = { role: 'user' as const, content: `User: ${text}` };
    const request = { model: 'm', stream: true, truncate: false, shift: false };
    expect(questionOf({ ...request, messages: [user] })?.id).toBe('s00#0');
    const record = { role: 'user' as const, content: `${SUMMARY_INSTRUCTION}\n\n${user.content}` };
    const summary = { ...request, messages: [record] };
    expect(questionOf(summary)).toBeUndefined();
    expect([scriptedAnswer(summary).text].flat().join('')).toBe('Questions were asked and answered.');
  });

  it('reports nothing for a run without failures', () => {
    const clean: Verdict = {
      lost: [],
      reordered: [],
      storedTwice: [],
      effectsTwice: [],
      seenTwice: [],
      ambiguous: [],
      failed: [],
      orphans: [],
      exits: [],
    };
    const run = cleanRun();
    watch(run, turnOf(run, 1), {});
    expect(judge(run)).toEqual(clean);
  });

  it.each(planted)('calls %s: %s', (failure, _what, plant) => {
    const run = cleanRun();
    plant(run);
    expect(judge(run)[failure]).not.toEqual([]);
  });

  it('treats a failure as reported when its chat shows the stored sentence, whatever its markup', () => {
    const run = cleanRun();
    fail(run, turnOf(run, 8), 'Sorry, this could not be answered.');
    expect(judge(run)).toMatchObject({ lost: [], failed: [expect.stringContaining(SORRY)] });
  });

  it('detects an unsafe effect that happened twice', () => {
    const run = cleanRun();
    const key = [...run.effects.keys()].find((each) => each.startsWith('unsafe ')) ?? 'unsafe ?';
    run.effects.set(key, 2);
    expect(judge(run).effectsTwice).toEqual([`${key}: 2 times`]);
  });

  it('detects a call that got a second key', () => {
    const run = cleanRun();
    run.effects.set(`idempotent ${turnOf(run, 1).id}.7.0`, 1);
    expect(judge(run).effectsTwice).toHaveLength(1);
  });

  it('detects a finished pure call that ran again after the kill', () => {
    const run = cleanRun();
    const turn = turnOf(run, 0);
    struck(run, turn, null);
    run.kills[0]?.rows.turns[0]?.journal.push({ iteration: 1, kind: 'tool_result', part: 0, toolNames: [] });
    run.kills[0]?.effects.set(`pure ${turn.id}.1.0`, 1);
    run.effects.set(`pure ${turn.id}.1.0`, 2);
    expect(judge(run).effectsTwice).toContain(`pure ${turn.id}.1.0: again after its result was stored`);
  });

  it('counts a second message separately only when a kill took the answer to its sending', () => {
    const run = cleanRun();
    const turn = turnOf(run, 8);
    showAgain(run, turn);
    struck(run, turn, null);
    expect(judge(run)).toMatchObject({ ambiguous: [expect.any(String)], seenTwice: [] });

    const known = cleanRun();
    showAgain(known, turn);
    struck(known, turn, ['99']);
    expect(judge(known), 'its id was stored, so it should have been edited').toMatchObject({ ambiguous: [] });
    expect(judge(known).seenTwice).toHaveLength(1);
  });

  it('distinguishes the windows of a kill', () => {
    const question = 'Question s00#0 tools=unsafe words=9 please';
    const turn = {
      id: 't',
      address: 'http:s00',
      instance: null,
      state: 'running' as const,
      question,
      parts: null,
    };
    const answer = { iteration: 1, kind: 'assistant', part: 0, toolNames: ['unsafe_probe'] };
    const intent = { ...answer, kind: 'tool_intent', toolNames: [] };
    const result = { ...answer, kind: 'tool_result', toolNames: [] };
    const journals = { T2: [], T3: [answer], T4: [answer, intent], T6: [answer, intent, result] };
    for (const [window, journal] of Object.entries(journals)) {
      const { hits, running } = classify({ turns: [{ ...turn, journal }], deliveries: [] }, 0);
      expect({ hits, running }).toMatchObject({ hits: { [window]: 1 }, running: 1 });
      expect(Object.values(hits).reduce((sum, count) => sum + count)).toBe(1);
    }
    const growing = { ...turn, address: CHAT, journal: journals.T6 };
    expect(classify({ turns: [growing], deliveries: [{ ref: 'u', parts: null }] }, 2).hits).toEqual({
      T1: 2,
      T2: 0,
      T3: 0,
      T4: 0,
      T5: 1,
      T6: 1,
      T7: 1,
    });
  });
});
