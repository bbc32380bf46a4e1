/** Lines of a trace: what calls cost, and what was shown when. */
import { describe, expect, it } from 'vitest';
import { ChannelError } from '../../../src/protocol/errors.ts';
import { MAX_PRICED_MODELS, pricesRule } from '../../../src/protocol/agent/usage.ts';
import { MAX_LIVE_EDITS, MAX_LIVE_POINTS } from '../../../src/protocol/store/traces.ts';
import { LiveCalls } from '../../../src/delivery/live/calls.ts';
import { costOfTurn, timelineOf } from '../../../src/ops/trace/timeline.ts';
import { attempt, FACTS } from './turn-facts.ts';

describe('the lines of a trace', () => {
  it('shows what each priced call cost, and the sum; a model without a price shows none', () => {
    const prices = pricesRule.parse({
      currency: 'EUR',
      models: { 'openai/large': { input: 2.5, output: 10 } },
    });
    const usage = { promptTokens: 1_000, completionTokens: 200, modelMs: 5 };
    const call = (iteration: number, model: string) => ({
      kind: 'model_call' as const,
      atMs: iteration,
      ms: 5,
      iteration,
      model,
      usage,
    });
    const spans = [call(1, 'openai/large'), call(2, 'openai/large'), call(3, 'qwen')];
    const facts = { ...FACTS, attempts: [attempt({ spans })] };
    const texts = timelineOf(facts, { detail: true, prices })
      .filter(({ kind }) => kind === 'model_call')
      .map(({ text }) => text);
    expect(texts).toEqual([
      'model call 1: openai/large, 1,000 tokens in, 200 out, €0.0045',
      'model call 2: openai/large, 1,000 tokens in, 200 out, €0.0045',
      'model call 3: qwen, 1,000 tokens in, 200 out',
    ]);
    expect(costOfTurn(facts, prices)).toEqual({
      amount: 0.009,
      currency: 'EUR',
    });
    expect(costOfTurn(facts, pricesRule.parse({}))).toBeUndefined();
  });

  it('shows edits and refusals as too fast at their times', () => {
    const live = {
      sent: 1,
      edited: 1,
      refused: 1,
      failed: 0,
      points: [
        { atMs: 10, kind: 'sent' as const },
        {
          atMs: 20,
          kind: 'refused' as const,
          code: 'rate_limited',
          retryAfterMs: 3_000,
        },
        { atMs: 30, kind: 'edited' as const },
      ],
    };
    const lines = timelineOf({ ...FACTS, attempts: [attempt({ live })] }, { detail: true });
    expect(lines.filter(({ kind }) => kind === 'live').slice(0, 3)).toEqual([
      {
        atMs: 15,
        kind: 'live',
        text: 'a message with the beginning of the answer was sent',
      },
      {
        atMs: 25,
        kind: 'live',
        text: 'the platform refused a call as too fast (429) and asked for a pause of 3.0 s',
        isError: true,
      },
      { atMs: 35, kind: 'live', text: 'the message was edited' },
    ]);
  });

  it('know prices for a limited number of models', () => {
    const models = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, at) => [`m${at}`, { input: 1, output: 1 }]));
    expect(pricesRule.safeParse({ models: models(MAX_PRICED_MODELS) }).success).toBe(true);
    expect(pricesRule.safeParse({ models: models(MAX_PRICED_MODELS + 1) }).success).toBe(false);
  });
});

describe('the calls of a live message', () => {
  it('keeps the first edits and leaves room for refusals, however many calls there are', () => {
    let now = 0;
    const calls = new LiveCalls(() => (now += 10));
    calls.shown('sent');
    for (let n = 0; n < MAX_LIVE_POINTS * 2; n += 1) calls.shown('edited');
    const pace = new ChannelError('rate_limited', 'too fast', { retryAfterMs: 3_000 });
    for (let n = 0; n < MAX_LIVE_POINTS * 2; n += 1) calls.failed(pace);
    calls.failed(new ChannelError('unavailable', 'away'));
    const { points = [], ...sums } = calls.counts;
    expect(sums).toEqual({ sent: 1, edited: MAX_LIVE_POINTS * 2, refused: MAX_LIVE_POINTS * 2, failed: 1 });
    expect(points).toHaveLength(MAX_LIVE_POINTS);
    expect(points[0]).toEqual({ kind: 'sent', atMs: 10 });
    expect(points.filter(({ kind }) => kind === 'edited')).toHaveLength(MAX_LIVE_EDITS);
    expect(points.at(-1)).toMatchObject({ kind: 'refused', code: 'rate_limited', retryAfterMs: 3_000 });
  });
});
