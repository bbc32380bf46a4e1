/** Windows, budgets, what is dropped, and estimates that adapt. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { contextRow, type Group, toGroups } from '../../../src/agent/prompt/history.ts';
import {
  createTokenScale,
  fitPrompt,
  inputBudget,
  modelWindow,
  profileWindow,
  SAFE_WINDOW,
  SCALE_MODELS,
} from '../../../src/agent/prompt/context-window.ts';
import { estimateTokens } from '../../../src/lib/text.ts';
import { defaultProfile } from '../../../src/agent/profiles/built-in.ts';
import type { Profile } from '../../../src/protocol/agent/profile.ts';
import type { ChatMessage } from '../../../src/protocol/agent/provider.ts';

function profile(over: Partial<Profile> = {}): Profile {
  return { ...defaultProfile(''), systemPrompt: '', ...over };
}

describe('the window', () => {
  it.each([
    { own: 131_072, wanted: [undefined], window: SAFE_WINDOW },
    { own: 8_192, wanted: [undefined], window: 8_192 },
    { own: 131_072, wanted: [65_536], window: 65_536 },
    { own: 131_072, wanted: [4_096], window: 4_096 },
    { own: 32_768, wanted: [65_536], window: 32_768 },
    { own: 131_072, wanted: [4_096, undefined, 65_536], window: 65_536 },
    { own: 131_072, wanted: [], window: SAFE_WINDOW },
  ])('of a model with $own is $window when profiles want $wanted (B-30)', ({ own, wanted, window }) => {
    const profiles = wanted.map((contextWindow) => profile({ contextWindow }));
    expect(modelWindow('any', { contextWindow: own }, profiles)).toBe(window);
  });

  it('of a model is not changed by profiles that use another one', () => {
    const profiles = [
      profile({ model: 'big:latest', contextWindow: 65_536 }),
      profile({ contextWindow: 8_192 }),
    ];
    const can = { contextWindow: 131_072 };
    expect(modelWindow('small', can, profiles)).toBe(8_192);
    expect(modelWindow('big', can, profiles)).toBe(65_536);
    expect(modelWindow('small', can, profiles.slice(0, 1))).toBe(SAFE_WINDOW);
  });

  it('is the one the profile names when a server does not report it (B-30)', () => {
    const guessed = { contextWindow: 16_384, windowGuessed: true };
    expect(modelWindow('any', guessed, [profile({ contextWindow: 65_536 })])).toBe(65_536);
    expect(modelWindow('any', guessed, [profile()])).toBe(SAFE_WINDOW);
  });

  it.each([
    { window: 16_384, over: {}, tools: 384, budget: 16_384 - 4_096 - 384 },
    { window: 4_096, over: {}, tools: 0, budget: 3_072 },
    { window: 16_384, over: { maxTokens: 1_000 }, tools: 0, budget: 15_384 },
    { window: 65_536, over: { contextWindow: 8_192 }, tools: 192, budget: 8_192 - 2_048 - 192 },
    { window: 1_024, over: { maxTokens: 2_000 }, tools: 100, budget: -1_076 },
  ])('$window leaves a budget of $budget (B-27, B-30)', ({ window, over, tools, budget }) => {
    const own = profileWindow(window, profile(over));
    expect(inputBudget(own, profile(over), tools)).toBe(budget);
  });
});

const texts = fc.oneof(
  fc.string({ maxLength: 300 }),
  fc.constantFrom('我们在这里写了很多字', 'Привет, как дела?', '🎉👩‍👩‍👧‍👦🏳️‍🌈').map((text) => text.repeat(12)),
);
const history = fc.array(
  fc.oneof(
    texts.map((content) => [contextRow(0, { kind: 'user', content })]),
    fc.array(texts, { maxLength: 3 }).chain((results) =>
      texts.map((content) => [
        contextRow(1, {
          kind: 'assistant',
          content: `${content}.`,
          toolCalls: results.map((_, at) => ({ id: `c${at}`, name: 'probe', args: {} })),
          msgId: 'm',
        }),
        ...results.map((text, callIndex) =>
          contextRow(1, {
            kind: 'tool_result',
            toolCallId: `c${callIndex}`,
            toolName: 'probe',
            callIndex,
            content: text,
            isError: false,
          }),
        ),
      ]),
    ),
  ),
  { maxLength: 30 },
);

function group(content: string): Group {
  const row = contextRow(0, { kind: 'user', content });
  return { messages: [{ role: 'user', content }], tokens: row.tokens };
}

function same(groups: readonly Group[], messages: readonly ChatMessage[]): boolean {
  const flat = groups.flatMap((each) => each.messages);
  return flat.length === messages.length && flat.every((message, at) => message === messages[at]);
}

function estimated(messages: readonly ChatMessage[]): number {
  return messages.reduce((sum, message) => sum + estimateTokens(message.content), 0);
}

describe('fitting a prompt', () => {
  const system = { content: 'You are Parley.', tokens: 5 };

  it('keeps system, note and current message, whole newest groups, and the budget (B-28, B-29)', () => {
    const property = fc.property(
      history,
      texts,
      fc.integer({ min: 400, max: 4_000 }),
      (rows, asked, budget) => {
        const groups = toGroups(rows.flat(), { thinking: false });
        const note = { content: 'note', tokens: 2 };
        const current = group(asked);
        const { messages, tokens } = fitPrompt({ system, history: groups, current, steps: [], note }, budget);
        const kept = messages.slice(1, -2);
        const whole = groups.findIndex((_, from) => same(groups.slice(from), kept));
        const firstKept = kept.length === 0 ? groups.length : whole;
        const nextOlder = groups[firstKept - 1];
        return (
          messages[0]?.content === system.content &&
          messages.at(-1)?.content === 'note' &&
          messages.at(-2)?.content === asked &&
          firstKept >= 0 &&
          tokens <= budget &&
          estimated(messages) <= budget &&
          (nextOlder === undefined || tokens + nextOlder.tokens > budget)
        );
      },
    );
    expect(fc.check(property, { numRuns: 500 })).toMatchObject({ failed: false });
  });

  it('keeps everything when it fits, and drops the oldest first when it does not', () => {
    const groups = ['one', 'two', 'three'].map(group);
    const all = groups.reduce((sum, each) => sum + each.tokens, system.tokens + group('now').tokens);
    const prompt = { system, history: groups, current: group('now'), steps: [] };
    const words = (budget: number): string[] =>
      fitPrompt(prompt, budget).messages.map(({ content }) => content);
    expect(words(all)).toEqual([system.content, 'one', 'two', 'three', 'now']);
    expect(words(all - 1)).toEqual([system.content, 'two', 'three', 'now']);
  });

  it('drops history before steps of this turn, and clips the newest step rather than losing it', () => {
    const step = (text: string): Group => {
      const answer = contextRow(1, {
        kind: 'assistant',
        content: '',
        toolCalls: [{ id: 'c0', name: 'probe', args: {} }],
        msgId: 'm',
      });
      const names = { toolCallId: 'c0', toolName: 'probe', callIndex: 0, isError: false };
      const result = contextRow(1, { kind: 'tool_result', ...names, content: text });
      return toGroups([answer, result], { thinking: true })[0] ?? group('');
    };
    const prompt = { system, history: [group('old')], current: group('now'), steps: [step('1'), step('2')] };
    const whole = fitPrompt(prompt, 10_000);
    expect(whole.messages[1]?.content).toBe('old');
    const small = fitPrompt(prompt, whole.tokens - 1).messages;
    expect(small.map(({ content }) => content)).toEqual([system.content, 'now', '', '1', '', '2']);
    const huge = fitPrompt({ ...prompt, steps: [step('1'), step('x'.repeat(30_000))] }, 500);
    expect(huge.tokens).toBeLessThanOrEqual(500);
    expect(huge.messages.at(-1)?.content).toContain('characters left out');
    expect(huge.messages.at(-1)?.content.length).toBeGreaterThan(200);
  });

  it('explains what to do when the message alone is too long, or the window leaves no room (B-27)', () => {
    const prompt = { system, history: [], current: group('字'.repeat(2_000)), steps: [] };
    expect(() => fitPrompt(prompt, 1_000)).toThrow(expect.objectContaining({ code: 'message_too_large' }));
    expect(() => fitPrompt(prompt, -20)).toThrow(expect.objectContaining({ code: 'window_too_small' }));
  });
});

describe('the estimate', () => {
  it.each([
    { text: 'plain english words', atLeast: 6, atMost: 7 },
    { text: '我们在这里', atLeast: 5, atMost: 5 },
    { text: 'Привет', atLeast: 4, atMost: 4 },
    { text: '🎉🎉🎉', atLeast: 4, atMost: 4 },
  ])('of "$text" is UTF-8 bytes / 3 (B-29)', ({ text, atLeast, atMost }) => {
    expect(estimateTokens(text)).toBeGreaterThanOrEqual(atLeast);
    expect(estimateTokens(text)).toBeLessThanOrEqual(atMost);
  });

  it('is corrected upwards immediately, downwards slowly, within limits', () => {
    const scale = createTokenScale();
    expect(scale.of('m')).toBe(1);
    scale.learn('m', 1_000, 1_500);
    expect(scale.of('m')).toBe(1.5);
    scale.learn('m', 1_000, 1_000);
    expect(scale.of('m')).toBeCloseTo(1.4);
    scale.learn('m', 1_000, 99_000);
    expect(scale.of('m')).toBe(2);
    for (let n = 0; n < 100; n += 1) scale.learn('m', 1_000, 1);
    expect(scale.of('m')).toBeGreaterThanOrEqual(0.6);
  });

  it('ignores tiny prompts and servers that report nothing, and remembers a limited number of models', () => {
    const scale = createTokenScale();
    scale.learn('tiny', 20, 40);
    scale.learn('silent', 1_000, 0);
    expect([scale.of('tiny'), scale.of('silent')]).toEqual([1, 1]);
    for (let n = 0; n <= SCALE_MODELS; n += 1) scale.learn(`m${n}`, 1_000, 1_500);
    expect(scale.of('m0')).toBe(1);
    expect(scale.of(`m${SCALE_MODELS}`)).toBe(1.5);
  });
});
