/** The address that limits count by: the connection's, or what a trusted proxy says. */
import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { clientAddresses, isNetwork } from '../../../../channels/http/limits/client-address.ts';

function addressOf(
  peer: string,
  forwarded?: string,
  trusted: readonly string[] = ['10.0.0.0/8', 'fd00::1'],
): string {
  const socket = new Socket();
  Object.defineProperty(socket, 'remoteAddress', { value: peer });
  const incoming = new IncomingMessage(socket);
  if (forwarded !== undefined) incoming.headers['x-forwarded-for'] = forwarded;
  return clientAddresses(trusted).of(incoming);
}

describe("a client's address", () => {
  it.each([
    ['192.0.2.7', '192.0.2.7'],
    ['::ffff:192.0.2.7', '192.0.2.7'],
    ['::1', '0:0:0:0::/64'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:db8:1:2::99', '2001:db8:1:2::/64'],
    ['2001:0db8::1', '2001:db8:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ])('of %s is %s', (peer, counted) => {
    expect(addressOf(peer)).toBe(counted);
  });

  it.each([
    ['of a stranger is not taken from the header', '192.0.2.7', '198.51.100.1', '192.0.2.7'],
    ['is the one the trusted proxy was called by', '10.0.0.2', '198.51.100.1', '198.51.100.1'],
    [
      'is the last that is no proxy of ours: what a client writes before it counts nothing',
      '10.0.0.2',
      '1.1.1.1, 198.51.100.1, 10.9.9.9',
      '198.51.100.1',
    ],
    ['stays that of the proxy where the header is no list of addresses', '10.0.0.2', 'localhost', '10.0.0.2'],
    ['stays that of the last proxy where all are trusted', '10.0.0.2', '10.0.0.3', '10.0.0.3'],
    ['may be IPv6 behind an IPv6 proxy', 'fd00::1', '2001:db8::1', '2001:db8:0:0::/64'],
    [
      'is found at the end of an endless header',
      '10.0.0.2',
      `${'1.1.1.1, '.repeat(1_000)}198.51.100.1`,
      '198.51.100.1',
    ],
  ])('%s', (_, peer, forwarded, counted) => {
    expect(addressOf(peer, forwarded)).toBe(counted);
  });

  it('is undefined for a connection of a trusted proxy, which carries many clients', () => {
    const socket = new Socket();
    Object.defineProperty(socket, 'remoteAddress', { value: '10.0.0.2' });
    expect(clientAddresses(['10.0.0.2']).ofSocket(socket)).toBeUndefined();
    expect(clientAddresses([]).ofSocket(socket)).toBe('10.0.0.2');
  });
});

describe('a trusted proxy', () => {
  it('is an address or a network', () => {
    for (const text of ['10.0.0.1', '10.0.0.0/8', '::1', 'fd00::/8']) expect(isNetwork(text)).toBe(true);
    for (const text of ['proxy', '10.0.0.0/33', '10.0.0.0/', '::1/129', '10.0.0.1/8/8', '', '10.0.0.1/x'])
      expect(isNetwork(text)).toBe(false);
  });
});
