/** Rows 1, 2 and 5: what the gateway adds to the model's first token, alone, next to 64 others, and in an old session. */
import type { Helper } from './children.ts';
import { type Figure, median } from './figures.ts';
import { type Asker, modelAsker, type RunningGateway, sessionAsker } from './gateway-setup.ts';

const SAMPLES = 300;
const WARM_UP = 100;
const CONCURRENT_STREAMS = 64;
const ROUNDS = 20;
const OLD_TURNS = 10_000;
const ANSWER = 'say 20';

/** Row 1: one client that asks the gateway, the proxy and the model in turn. */
export async function addedToFirstToken(gateway: RunningGateway, { url }: Helper): Promise<Figure[]> {
  const askers = [
    await sessionAsker(gateway, 'first-token', ANSWER),
    await modelAsker(url, ANSWER),
    await modelAsker(gateway.model.url, ANSWER),
  ];
  await alternate(WARM_UP, askers);
  const [ours = NaN, plain = NaN, direct = NaN] = (await alternate(SAMPLES, askers)).map(median);
  for (const asker of askers) asker.close();
  const { on } = gateway;
  return [
    {
      row: 1,
      what: 'first token, gateway minus direct, p50',
      on,
      value: ours - direct,
      unit: 'ms',
      bar: { atMost: 4 },
      note: `${SAMPLES} alternating samples; ${ours.toFixed(2)} through, ${direct.toFixed(2)} direct`,
    },
    {
      row: 1,
      what: 'first token, added by the gateway / by the plain proxy, p50',
      on,
      value: (ours - direct) / (plain - direct),
      unit: '×',
      bar: { atMost: 3 },
      note: `${(ours - direct).toFixed(2)} ms against ${(plain - direct).toFixed(2)} ms`,
    },
  ];
}

/** Row 2: 64 sessions ask at the same moment, then 64 callers of the proxy, alternately. */
export async function firstTokenUnderLoad(gateway: RunningGateway, { url }: Helper): Promise<Figure> {
  const each = (make: (nth: number) => Promise<Asker>): Promise<Asker[]> =>
    Promise.all(Array.from({ length: CONCURRENT_STREAMS }, (_, nth) => make(nth)));
  const askers = await each((nth) => sessionAsker(gateway, `session-${nth}`, ANSWER));
  const proxy = await each(() => modelAsker(url, ANSWER));
  const seen = { gateway: [] as number[], proxy: [] as number[] };
  for (let round = -5; round < ROUNDS; round += 1) {
    const ours = await together(askers);
    const plain = await together(proxy);
    if (round < 0) continue;
    seen.gateway.push(median(ours));
    seen.proxy.push(median(plain));
  }
  for (const asker of [...askers, ...proxy]) asker.close();
  const [ours, plain] = [median(seen.gateway), median(seen.proxy)];
  return {
    row: 2,
    what: `first token of ${CONCURRENT_STREAMS} sessions at once / plain proxy, p50`,
    on: gateway.on,
    value: ours / plain,
    unit: '×',
    bar: { atMost: 3 },
    note: `${ours.toFixed(1)} ms against ${plain.toFixed(1)} ms`,
  };
}

/** Row 5: the first token of a session with ten thousand turns behind it, against a new one's. */
export async function firstTokenInOldSession(gateway: RunningGateway): Promise<Figure> {
  const old = await sessionAsker(gateway, 'old', 'say 5');
  for (let turn = 0; turn < OLD_TURNS; turn += 1) await old.ask();
  // Both send as much history as fits into the window, so the new session first gets that many turns.
  const young = await sessionAsker(gateway, 'young', 'say 5');
  for (let turn = 0; turn < WARM_UP * 3; turn += 1) await young.ask();
  const [aged = [], fresh = []] = await alternate(SAMPLES, [old, young]);
  old.close();
  young.close();
  return {
    row: 5,
    what: `first token after ${OLD_TURNS} turns / after ${WARM_UP * 3}, p50`,
    on: gateway.on,
    value: median(aged) / median(fresh),
    unit: '×',
    bar: { atMost: 1.2 },
    note: `${median(aged).toFixed(2)} ms against ${median(fresh).toFixed(2)} ms`,
  };
}

/** The milliseconds to the first tokens of each asker, which ask in turn. */
async function alternate(times: number, askers: readonly Asker[]): Promise<number[][]> {
  const seen: number[][] = askers.map(() => []);
  for (let round = 0; round < times; round += 1) {
    for (const [nth, asker] of askers.entries()) seen[nth]?.push((await asker.ask()).firstMs);
  }
  return seen;
}

async function together(askers: readonly Asker[]): Promise<number[]> {
  const took = await Promise.all(askers.map((asker) => asker.ask()));
  return took.map(({ firstMs }) => firstMs);
}
