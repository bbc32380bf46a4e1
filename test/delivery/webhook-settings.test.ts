/** The settings of outbound webhooks: what is valid, which facts a webhook receives, and how posts are signed. */
import { createHmac } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { configureWebhooks, sign, wants, webhooksRule } from '../../src/delivery/webhooks.ts';

const rule = { url: 'https://ci.example.org/events', events: ['turn_ended'], secretEnv: 'CI_SECRET' };
const errorsOf = (file: object): string[] => {
  const parsed = webhooksRule.safeParse(file);
  return parsed.success
    ? []
    : parsed.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`);
};

describe('outbound webhooks', () => {
  it('need an http address without a password, known events, and a name', () => {
    expect(errorsOf({ ci: rule })).toEqual([]);
    expect(errorsOf({ ci: { ...rule, url: 'ftp://ci.example.org' } })[0]).toContain('http or https address');
    expect(errorsOf({ ci: { ...rule, url: 'https://a:b@ci.example.org' } })[0]).toContain('no password');
    expect(errorsOf({ ci: { ...rule, events: ['stream_chunk'] } })[0]).toContain('"turn_ended"');
    expect(errorsOf({ ci: { ...rule, events: [] } })).toHaveLength(1);
    expect(errorsOf({ ci: { ...rule, sessions: [] } })).toHaveLength(1);
    expect(errorsOf({ 'A b': rule })).toHaveLength(1);
    const many = Object.fromEntries(Array.from({ length: 21 }, (_, at) => [`w${at}`, rule]));
    expect(errorsOf(many)[0]).toContain('at most 20');
    expect(errorsOf(Object.fromEntries(Object.entries(many).slice(1)))).toEqual([]);
  });

  it('need their secret in the environment, long enough, and repeat it in no error', () => {
    const file = webhooksRule.parse({ ci: rule });
    expect(configureWebhooks(file, {}).errors).toEqual([
      'webhooks.ci.secretEnv: the environment variable CI_SECRET is not set',
    ]);
    expect(configureWebhooks(file, { CI_SECRET: 'too-short-123' }).errors).toEqual([
      'CI_SECRET: must have at least 16 characters',
    ]);
    const { webhooks, errors } = configureWebhooks(file, { CI_SECRET: 'x'.repeat(16) });
    expect(errors).toEqual([]);
    expect(webhooks.get('ci')).toMatchObject({ content: false, private: false, secret: 'x'.repeat(16) });
  });

  it('receive their events of their sessions, by name or by prefix', () => {
    const some = { events: ['turn_ended'] as const, sessions: ['http:ops', 'telegram:*'] };
    const of = (sessionKey: string, type: 'turn_ended' | 'message_received' = 'turn_ended') =>
      wants(some, { type, sessionKey });
    expect([of('http:ops'), of('telegram:42'), of('telegram:42:7')]).toEqual([true, true, true]);
    expect([of('http:ops2'), of('discord:1'), of('http:ops', 'message_received')]).toEqual([
      false,
      false,
      false,
    ]);
    expect(
      wants({ events: ['turn_ended'], sessions: undefined }, { type: 'turn_ended', sessionKey: 'x:y' }),
    ).toBe(true);
    expect(wants(some, { type: 'webhook_added' })).toBe(true);
  });

  it('are signed the way inbound calls to the gateway are', () => {
    const digits = createHmac('sha256', 'secret').update('17.{}').digest('hex');
    expect(sign('secret', 17, '{}')).toBe(`t=17,v1=${digits}`);
  });
});
