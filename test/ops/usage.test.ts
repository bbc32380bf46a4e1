/** `/usage` and the counters: who sees what, and what is counted. */
import { describe, expect, it } from 'vitest';
import { createMeters, MAX_LABEL_VALUES } from '../../src/ops/telemetry/meters.ts';
import { createUsageCommand, meterUsage } from '../../src/ops/usage.ts';
import {
  pricesRule,
  type UsageNote,
  type UsageQuery,
  type UsageSum,
} from '../../src/protocol/agent/usage.ts';
import type { CommandCall } from '../../src/protocol/command.ts';
import type { Ledger } from '../../src/protocol/store/ledger.ts';
import { StoreError } from '../../src/protocol/errors.ts';
import { describeStore } from '../database.ts';
import { finished, startTurn } from '../store/lanes/turns.ts';
import { commandCall } from '../fakes/gateway/command-call.ts';

const NOON = Date.parse('2026-03-10T12:00:00Z');
const CALL = commandCall();
const sum = (more: Partial<UsageSum> = {}): UsageSum => ({
  promptTokens: 12_345,
  completionTokens: 67,
  modelMs: 90_000,
  answers: 3,
  estimated: false,
  ...more,
});

describe('/usage', () => {
  async function run(
    call: Partial<CommandCall>,
    answer = sum(),
    prices = pricesRule.parse({}),
  ): Promise<{ text: string; asked: UsageQuery[] }> {
    const asked: UsageQuery[] = [];
    const usage = {
      groups: () => Promise.reject(new Error('the command reads no groups')),
      sum: async (query: UsageQuery) => {
        asked.push(query);
        return answer;
      },
      models: async () => [
        { key: 'openai/large', ...answer },
        { key: 'qwen', ...answer },
      ],
    };
    const command = createUsageCommand(
      usage,
      () => prices,
      () => NOON,
      { report: async () => [] },
    );
    return { text: await command.run({ ...CALL, ...call }), asked };
  }

  it('reports what the models with a price cost', async () => {
    const models = { 'openai/large': { input: 1_000, output: 0 } };
    const { text } = await run({}, sum(), pricesRule.parse({ models }));
    expect(text.split('\n')[0]).toMatch(/1\.5 min of model time, \$12\.3[45]$/);
    expect((await run({})).text).not.toContain('$');
  });

  it('reports this conversation and the user, today and recently', async () => {
    const { text, asked } = await run({});
    expect(asked.map(({ userId, session }) => [userId, session])).toEqual([
      [undefined, 'telegram:42'],
      ['telegram:42', undefined],
      ['telegram:42', undefined],
    ]);
    expect(asked[1]?.from).toEqual(new Date('2026-03-10T00:00:00Z'));
    expect(asked[2]?.from).toEqual(new Date('2026-02-08T12:00:00Z'));
    expect(asked.every(({ to }) => to.getTime() > NOON)).toBe(true);
    expect(text).toContain(
      'You today (UTC): 3 answers, 12,345 input tokens, 67 output tokens, 1.5 min of model time',
    );
    expect(text).not.toContain('gateway');
    expect(text).not.toContain('≈');
  });

  it('also reports all users to an owner, and marks estimates and empty sums', async () => {
    const { text, asked } = await run({ owner: true }, sum({ estimated: true, answers: 1 }));
    expect(asked.filter(({ userId, session }) => userId === undefined && session === undefined)).toHaveLength(
      2,
    );
    expect(text).toContain('All users, last 30 days: 1 answer, ≈ 12,345 input tokens, ≈ 67 output tokens');
    expect(text).toContain('≈: estimated, because a server did not report');
    expect((await run({}, sum({ answers: 0 }))).text).toContain('This conversation: nothing');
  });
});

const note = (model: string, more: Partial<UsageNote> = {}): UsageNote => ({
  model,
  purpose: 'stateless',
  promptTokens: 10,
  completionTokens: 5,
  modelMs: 1_500,
  ...more,
});

describeStore('the counters of usage', (databases) => {
  it('count what is written, by model and purpose', async () => {
    const store = await databases.open();
    const meters = createMeters('1.2.3');
    const ledger = meterUsage(store.ledger, meters.usage);
    const { turnId, head } = await startTurn(store);
    await ledger.finishTurn(head, finished(turnId, 'hi'));
    await ledger.noteUsage(note('a "quoted" one'));
    await ledger.noteUsage(note('a "quoted" one'));
    const lines = (await meters.registry.metrics()).split('\n');
    expect(lines).toContain(
      'parley_tokens_total{model="a \\"quoted\\" one",purpose="stateless",kind="prompt"} 20',
    );
    expect(lines).toContain('parley_model_seconds_total{model="a \\"quoted\\" one",purpose="stateless"} 3');
    expect(lines.filter((line) => line.startsWith('parley_tokens_total{model="test"'))).toHaveLength(2);
  });
});

describe('the counters of usage', () => {
  it(`count ${MAX_LABEL_VALUES} models by name, the others together, and no failed write`, async () => {
    let down = false;
    const noteUsage = async (): Promise<void> => {
      if (down) throw new StoreError('unavailable', 'away', { retryable: true });
    };
    const meters = createMeters('1.2.3');
    const ledger = meterUsage({ noteUsage } as Partial<Ledger> as Ledger, meters.usage);
    for (let n = 0; n < MAX_LABEL_VALUES + 5; n += 1) await ledger.noteUsage(note(`m${n}`));
    down = true;
    await expect(ledger.noteUsage(note('m0'))).rejects.toThrow('away');
    const lines = (await meters.registry.metrics()).split('\n');
    const prompts = lines.filter((line) => line.includes('kind="prompt"'));
    expect(prompts).toHaveLength(MAX_LABEL_VALUES + 1);
    expect(prompts).toContain('parley_tokens_total{model="m0",purpose="stateless",kind="prompt"} 10');
    expect(prompts).toContain('parley_tokens_total{model="other",purpose="stateless",kind="prompt"} 50');
  });
});
