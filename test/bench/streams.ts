/** Row 4: a thousand answers growing at once. */
import type { Figure } from './figures.ts';
import { sessionAsker } from './gateway-setup.ts';
import type { House } from './gateway-setup.ts';

const STREAMS = 1_000;
const PER_SECOND = 20;
const TOKENS = 300;

/** 1,000 sessions at 20 tokens a second each. Delay and memory are the gateway's own figures. */
export async function thousandStreams(house: House): Promise<Figure[]> {
  const gateway = await house.restart();
  const askers = await Promise.all(
    Array.from({ length: STREAMS }, (_, nth) =>
      sessionAsker(house, `streams-${nth}`, `pace ${PER_SECOND} ${TOKENS}`),
    ),
  );
  let most = 0;
  const watch = setInterval(() => (most = Math.max(most, gateway.rss())), 500);
  const results = await Promise.allSettled(askers.map((asker) => asker.ask()));
  clearInterval(watch);
  const delay = (await gateway.metric('parley_loop_delay_p99_seconds')) * 1_000;
  for (const asker of askers) asker.close();
  const errors = results.filter((result) => result.status === 'rejected');
  const took = results.map((result) => (result.status === 'fulfilled' ? result.value.totalMs : 0));
  const what = `${STREAMS} streams at ${PER_SECOND} tokens/s`;
  const late = Math.max(...took) - (TOKENS * 1_000) / PER_SECOND;
  const { on } = house;
  const memoryBar = on === 'postgres' ? { bar: { atMost: 512 } } : {};
  return [
    {
      row: 4,
      what: `${what}: errors`,
      on,
      value: errors.length,
      unit: '',
      bar: { atMost: 0 },
      note: String(errors[0]?.reason ?? '').slice(0, 400),
    },
    {
      row: 4,
      what: `${what}: loop delay p99`,
      on,
      value: delay,
      unit: 'ms',
      bar: { atMost: 50 },
      note: `the slowest answer ended ${Math.round(late)} ms after the model's time for it`,
    },
    { row: 4, what: `${what}: memory`, on, value: most, unit: 'MB', ...memoryBar },
  ];
}
