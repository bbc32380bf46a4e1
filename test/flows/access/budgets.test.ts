/** Budgets over a whole gateway: at a cap the turn parks and an owner is asked; nothing is written before someone adds to it. */
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, expect, it, vi } from 'vitest';
import { hashSecret, newToken } from '../../../src/security/token-lookup.ts';
import { lastUserText } from '../../fakes/model/spoken-text.ts';
import { type FakeSpeech, startFakeSpeech } from '../../fakes/media/speech.ts';
import { describeGateway, type GatewayFixture, WAIT } from '../setup.ts';

const [BOSS, ANNA, BEN, CARA] = ['7001', '7002', '7003', '7004'];
const CAP = 50_000;
const file = {
  access: { telegram: { allow: [ANNA, BEN, CARA] }, owners: { telegram: [BOSS] } },
  limits: { tokensPerDay: CAP },
  afterTurn: { title: false },
};

/** Usage of a person before their cap was first asked about. */
async function use({ store }: GatewayFixture, userId: string, promptTokens: number): Promise<void> {
  const usage = { model: 'fake:latest', promptTokens, completionTokens: 0, modelMs: 1 };
  await store.ledger.noteUsage({ purpose: 'stateless', userId, ...usage });
}

const asked = ({ ollama }: GatewayFixture, text: string): boolean =>
  ollama.calls.some(({ body }) => lastUserText(body).includes(text));

describeGateway('a budget of tokens for each person', { telegram: true, file }, (fixture) => {
  const shows = (chat: string, text: string | RegExp): Promise<void> =>
    vi.waitFor(() => expect(fixture().telegram.screen(chat).join('\n')).toMatch(text), WAIT);

  it('parks the turn of a person and asks an owner, who adds to it in their own chat', async () => {
    const { telegram } = fixture();
    telegram.says(BOSS, 'hello from the boss', BOSS);
    await shows(BOSS, /echo: hello from the boss/);
    await use(fixture(), `telegram:${ANNA}`, CAP - 100);
    telegram.says(ANNA, 'write me a poem', ANNA);
    await shows(ANNA, /A budget is used up, so your answer waits for an owner/);
    await shows(
      BOSS,
      /The budget is used up.*50,000 tokens a day of telegram:7002: 49,900 tokens of it is spent/s,
    );
    expect(asked(fixture(), 'write me a poem')).toBe(false);
    telegram.press(BOSS, 'Add 25,000 tokens', BOSS);
    await shows(ANNA, /echo: write me a poem/);
    await shows(BOSS, /25,000 tokens added.*Approved by/s);
  });

  it('lets the person decide nothing about their own budget', async () => {
    const { telegram, store } = fixture();
    await use(fixture(), `telegram:${BEN}`, CAP);
    telegram.says(BEN, 'one more', BEN);
    await shows(BEN, /your answer waits for an owner/);
    telegram.says(BEN, '/approve', BEN);
    await shows(BEN, /Only an owner of this bot can decide this/);
    telegram.press(BOSS, 'Refuse', BOSS);
    await shows(
      BEN,
      /The budget of 50,000 tokens a day of telegram:7003 is used up; it starts again at .* 00:00 UTC/,
    );
    // Refused is refused: the next message of the day is not asked about again.
    telegram.says(BEN, 'and another', BEN);
    await vi.waitFor(
      () =>
        expect(
          telegram
            .screen(BEN)
            .join('\n')
            .match(/is used up; it starts again/g),
        ).toHaveLength(2),
      WAIT,
    );
    expect(await store.approvals.pendingApprovals({ limit: 10 })).toEqual([]);
    expect(asked(fixture(), 'one more')).toBe(false);
  });
});

const forAll = { ...file, limits: { total: { tokensPerDay: CAP } } };

describeGateway('a budget for everything together', { telegram: true, file: forAll }, (fixture) => {
  it('is asked about once by all turns that wait for it, and one answer lets all of them go on', async () => {
    const { telegram, store } = fixture();
    const shows = (chat: string, text: string | RegExp): Promise<void> =>
      vi.waitFor(() => expect(telegram.screen(chat).join('\n')).toMatch(text), WAIT);
    telegram.says(BOSS, 'hello from the boss', BOSS);
    await shows(BOSS, /echo: hello from the boss/);
    const key = `total/tokens/${new Date().toISOString().slice(0, 10)}/`;
    const [before] = (await store.budgets.states({ keys: [key] })).values();
    const amount = CAP - (before?.spent ?? 0) - 100;
    const others = [{ key, limit: CAP, inTokens: true, amount }];
    expect(await store.budgets.reserve({ holder: 'others' }, others)).toMatchObject({ kind: 'held' });
    for (const chat of [ANNA, BEN, CARA]) telegram.says(chat, `wait ${chat}`, chat);
    for (const chat of [ANNA, BEN, CARA]) await shows(chat, /your answer waits for an owner/);
    await shows(BOSS, /The budget is used up.*50,000 tokens a day for everything together/s);
    telegram.press(BOSS, 'Add 25,000 tokens', BOSS);
    for (const chat of [ANNA, BEN, CARA]) await shows(chat, new RegExp(`echo: wait ${chat}`));
    expect(await store.approvals.pendingApprovals({ limit: 10 })).toEqual([]);
    const [state] = (await store.budgets.states({ keys: [key] })).values();
    // What was added counts once, whoever waited; only the other work still holds something.
    expect(state).toMatchObject({ more: 25_000, held: amount });
  });
});

const EURO = { currency: 'EUR', models: { 'fake:latest': { input: 100, output: 200 } } };
const moneyFile = { ...file, limits: { pricePerDay: 3 }, prices: EURO };

describeGateway('a budget in money', { telegram: true, file: moneyFile }, (fixture) => {
  const screen = (chat: string): string => fixture().telegram.screen(chat).join('\n');
  const shows = (chat: string, text: string | RegExp): Promise<void> =>
    vi.waitFor(() => expect(screen(chat)).toMatch(text), WAIT);

  it('asks an owner about their own in their own chat, and takes a reply with another amount', async () => {
    const { telegram, sql } = fixture();
    await use(fixture(), `telegram:${BOSS}`, 28_000);
    telegram.says(BOSS, 'my own question', BOSS);
    await shows(BOSS, /The budget is used up.*€3\.00 a day of telegram:7001: €2\.80 of it is spent/s);
    expect(asked(fixture(), 'my own question')).toBe(false);
    const question = telegram.messages(BOSS).find(({ text }) => text.includes('The budget is used up'));
    telegram.says(BOSS, '2,50 €', BOSS, { replyTo: question?.id });
    await shows(BOSS, /echo: my own question/);
    await shows(BOSS, /€2\.50 added/);
    const [row] = await sql<
      { more: string }[]
    >`select more from budget where key like 'person/EUR/%/telegram:7001'`;
    expect(row?.more).toBe('2500000');
    telegram.says(BOSS, '/usage', BOSS);
    await shows(BOSS, /Budget a day of telegram:7001: €3\.\d\d of €5\.50, €0\.00 reserved; starts again at/);
  });

  it('says once in its period that most of it is used', async () => {
    const { telegram } = fixture();
    await use(fixture(), `telegram:${CARA}`, 14_000);
    for (const text of ['first', 'second']) {
      telegram.says(CARA, text, CARA);
      await shows(CARA, new RegExp(`echo: ${text}`));
    }
    await shows(CARA, /Most of a budget is used: 80% of the €3\.00 a day of telegram:7004/);
    expect(screen(CARA).match(/Most of a budget is used/g)).toHaveLength(1);
  });
});

describeGateway(
  'a budget in money, and a model without a price',
  { file: { ...moneyFile, prices: { models: { other: { input: 1, output: 1 } } } } },
  (fixture) => {
    it('writes nothing, and names the setting', async () => {
      await fixture().post('unpriced', 'what do you cost?');
      await vi.waitFor(async () => {
        const answer = (await fixture().messages('http:unpriced')).at(-1)?.content;
        expect(answer).toContain('The model "fake:latest" has no price');
        expect(answer).toContain('prices.models');
      }, WAIT);
      expect(asked(fixture(), 'what do you cost?')).toBe(false);
    });
  },
);

describeGateway(
  'budgets over HTTP',
  { file: { ...file, limits: { tokensPerDay: CAP, total: { tokensPerMonth: 10 * CAP } } } },
  (fixture) => {
    const tokenOf = async (scopes: ('chat' | 'approve' | 'admin')[]) => {
      const secret = newToken();
      const { tokenId } = await fixture().store.access.putToken({
        hash: hashSecret(secret),
        name: 'friend',
        scopes,
      });
      return { secret, userId: `token:${tokenId}` };
    };

    it('lists what waits, lets only an admin add to it, and reports what is spent, reserved and left', async () => {
      const { secret: token, userId } = await tokenOf(['chat', 'approve']);
      await use(fixture(), userId, CAP - 1);
      await fixture().call('/v1/sessions/http:waits/messages', { token, json: { content: 'over it' } });
      const pending = await vi.waitFor(async () => {
        const body = await (await fixture().call('/v1/approvals')).json();
        expect(body.approvals).toHaveLength(1);
        return body.approvals[0];
      }, WAIT);
      expect(pending).toMatchObject({ tool: 'budget', args: { add: 25_000 }, session: 'http:waits' });
      const decide = (json: object, by?: string) =>
        fixture().call(`/v1/approvals/${pending.id}`, { json, ...(by !== undefined && { token: by }) });
      expect((await decide({ decision: 'approved' }, token)).status).toBe(404);
      expect((await decide({ decision: 'approved', args: { add: -1 } })).status).toBe(400);
      expect((await decide({ decision: 'approved', args: { add: 60_000 } })).status).toBe(200);
      await fixture().idle('http:waits');
      expect((await fixture().messages('http:waits')).at(-1)?.content).toContain('echo: over it');
      const report = await (await fixture().call('/v1/usage', { token })).json();
      const [budget] = report.budgets;
      expect(report.budgets).toHaveLength(1);
      expect(budget).toMatchObject({
        scope: 'person',
        unit: 'tokens',
        period: 'day',
        cap: 110_000,
        reserved: 0,
      });
      expect(budget.spent).toBe(report.total.promptTokens + report.total.completionTokens);
      const all = await (await fixture().call('/v1/usage')).json();
      expect(all.budgets.map(({ scope }: { scope: string }) => scope).toSorted()).toEqual([
        'person',
        'total',
      ]);
    });

    it('answers a completion, and a list of vectors, at the cap with 429 and the time of the reset', async () => {
      const { secret: token, userId } = await tokenOf(['chat']);
      await use(fixture(), userId, CAP);
      const messages = [{ role: 'user', content: 'without a session' }];
      const refused = await fixture().call('/v1/chat/completions', {
        token,
        json: { model: 'default', messages },
      });
      expect(refused.status).toBe(429);
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
      expect(JSON.stringify(await refused.json())).toContain('The budget of 50,000 tokens a day');
      const vectors = await fixture().call('/v1/embeddings', {
        token,
        json: { model: 'default', input: 'x' },
      });
      expect(vectors.status).toBe(429);
      expect(asked(fixture(), 'without a session')).toBe(false);
    });

    it('settles a completion, and gives back what one has reserved that reached no model', async () => {
      const { secret: token } = await tokenOf(['chat']);
      const messages = [{ role: 'user', content: 'count this' }];
      expect(
        (await fixture().call('/v1/chat/completions', { token, json: { model: 'default', messages } }))
          .status,
      ).toBe(200);
      fixture().ollama.answer(
        { text: '', failure: { kind: 'status', status: 400, error: 'no' } },
        { when: 'never counted' },
      );
      const never = [{ role: 'user', content: 'never counted' }];
      await fixture().call('/v1/chat/completions', { token, json: { model: 'default', messages: never } });
      await vi.waitFor(async () => {
        const { total, budgets } = await (await fixture().call('/v1/usage', { token })).json();
        expect(budgets[0]).toMatchObject({ spent: total.promptTokens + total.completionTokens, reserved: 0 });
      }, WAIT);
    });
  },
);

const speakers: FakeSpeech[] = [];
afterAll(async () => {
  for (const speaker of speakers) await speaker.close();
});

async function withSpeech(home: string): Promise<void> {
  const speaker = await startFakeSpeech();
  speakers.push(speaker);
  const settings = { ...file, speech: { baseUrl: speaker.url } };
  await writeFile(path.join(home, 'config.json'), JSON.stringify(settings), { mode: 0o600 });
}

describeGateway('speech under a budget', { furnish: withSpeech }, (fixture) => {
  it('counts by the length of its text, and at the cap no speech server is asked', async () => {
    const secret = newToken();
    const hash = hashSecret(secret);
    const { tokenId } = await fixture().store.access.putToken({ hash, name: 'reader', scopes: ['chat'] });
    const speak = (): Promise<Response> =>
      fixture().call('/v1/audio/speech', { token: secret, json: { input: 'Read this aloud, please.' } });
    expect((await speak()).status).toBe(200);
    const { budgets, groups } = await (
      await fixture().call('/v1/usage?by=purpose', { token: secret })
    ).json();
    expect(groups).toMatchObject([{ key: 'speech' }]);
    expect(budgets).toMatchObject([{ scope: 'person', spent: groups[0].promptTokens, reserved: 0 }]);
    await use(fixture(), `token:${tokenId}`, 1);
    const key = `person/tokens/${new Date().toISOString().slice(0, 10)}/token:${tokenId}`;
    const amount = { key, limit: CAP, inTokens: true, amount: CAP - budgets[0].spent - 1 };
    await fixture().store.budgets.reserve({ holder: 'others' }, [amount]);
    const refused = await speak();
    expect(refused.status).toBe(429);
    expect(JSON.stringify(await refused.json())).toContain('The budget of 50,000 tokens a day');
    expect(speakers.at(-1)?.spoken).toHaveLength(1);
  });
});
