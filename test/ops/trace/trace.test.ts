/** The notes of an attempt, the text of a trace, and how refusals are counted. */
import { describe, expect, it } from 'vitest';
import { beginningOf, TraceNotes } from '../../../src/agent/turn/trace-notes.ts';
import { pricesRule } from '../../../src/protocol/agent/usage.ts';
import type { ChatMessage } from '../../../src/protocol/agent/provider.ts';
import {
  MAX_PROMPT_MESSAGE_CHARS,
  MAX_PROMPT_MESSAGES,
  MAX_PROMPT_SYSTEM_CHARS,
  MAX_PROMPT_TOOLS,
  MAX_SPAN_CHARS,
  MAX_SPANS,
  type Refusal,
  type TraceAttempt,
  type TurnFacts,
} from '../../../src/protocol/store/traces.ts';
import type { ContextRecord } from '../../../src/protocol/store/records.ts';
import { duration, explainTurn } from '../../../src/ops/trace/explain.ts';
import { createRefusalNotes, FLUSH_MS, MAX_NOTED } from '../../../src/ops/trace/traces.ts';
import { whyText } from '../../../src/ops/trace/commands.ts';
import { costOfTurn, timelineOf } from '../../../src/ops/trace/timeline.ts';
import { builtInLanguages } from '../../fakes/gateway/languages.ts';
import { silentLog } from '../../database.ts';
import { FakeClock } from '../../fakes/clock.ts';
import { attempt, FACTS, START } from './turn-facts.ts';

const german = builtInLanguages.say({ language: 'de' });
const why = (facts: Partial<TurnFacts>, detail = true) => explainTurn({ ...FACTS, ...facts }, detail);

describe('the start of an attempt', () => {
  const row = (kind: 'user' | 'assistant'): ContextRecord => ({
    seq: 1,
    turnId: 't1',
    iteration: kind === 'user' ? 0 : 1,
    entry: kind === 'user' ? { kind, content: 'hello' } : { kind, content: '', toolCalls: [], msgId: 't1.1' },
    tokens: 1,
  });

  it('is new, asks again, or resumes', () => {
    expect(beginningOf(0, { journal: [] })).toEqual({});
    expect(beginningOf(0, { journal: [row('user')], askedAgain: 't0' })).toEqual({ askedAgain: 't0' });
    expect(beginningOf(0, { journal: [row('user')] })).toEqual({ resumed: true });
    expect(beginningOf(1, { journal: [row('user')], askedAgain: 't0' })).toEqual({ resumed: true });
    const answered = [row('user'), row('assistant')];
    expect(beginningOf(0, { journal: answered, askedAgain: 't0' })).toEqual({ resumed: true });
  });
});

describe('the notes of an attempt', () => {
  it(`keep ${MAX_SPANS} spans and count the rest`, () => {
    const notes = new TraceNotes(START, String);
    for (let n = 0; n < MAX_SPANS + 3; n += 1) notes.event({ type: 'notice', code: 'x', text: `${n}` });
    const { spans, dropped } = notes.end('completed', 'default');
    expect([spans.length, dropped]).toEqual([MAX_SPANS, 3]);
  });

  it('clip long texts, record nothing per token, and show what is still running', () => {
    const notes = new TraceNotes(START, String);
    notes.event({ type: 'stream_chunk', msgId: 'm', delta: 'secret words' });
    notes.event({ type: 'notice', code: 'x', text: 'y'.repeat(MAX_SPAN_CHARS + 1) });
    notes.event({ type: 'tool_call', toolCallId: 'c', name: 'look', args: { word: 'secret words' } });
    notes.calling(2, { model: 'qwen', messages: [], contextWindow: 1 });
    const { spans } = notes.snapshot('default');
    expect(spans).toMatchObject([
      { kind: 'note' },
      { kind: 'tool', name: 'look' },
      { kind: 'model_call', model: 'qwen' },
    ]);
    expect(spans[0]).toHaveProperty('text', `${'y'.repeat(MAX_SPAN_CHARS - 1)}…`);
    expect(spans.slice(1).every((span) => !('ms' in span))).toBe(true);
    expect(JSON.stringify(spans)).not.toContain('secret words');
  });

  it('name the model of a planning call, so that its cost is counted', () => {
    const notes = new TraceNotes(START, String);
    const usage = { promptTokens: 2_000_000, completionTokens: 1_000_000, modelMs: 5 };
    notes.event({ type: 'thinking_started', msgId: 'p', title: 'Analysing the request' });
    notes.event({ type: 'thinking_finished', msgId: 'p', usage, model: 'qwen' });
    const attempts = [notes.end('completed', 'default')];
    expect(attempts[0]?.spans).toMatchObject([{ title: 'Analysing the request', model: 'qwen' }]);
    const prices = pricesRule.parse({ models: { qwen: { input: 1, output: 3 } } });
    expect(costOfTurn({ ...FACTS, attempts }, prices)).toEqual({ amount: 5, currency: 'USD' });
  });

  it('keep the prompt of the newest call, cut and without secrets', () => {
    const notes = new TraceNotes(START, (text) => text.replaceAll('token-42', '[secret]'));
    const tool = { name: 'look', description: 'Looks.', parameters: {} };
    const said = (n: number): ChatMessage => ({
      role: 'user',
      content: `message ${n} ${'x'.repeat(MAX_PROMPT_MESSAGE_CHARS)}`,
    });
    notes.calling(1, { model: 'qwen', messages: [said(0)], contextWindow: 1 });
    notes.calling(2, {
      model: 'qwen',
      contextWindow: 1,
      messages: [
        { role: 'system', content: `Be brief. token-42 ${'s'.repeat(MAX_PROMPT_SYSTEM_CHARS)}` },
        ...Array.from({ length: MAX_PROMPT_MESSAGES + 2 }, (_, n) => said(n)),
        {
          role: 'assistant',
          content: '',
          toolCalls: [{ id: 'c', name: 'look', args: { at: 'token-42' } }],
        },
      ],
      tools: Array.from({ length: MAX_PROMPT_TOOLS + 1 }, () => tool),
    });
    const { prompt } = notes.end('completed', 'default');
    expect(prompt).toMatchObject({ iteration: 2, model: 'qwen', omitted: 3 });
    expect(prompt?.messages).toHaveLength(1 + MAX_PROMPT_MESSAGES);
    expect(prompt?.messages[0]?.content).toMatch(/^Be brief\. \[secret\] s+\n\[… \d+ characters left out/);
    expect(prompt?.messages[0]?.tokens).toBeGreaterThan(MAX_PROMPT_SYSTEM_CHARS / 3);
    expect(prompt?.messages[1]?.content).toMatch(/^message 3 x+\n\[… \d+ characters left out …\]\nx+$/);
    expect(prompt?.messages.at(-1)).toMatchObject({ role: 'assistant', content: 'look({"at":"[secret]"})' });
    expect(prompt?.tools).toHaveLength(MAX_PROMPT_TOOLS);
    expect(prompt?.tools[0]).toEqual({ name: 'look', tokens: expect.any(Number) });
  });
});

describe('why a message has no answer', () => {
  it('distinguishes a dead letter, an answer that nothing tries to deliver, and a dead gateway', () => {
    const queue = { ...FACTS.queue, dead: true, error: 'The gateway crashed 3 times.', crashes: 3 };
    expect(why({ reason: 'failed', queue })).toMatchObject({
      code: 'dead_letter',
      why: 'It was given up after 0 failed attempts and 3 crashes: The gateway crashed 3 times. "npx parley dead-letters" lists and replays it.',
    });
    const delivery = { ahead: 2, attempts: 0, waitedMs: 0, dueInMs: 0, dead: false };
    expect(why({ delivery }).code).toBe('delivery_waits');
    expect(why({ delivery: { ...delivery, ahead: 0, dueInMs: 3_000 } }).why).toContain('asked for a pause');
    expect(why({ state: 'queued', gateways: 0 }).code).toBe('no_gateway');
    const died = { ...FACTS.queue, crashes: 1 };
    expect(why({ state: 'running', queue: died })).toMatchObject({ code: 'retried' });
    const collecting = { ...FACTS.queue, dueInMs: 1_200 };
    expect(why({ state: 'queued', queue: collecting })).toMatchObject({ code: 'collecting' });
  });

  it('is given in the language of the user who asks', () => {
    const inGerman = (facts: Partial<TurnFacts>): string =>
      explainTurn({ ...FACTS, ...facts }, true, german).why;
    const queue = { ahead: 0, dueInMs: 0, attempts: 3, crashes: 1, dead: true, error: 'no room.' };
    expect(inGerman({ queue })).toBe(
      'Sie wurde nach 3 fehlgeschlagenen Versuchen und 1 Absturz aufgegeben: no room. „npx parley dead-letters“ zeigt sie und holt sie nach.',
    );
    expect(inGerman({ reason: 'cut_off' })).toBe(
      'Sie wurde nach 105 ms beantwortet; die Antwort hat ihre größte Länge erreicht.',
    );
    const refusal: Refusal = {
      address: 'telegram:1',
      senderId: '',
      code: 'too_large',
      detail: '',
      count: 2,
      lastAt: new Date(0),
    };
    expect(whyText({ turn: undefined, refusals: [refusal] }, german)).toBe(
      '2 Nachrichten, die letzte von jemand in telegram:1 um 1970-01-01T00:00:00.000Z, wurden nicht zu Runden (too_large): sie ist zu lang.\nNoch keine Nachricht dieses Chats wurde zu einer Runde.',
    );
  });

  it('hides error texts from users who may not read them', () => {
    const error = { code: 'unavailable', message: 'http://10.0.0.7 refused' };
    const spans = [{ kind: 'model_call' as const, atMs: 1, ms: 2, iteration: 1, model: 'qwen', error }];
    const failed = { reason: 'failed', failure: { code: 'unavailable' }, attempts: [attempt({ spans })] };
    expect(why(failed, true).why).toBe('It failed with unavailable: http://10.0.0.7 refused.');
    expect(why(failed, false).why).toBe('It failed with unavailable.');
    expect(JSON.stringify(timelineOf({ ...FACTS, ...failed }, { detail: false }))).not.toContain('10.0.0.7');
    const nameless = attempt({
      spans: spans.map((span) => ({ ...span, model: '' })),
    });
    const [, , line] = timelineOf({ ...FACTS, attempts: [nameless] }, { detail: true });
    expect(line?.text).toBe('model call 1: unknown model, failed: unavailable (http://10.0.0.7 refused)');
  });

  it('is given in the language of its reader, with the counts of its events', () => {
    const note = (code: string, values: Record<string, number | string>) => ({
      kind: 'note' as const,
      atMs: 1,
      code,
      text: '',
      values,
    });
    const spans = [
      note('context_compressed', { before: 900, after: 90 }),
      note('messages_joined', { count: 2 }),
      { kind: 'tool' as const, atMs: 2, ms: 3, name: 'exec', callId: 'c', isError: true },
    ];
    const facts = {
      ...FACTS,
      attempts: [attempt({ spans })],
      endedMs: 9,
      reason: 'stopped',
    };
    const texts = timelineOf(facts, { detail: true, say: german }).map(({ text }) => text);
    expect(texts).toEqual([
      'die Nachricht wurde angenommen',
      'nach 5 ms in der Warteschlange auf Knoten n1, Profil default',
      'frühere Nachrichten wurden zusammengefasst: 900 auf 90 Tokens',
      '2 weitere Nachrichten derselben Person kamen zu dieser Runde dazu',
      'Werkzeug exec: Fehler',
      'die Runde endete: angehalten',
    ]);
  });

  it('distinguishes a question that is asked again from a new one', () => {
    const text = (of: Partial<TraceAttempt>) =>
      timelineOf({ ...FACTS, attempts: [attempt(of)] }, { detail: true })[1]?.text;
    expect(text({ askedAgain: 't0' })).toBe(
      'answers the question of turn t0 again, after 5 ms in the queue on node n1, profile default',
    );
    expect(text({})).toBe('after 5 ms in the queue on node n1, profile default');
  });

  it('lays attempts on several nodes, live edits and answers from before a crash on one timeline', () => {
    const live = { sent: 1, edited: 7, refused: 2, failed: 0 };
    const second = attempt({ node: 'n2', afterMs: 500, crashes: 1, live });
    const answers = [
      { iteration: 1, model: 'qwen', usage: { promptTokens: 9, completionTokens: 2, modelMs: 1 } },
    ];
    const lines = timelineOf(
      {
        ...FACTS,
        attempts: [attempt({ outcome: 'parked' }), second],
        answers,
        endedMs: 600,
      },
      { detail: true },
    );
    const text = lines.map((line) => line.text).join('\n');
    expect(text).toMatch(
      /continues on node n2, moved from another, profile default, after 0 failed attempts and 1 crash/,
    );
    expect(text).toMatch(/live on screen: 1 message sent, 7 edits, 2 refused as too fast, 0 failed/);
    expect(text).toMatch(/model call 1: qwen, 9 tokens in, 2 out \(from the journal/);
    expect(lines.map(({ atMs }) => atMs)).toEqual(lines.map(({ atMs }) => atMs).toSorted((a, b) => a - b));
  });

  it.each([
    [80, '80 ms'],
    [950.4, '950 ms'],
    [1_234, '1.2 s'],
    [59_999, '1 min 0 s'],
    [7_800_000, '2 h 10 min'],
  ])('writes %s milliseconds as %s', (ms, text) => expect(duration(ms)).toBe(text));
});

describe('refusals', () => {
  const one = { address: 'telegram:1', senderId: '1', code: 'denied', detail: '' };

  it(`are stored together after ${FLUSH_MS} ms, counted by sender and reason, at most ${MAX_NOTED} kinds`, async () => {
    const clock = new FakeClock();
    const stored: (readonly Refusal[])[] = [];
    const store = async (rows: readonly Refusal[]) => void stored.push(rows);
    const notes = createRefusalNotes(store, clock, silentLog);
    for (let n = 0; n < MAX_NOTED + 5; n += 1) notes.note({ ...one, senderId: `${n}` });
    notes.note({ ...one, senderId: '0' });
    expect(stored).toEqual([]);
    await clock.advance(FLUSH_MS);
    await notes.flush();
    expect([stored.length, stored[0]?.length, stored[0]?.[0]?.count]).toEqual([1, MAX_NOTED, 2]);
  });

  it('are stored later when they cannot be stored', async () => {
    const stored: (readonly Refusal[])[] = [];
    let broken = true;
    const store = async (rows: readonly Refusal[]) => {
      if (broken) throw new Error('down');
      stored.push(rows);
    };
    const notes = createRefusalNotes(store, new FakeClock(), silentLog);
    notes.note(one);
    await notes.flush();
    broken = false;
    notes.note(one);
    await notes.close();
    expect(stored.flat()).toMatchObject([{ senderId: '1', count: 2 }]);
  });
});
