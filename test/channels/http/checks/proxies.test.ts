/** What the doctor reports about trusted proxies. */
import { expect, it } from 'vitest';
import { proxyFindings } from '../../../../channels/http/checks.ts';

it.each(['0.0.0.0/0', '::/0', '173.245.48.0/20', '10.0.0.0/7', '2400:cb00::/32', '172.16.0.0/11'])(
  'warns of %s, from which strangers may connect',
  (network) => {
    const [finding, ...more] = proxyFindings(['10.0.0.2', network]);
    expect(more).toEqual([]);
    expect(finding).toMatchObject({ level: 'warning', text: expect.stringContaining(network) });
  },
);

it('accepts single addresses and private networks silently', () => {
  const fine = [
    '203.0.113.7',
    '203.0.113.7/32',
    '2001:db8::1',
    '10.0.0.0/8',
    '192.168.7.0/24',
    '100.64.0.0/10',
    'fd00::/8',
    '::1',
  ];
  expect(proxyFindings(fine)).toEqual([]);
  expect(proxyFindings([])).toEqual([]);
});
