/** The resolver for names that tools request, against a name server. */
import { lookup } from 'node:dns/promises';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createPublicResolver } from '../../src/security/egress.ts';
import { type NameServer, startNameServer } from '../fakes/network/name-server.ts';

let server: NameServer;
const LIMIT_MS = 100;
const resolve = (name: string) =>
  createPublicResolver({ servers: [server.address], questionMs: LIMIT_MS })(name);

beforeEach(async () => {
  server = await startNameServer({
    'both.example': ['93.184.215.14', '2606:2800:021f:cb07:6820:80da:af6b:8b2c'],
    'four.example': ['93.184.215.14', '93.184.215.15'],
    'empty.example': [],
    'slow.example': 'silent',
  });
});
afterEach(() => server.close());

it('returns all addresses of a name, of both families', async () => {
  expect(await resolve('both.example')).toEqual([
    { address: '93.184.215.14', family: 4 },
    { address: '2606:2800:21f:cb07:6820:80da:af6b:8b2c', family: 6 },
  ]);
  const four = await resolve('four.example');
  expect(four.map(({ address }) => address).toSorted()).toEqual(['93.184.215.14', '93.184.215.15']);
});

it('returns no address for a name without one, and for one that does not exist', async () => {
  expect([await resolve('empty.example'), await resolve('no.such.example')]).toEqual([[], []]);
});

it('asks the name server even for names in the hosts file', async () => {
  expect(await resolve('localhost.example')).toEqual([]);
  expect(server.asked).toContain('localhost.example');
});

it('gives up on a silent name server, and 32 slow names do not delay any system lookup', async () => {
  const began = performance.now();
  const slow = Array.from({ length: 32 }, () => resolve('slow.example').then(String, String));
  const local = lookup('localhost').then(() => performance.now() - began);
  const ended = await Promise.all(slow);
  expect(ended.filter((error) => !error.includes('ETIMEOUT'))).toEqual([]);
  expect(await local).toBeLessThan(performance.now() - began);
  expect(performance.now() - began).toBeLessThan(5_000);
});
