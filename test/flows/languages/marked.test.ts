/**
 * Everything that the gateway says in a chat is in the tables of texts: in a made-up language that marks each of them,
 * only data is outside of the marks.
 */
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, describe, expect, it, vi } from 'vitest';
import { riskyTools } from '../../fakes/agent/risky-tools.ts';
import { COMMANDS } from './every-command.ts';
import { MARKED, wordsOutside, writeMarkedLanguage } from './marked-language.ts';
import type { Failure } from '../../fakes/ollama/ollama.ts';
import { startFakeSpeech } from '../../fakes/media/speech.ts';
import type { Params } from '../../fakes/telegram/refusal.ts';
import { startFakeTranscription } from '../../fakes/media/transcription.ts';
import { describeGateway, WAIT } from '../setup.ts';

const OWNER = '9401';
const FRIEND = '9402';
const STRANGER = '9403';
const GROUP = '-1009401';
const REASON = '{"error":{"message":"own words"}}';

/** Names, and what a model, a server, a tool or a person wrote. */
const DATA = new Set(
  [
    'fake latest plain hears default parley chat coder researcher planner teacher agentic auto',
    'queue steer interrupt collect draft edit off on add remove all qaa en de English Deutsch telegram',
    'wipe tell note look fetch ask list_dir read_file write_file edit_file web_fetch memory cron spawn_agent message send_file',
    // From a person, the model, the servers, a tool, a library, a file.
    'npx Person Fine Ollama own words wipes disk word old Invalid PDF structure txt bin pdf http no_plan Wash Paint',
  ].flatMap((words) => words.split(' ')),
);

const speech = await startFakeSpeech();
const transcription = await startFakeTranscription();
afterAll(async () => {
  await speech.close();
  await transcription.close();
});

async function furnish(home: string): Promise<void> {
  const file = {
    access: { telegram: { allow: [FRIEND] }, owners: { telegram: [OWNER] } },
    // This checks the texts, not the pace of a chat.
    channels: { telegram: { editIntervalMs: { private: 1, group: 1 } } },
    language: MARKED,
    limits: { messagesPerMinute: 6_000, messagesAtOnce: 1_000 },
    media: { maxFileMb: 1 },
    speech: { baseUrl: speech.url },
    transcription: { baseUrl: transcription.url, model: 'hears', maxMinutes: 1 },
  };
  await writeFile(path.join(home, 'config.json'), JSON.stringify(file), { mode: 0o600 });
  await writeMarkedLanguage(home);
}

/** How a plan is given up; `why` is the beginning of the tables' explanation. */
const GIVEN_UP = [
  {
    mode: 'agentic',
    step: 'FAILED: own words',
    correct: '{"action":"retry"}',
    why: ' still fails after ',
  },
  { mode: 'agentic', step: '', correct: 'own words', why: "The model's answer contains no JSON object." },
  { mode: 'agentic', step: '', correct: '{"action":"modify"}', why: "The model's answer changes the step" },
  {
    mode: 'agentic',
    step: '',
    correct: { text: '', failure: { kind: 'status', status: 404, error: 'own words' } },
    why: 'There is no such model here.',
  },
  { mode: 'teacher', step: '', correct: undefined, why: 'The model gave an empty answer.' },
] as const;

/** How the model's server fails. */
const FAILURES: readonly Failure[] = [
  ...[400, 401, 402, 404].map((status) => ({ kind: 'status', status, error: 'own words' }) as const),
  { kind: 'status', status: 400, error: 'own words', html: true },
  { kind: 'status', status: 400, error: 'own words: exceeds the available context' },
  { kind: 'error_line', after: 1, error: 'own words' },
  { kind: 'bytes', after: 1, bytes: 'own words\n' },
  { kind: 'cut', after: 1 },
  { kind: 'no_done', after: 1 },
];

const options = { telegram: true, tools: riskyTools([]), furnish, model: { fallback: 'Fine.' } };

describeGateway('a gateway whose every text is marked', options, (fixture) => {
  const bot = () => fixture().telegram;
  /**
   * Waits until the chat has this many new messages and nothing is in progress; returns what is new, with the labels of
   * buttons.
   */
  async function newIn(chat: string, act: () => unknown, least = 1): Promise<string> {
    const before = bot().messages(chat).length;
    await act();
    await vi.waitFor(() => expect(bot().messages(chat).length).toBeGreaterThanOrEqual(before + least), WAIT);
    await fixture().idle(`telegram:${chat}`);
    return screenOf(chat, before);
  }
  const screenOf = (chat: string, from: number): string =>
    bot()
      .messages(chat)
      .slice(from)
      .flatMap(({ text, buttons }) => [text, ...buttons.map(({ text: label }) => label)])
      .join('\n\n');
  /** Words that are neither marked, nor data, nor what the person wrote. */
  const strays = (screen: string, written = ''): string[] =>
    wordsOutside(screen).filter((word) => !DATA.has(word) && !written.split(/\W+/).includes(word));
  /** Waits until this text is in the owner's chat, below this many messages. */
  const shows = (from: number, text: string): Promise<void> =>
    vi.waitFor(() => expect(screenOf(OWNER, from)).toContain(text), WAIT);
  const presses = async (chat: string, label: string): Promise<string> => {
    await vi.waitFor(
      () =>
        expect(
          bot()
            .messages(chat)
            .flatMap(({ buttons }) => buttons)
            .map(({ text }) => text),
        ).toContain(label),
      WAIT,
    );
    const id = bot().press(chat, label, chat);
    return await vi.waitFor(() => {
      const answer = bot().pressed.answers.get(id);
      if (answer === undefined) throw new Error('the press is not answered yet');
      return answer;
    }, WAIT);
  };

  it.each(COMMANDS)('answers %s without a word outside of the tables', async (command) => {
    const screen = await newIn(OWNER, () => bot().says(OWNER, command, OWNER));
    expect(screen).toContain('⟦');
    expect(strays(screen, command)).toEqual([]);
  });

  describe.each([
    ['an owner', OWNER],
    ['somebody else', FRIEND],
  ])('notifies %s', (_, who) => {
    it.each(FAILURES)('of a model server that fails: %j', async (failure) => {
      const question = `${JSON.stringify(failure)} ${who}`;
      fixture().ollama.answer({ text: 'Fine. Fine. Fine.', failure }, { when: question, times: Infinity });
      const screen = await newIn(who, () => bot().says(who, question, who));
      expect(screen).toContain('⟦');
      expect(strays(screen, 'exceeds the available context')).toEqual([]);
      // The model would read the question again before the next one, since it got no answer.
      await newIn(who, () => bot().says(who, '/new', who));
    });

    it('of files that cannot be used', async () => {
      const { files } = bot();
      const sends = (fields: Params) => newIn(who, () => bot().sends(who, fields, who), 2);
      const screens = [
        await sends(files.document({ bytes: Buffer.from('x'), size: 5e6, name: 'a.txt' })),
        await sends(files.document({ bytes: Buffer.from(''), name: 'b.txt' })),
        await sends(files.document({ bytes: Buffer.from('%PDF-1.7 broken'), name: 'c.pdf' })),
        await sends(files.voice(Buffer.from('OggS\0\x02 long'), 300)),
      ];
      for (const status of [401, 404, 413, 422, 302]) {
        transcription.fails(status, REASON);
        screens.push(await sends(files.voice(Buffer.from(`OggS\0\x02 ${who} ${status}`), 3)));
      }
      for (const screen of screens) expect(screen).toContain('⟦');
      expect(strays(screens.join('\n'), 'voice')).toEqual([]);
    });

    it('of an answer that could not be spoken', async () => {
      const screens = [await newIn(who, () => bot().says(who, '/voice on', who))];
      speech.fails(400, REASON);
      screens.push(await newIn(who, () => bot().says(who, 'speak', who), 2));
      screens.push(await newIn(who, () => bot().says(who, '/voice off', who)));
      for (const screen of screens) expect(screen).toContain('⟦');
      expect(strays(screens.join('\n'), 'tts alloy')).toEqual([]);
    });

    it('of a call that needs an approval', async () => {
      const before = bot().messages(who).length;
      for (const label of ['⟦Approve⟧', '⟦Deny⟧']) {
        const call = { toolCalls: [{ name: 'wipe', args: { word: 'old' } }] };
        fixture().ollama.answer(call, { when: `${label} ${who}` });
        const answer = { text: '' };
        await newIn(who, async () => {
          bot().says(who, `${label} ${who}`, who);
          answer.text = await presses(who, label);
        });
        expect(strays(answer.text)).toEqual([]);
      }
      expect(strays(screenOf(who, before))).toEqual([]);
    });

    it('of a plan, its buttons and its end', async () => {
      const goal = `paint ${who}`;
      fixture().ollama.answer('Two.\nREFLECT: no', { when: goal });
      fixture().ollama.answer('Steps\n1. [SELF] Wash\n2. [SELF] Paint', { when: goal });
      const before = bot().messages(who).length;
      await newIn(who, () => bot().says(who, `/plan ${goal}`, who));
      expect(strays(screenOf(who, before), goal)).toEqual([]);
      expect(strays(await presses(who, '⟦Run⟧'))).toEqual([]);
      await vi.waitFor(() => expect(screenOf(who, before)).toContain('⟦Run again⟧'), WAIT);
      await fixture().idle(`telegram:${who}`);
      expect(strays(screenOf(who, before), goal)).toEqual([]);
    });
  });

  it.each(GIVEN_UP)(
    'explains why a plan in $mode mode was given up: $why',
    async ({ mode, step, correct, why }) => {
      const goal = `paint ${why.replaceAll(/\W+/g, '')}`;
      const first = `Wash ${goal}`;
      await newIn(OWNER, () => bot().says(OWNER, `/mode ${mode}`, OWNER));
      fixture().ollama.answer('Two.\nREFLECT: no', { when: goal });
      fixture().ollama.answer(`Steps\n1. [TOOL: none] ${first}\n2. [AGENT: none]`, { when: goal });
      fixture().ollama.answer(step, { when: `none of the others: ${first}`, times: 9 });
      if (correct !== undefined) fixture().ollama.answer(correct, { when: `] ${first}`, times: 9 });
      const before = bot().messages(OWNER).length;
      await newIn(OWNER, () => bot().says(OWNER, `/plan ${goal}`, OWNER));
      await presses(OWNER, mode === 'teacher' ? '⟦Step by step⟧' : '⟦Run⟧');
      if (mode === 'teacher') {
        await shows(before, '⟦Skip⟧');
        bot().says(OWNER, '/run', OWNER);
      }
      await shows(before, `⟦${why}`);
      await fixture().idle(`telegram:${OWNER}`);
      expect(strays(screenOf(OWNER, before), `${goal} none`)).toEqual([]);
    },
  );

  it('tells strangers and unknown groups how to get in', async () => {
    const screens = [
      await newIn(STRANGER, () => bot().says(STRANGER, 'hello', STRANGER)),
      await newIn(GROUP, () => bot().says(GROUP, '@parley_test_bot hello', OWNER)),
    ];
    for (const screen of screens) expect(screen).toContain('⟦');
    expect(strays(screens.join('\n'))).toEqual([]);
  });
});
