/** What may be sent out besides an address: only to origins that the operator configured, and under which rules. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createEgress, type EgressOptions } from '../../src/security/egress.ts';

const server = createServer((_request, response) =>
  response.writeHead(307, { location: '/elsewhere' }).end(),
);
let origin = '';
let port = 0;

beforeAll(async () => {
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  ({ port } = server.address() as AddressInfo);
  origin = `http://127.0.0.1:${port}`;
});

afterAll(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => void server.close(resolve));
});

const post = (url: string, options: EgressOptions): Promise<string> => {
  const request = { url, json: {}, signal: new AbortController().signal };
  return createEgress(options)(request).then(({ status }) => String(status), String);
};

it('sends nothing to an origin that is not configured', async () => {
  expect(await post('http://example.com/', {})).toContain('Data can be sent only to configured services');
  expect(await post(`${origin}/x`, { posts: ['http://127.0.0.1'] })).toContain(
    'Data can be sent only to configured services',
  );
});

it('requires a target that is only posted to to be public, on a standard port', async () => {
  expect(await post(`${origin}/x`, { posts: [origin] })).toContain('is not allowed');
  expect(await post(`${origin}/x`, { posts: [origin], ports: () => [port] })).toContain(
    'not a public address',
  );
});

it('sends it to a service that is allowed at any address, and follows it nowhere else', async () => {
  expect(await post(`${origin}/x`, { allow: [origin] })).toBe('307');
});
