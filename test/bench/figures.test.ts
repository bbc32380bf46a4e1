/** The bench's arithmetic: which bars are missed, and that its client reads answers as they arrive. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { isMissed, median, quantile, table } from './figures.ts';
import { postRequest, Wire } from './wire.ts';

const figure = { row: 1, what: 'a thing', on: 'embedded', unit: 'ms' };

describe('a figure', () => {
  it.each([
    [5, { atMost: 5 }, false],
    [5.01, { atMost: 5 }, true],
    [300, { atLeast: 300 }, false],
    [299, { atLeast: 300 }, true],
    [Number.NaN, { atMost: 5 }, true],
  ])('of %d against %o: missed is %s', (value, bar, missed) => {
    expect(isMissed({ ...figure, value, bar })).toBe(missed);
    expect(table([{ ...figure, value, bar }])).toContain(missed ? 'MISSED' : 'ok');
  });

  it('without a bar is reported, not judged', () => {
    expect(isMissed({ ...figure, value: 1e9 })).toBe(false);
  });

  it('is the median of many samples, and NaN for none', () => {
    expect(median([9, 1, 5])).toBe(5);
    expect(quantile([4, 1, 3, 2], 0.99)).toBe(4);
    expect(median([])).toBeNaN();
  });
});

describe('the load client', () => {
  const server = createServer((request, response) => {
    if (request.url === '/refused') {
      response.writeHead(503).end('busy');
      return;
    }
    response.write('opening');
    setImmediate(() => {
      response.write('a token');
      setImmediate(() => response.end(' and the rest'));
    });
  });
  afterEach(() => void server.close());

  it('splits an answer by its first token and its end, and refuses any other answer', async () => {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address: AddressInfo | string | null = server.address();
    const url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
    const wire = await Wire.open(url);
    for (let nth = 0; nth < 3; nth += 1) {
      const took = await wire.ask(postRequest(`${url}/`, { nth }), 'token');
      expect(took.firstMs).toBeGreaterThan(0);
      expect(took.totalMs).toBeGreaterThanOrEqual(took.firstMs);
    }
    await expect(wire.ask(postRequest(`${url}/`, {}), 'never said')).rejects.toThrow(/never said/);
    await expect(wire.ask(postRequest(`${url}/refused`, {}), 'token')).rejects.toThrow(/503/);
    wire.close();
  });
});
