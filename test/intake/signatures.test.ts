/** Signatures of webhooks: the formats of their senders, and everything that is not a signature. */
import { createHmac } from 'node:crypto';
import { assert, constantFrom, property, string } from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Hook } from '../../src/intake/index.ts';
import { MAX_AGE_MS, verifySignature } from '../../src/intake/hooks.ts';

const SECRET = 'a-secret-of-the-sender-0123456789';
const NOW = 1_790_000_000_000;
const SECONDS = NOW / 1_000;
const BODY = Buffer.from('{"a":"ü"}');

const sign = (prefix: string, body: Uint8Array = BODY, secret = SECRET): string =>
  createHmac('sha256', secret).update(prefix).update(body).digest('hex');

const hook = (
  kind: Hook['kind'],
  more: Partial<Hook> = {},
): Pick<Hook, 'kind' | 'secret' | 'timestampHeader'> => ({
  kind,
  secret: SECRET,
  ...more,
});
const timed = (at: number, signature: string): string => `t=${at},v1=${signature}`;

const verify = (
  settings: ReturnType<typeof hook>,
  headers: Record<string, string>,
  body: Uint8Array = BODY,
): unknown => verifySignature(settings, { headers, body }, NOW);

/** A valid request of each sender. */
const RIGHT: [name: string, settings: ReturnType<typeof hook>, headers: Record<string, string>][] = [
  ['signed', hook('signed'), { 'x-parley-signature': timed(SECONDS, sign(`${SECONDS}.`)) }],
  [
    'stripe',
    hook('stripe'),
    { 'stripe-signature': `${timed(SECONDS, 'ab')},v1=${sign(`${SECONDS}.`)},v0=x` },
  ],
  ['github', hook('github'), { 'x-hub-signature-256': `sha256=${sign('')}` }],
  ['grafana', hook('grafana'), { 'x-grafana-alerting-signature': sign('') }],
  [
    'grafana with a time',
    hook('grafana', { timestampHeader: 'X-Time' }),
    { 'x-grafana-alerting-signature': sign(`${SECONDS}:`), 'x-time': String(SECONDS) },
  ],
];

describe('the signature of a webhook', () => {
  it.each(RIGHT)('of %s is accepted, but not for another body, secret or header', (_, settings, headers) => {
    expect(verify(settings, headers)).toMatchObject({ digest: expect.stringMatching(/^[0-9a-f]{64}$/) });
    expect(verify(settings, headers, Buffer.from('{"a":"u"}'))).toEqual({
      kind: 'unsigned',
      reason: 'wrong',
    });
    expect(verify({ ...settings, secret: `${SECRET}x` }, headers)).toEqual({
      kind: 'unsigned',
      reason: 'wrong',
    });
    expect(verify(settings, {})).toEqual({ kind: 'unsigned', reason: 'missing' });
  });

  it('identifies a request by what was signed, so that a repetition has the same name', () => {
    const github = hook('github');
    const headers = { 'x-hub-signature-256': `sha256=${sign('')}`, 'x-github-delivery': 'one' };
    const again = { ...headers, 'x-github-delivery': 'two' };
    expect(verify(github, again)).toEqual(verify(github, headers));
    const at = (seconds: number): unknown =>
      verify(hook('signed'), { 'x-parley-signature': timed(seconds, sign(`${seconds}.`)) });
    expect(at(SECONDS)).toEqual(at(SECONDS));
    expect(at(SECONDS)).not.toEqual(at(SECONDS - 1));
  });

  it('is refused when its time is more than five minutes off, in either direction', () => {
    const limit = MAX_AGE_MS / 1_000;
    const at = (seconds: number | string): unknown =>
      verify(hook('signed'), { 'x-parley-signature': `t=${seconds},v1=${sign(`${seconds}.`)}` });
    for (const near of [SECONDS - limit, SECONDS + limit]) expect(at(near)).toHaveProperty('digest');
    for (const far of [SECONDS - limit - 1, SECONDS + limit + 1, '', 'soon', '-1', '1e9', '1790000000.5'])
      expect(at(far)).toEqual({ kind: 'unsigned', reason: 'stale' });
  });

  it('is never valid for a made-up header', () => {
    assert(
      property(constantFrom(...RIGHT), string(), string(), ([, settings, headers], text, time) => {
        const [name = ''] = Object.keys(headers);
        for (const value of [text, `t=${time},v1=${text}`, `sha256=${text}`])
          expect(verify(settings, { ...headers, [name]: value })).toMatchObject({ kind: 'unsigned' });
      }),
    );
  });
});
