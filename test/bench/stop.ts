/** Row 8: how long after a stop the model server sees its connection closed. */
import { on, once } from 'node:events';
import type { Figure } from './figures.ts';
import { postToSession, type RunningGateway } from './gateway-setup.ts';

const STOPS = 40;
const CLOSED_WITHIN_MS = 10_000;

/** Row 8: stops alternately in the silence before the first token and in the middle of the answer; the slowest counts. */
export async function stopToClosed(gateway: RunningGateway): Promise<Figure> {
  const seen: number[] = [];
  for (let nth = 0; nth < STOPS; nth += 1) {
    const prefill = nth % 2 === 0;
    seen.push(
      await stopOnce(gateway, `stop-${nth}`, prefill ? `hold ${nth}` : `pace 50 ${1_000 + nth}`, prefill),
    );
  }
  return {
    row: 8,
    what: 'stop to closed model connection, slowest',
    on: gateway.on,
    value: Math.max(...seen),
    unit: 'ms',
    bar: { atMost: 1_000 },
    note: `${STOPS} stops, half in the prefill`,
  };
}

async function stopOnce(
  gateway: RunningGateway,
  session: string,
  text: string,
  prefill: boolean,
): Promise<number> {
  const { reports } = gateway.model;
  const signal = AbortSignal.timeout(CLOSED_WITHIN_MS);
  const received = on(reports, 'report', { signal });
  await postToSession(gateway, session, 'messages', { content: text });
  for await (const [message] of received) if (message.arrived === text) break;
  if (!prefill) await new Promise((resolve) => setTimeout(resolve, 200));
  const closed = untilClosed(gateway, text, signal);
  const startedAt = performance.now();
  await postToSession(gateway, session, 'stop');
  return (await closed) - startedAt;
}

async function untilClosed({ model }: RunningGateway, text: string, signal: AbortSignal): Promise<number> {
  for (;;) {
    const [message] = await once(model.reports, 'report', { signal });
    if (message.closed === text) return performance.now();
  }
}
