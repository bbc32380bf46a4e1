/** Budgets over a whole gateway: at a cap the turn parks and an owner is asked; nothing is written before someone adds to it. */
import { expect, it, vi } from 'vitest';
import { lastUserText } from '../../fakes/model/spoken-text.ts';
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
