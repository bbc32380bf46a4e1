/** What answers cost, from the model's report to `/usage`, the route and the metrics: each user sees their own. */
import { expect, it, vi } from 'vitest';
import { hashSecret, newToken } from '../../src/security/token-lookup.ts';
import type { UsageReport } from '../../src/protocol/agent/usage.ts';
import { describeGateway, FRIENDS, WAIT } from './setup.ts';

const people = FRIENDS.values();

/** Without titles: their calls come after the answers, and the sums here are those of answers. */
const PRICES = {
  currency: 'EUR',
  models: { 'fake:latest': { input: 1_000, output: 2_000 } },
};
const FILE = {
  prices: PRICES,
  access: { telegram: { allow: FRIENDS } },
  afterTurn: { title: false },
};

describeGateway('usage', { telegram: true, file: FILE }, (fixture) => {
  const report = async (query: string, token?: string): Promise<UsageReport> => {
    const answer = await fixture().call(`/v1/usage?${query}`, token === undefined ? {} : { token });
    expect(answer.status).toBe(200);
    return (await answer.json()) as UsageReport;
  };
  const keys = ({ groups }: UsageReport): string[] => groups.map(({ key }) => key);

  it('is recorded with every answer, and each token sees its own', async () => {
    const secret = newToken();
    const { tokenId } = await fixture().store.access.putToken({
      hash: hashSecret(secret),
      name: 'friend',
      scopes: ['chat'],
    });
    const json = { content: 'count me' };
    await fixture().call('/v1/sessions/http:counted/messages', { token: secret, json });
    const messages = [{ role: 'user', content: 'count me, too' }];
    await fixture().call('/v1/chat/completions', { token: secret, json: { model: 'default', messages } });
    const person = people.next().value ?? '';
    fixture().telegram.says(person, 'and me', person);
    await vi.waitFor(() => expect(fixture().telegram.screen(person)).toContain('echo: and me'), WAIT);
    await fixture().idle(`telegram:${person}`);
    await fixture().idle('http:counted');

    const own = await report('by=purpose', secret);
    expect(keys(own).toSorted()).toEqual(['stateless', 'turn']);
    expect(own.total).toMatchObject({ answers: 2, estimated: false });
    expect(own.total.promptTokens).toBeGreaterThan(0);
    expect(own.total.modelMs).toBeGreaterThan(0);
    expect(keys(await report('by=user', secret))).toEqual([`token:${tokenId}`]);
    expect(keys(await report('by=user')).toSorted()).toEqual([`telegram:${person}`, `token:${tokenId}`]);
    expect(keys(await report('by=session')).toSorted()).toEqual(['', 'http:counted', `telegram:${person}`]);
    const byModel = await report('by=model');
    expect(keys(byModel)).toEqual(['fake:latest']);
    const { promptTokens, completionTokens, cost } = byModel.total;
    expect(cost).toEqual({
      amount: expect.closeTo((promptTokens * 1_000 + completionTokens * 2_000) / 1_000_000, 6),
      currency: 'EUR',
    });
    expect(byModel.groups[0]?.cost).toEqual(cost);
    expect((await report('by=day', secret)).total.cost?.amount).toBeLessThan(cost?.amount ?? 0);
    expect(keys(await report('', secret))).toEqual([new Date().toISOString().slice(0, 10)]);
    expect((await report('from=2020-01-01&to=2020-06-01')).total.answers).toBe(0);
  });

  it('refuses invalid queries, naming the parameter', async () => {
    for (const [query, param] of [
      ['from=yesterday', 'from'],
      ['by=weather', 'by'],
      ['from=2026-02-01&to=2026-01-01', 'from'],
      ['from=2020-01-01&to=2026-01-01', 'from'],
    ]) {
      const answer = await fixture().call(`/v1/usage?${query}`);
      const { error }: { error: { param: string } } = await answer.json();
      expect([answer.status, error.param]).toEqual([400, param]);
    }
  });

  it('is shown in the chat and counted for Prometheus', async () => {
    const person = people.next().value ?? '';
    fixture().telegram.says(person, 'a question', person);
    await vi.waitFor(() => expect(fixture().telegram.screen(person)).toContain('echo: a question'), WAIT);
    await fixture().idle(`telegram:${person}`);
    fixture().telegram.says(person, '/usage', person);
    await vi.waitFor(() => {
      const shown = fixture().telegram.screen(person).join('\n');
      expect(shown).toMatch(/This conversation: 1 answer, [1-9][\d,]* input tokens, [1-9]\d* output tokens/);
      expect(shown).not.toContain('whole gateway');
    }, WAIT);
    const metrics = await (await fixture().call('/metrics')).text();
    expect(metrics).toMatch(/parley_tokens_total\{model="fake:latest",purpose="turn",kind="prompt"\} [1-9]/);
    expect(metrics).toMatch(/parley_model_seconds_total\{model="fake:latest",purpose="turn"\} [\d.]*[1-9]/);
  });
});
