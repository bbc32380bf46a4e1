/** The log sink: what must never be written, and that each event stays on one line. */
import { inspect } from 'node:util';
import { HttpError } from 'grammy/web';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ChannelError, toGatewayError } from '../../src/protocol/errors.ts';
import { channels } from '../../channels/index.ts';
import { createLog, MAX_SECRETS, MAX_VALUE_CHARS, redactor } from '../../src/ops/log.ts';

/** The secret formats of every channel in the list. */
const shapes = channels.flatMap(({ secretShapes }) => secretShapes);

function logTo(lines: string[], secrets: string[] = []) {
  return createLog({
    level: 'info',
    redact: redactor({ secrets, shapes }),
    write: (line) => lines.push(line),
  });
}

describe('the log', () => {
  it('removes every secret in a line, and longer ones before their parts', () => {
    const clean = redactor({
      secrets: ['abcdef', 'abcdefgh', 'short'],
      shapes: [{ pattern: /x\d/y, replacement: 'n' }],
    });
    expect(clean('abcdefgh abcdef abcdef short x1 x2')).toBe('[secret] [secret] [secret] short n n');
  });

  it(`removes secrets that it learns later, and forgets the oldest beyond ${MAX_SECRETS}`, () => {
    const clean = redactor({ secrets: ['first-secret'], shapes: [] });
    clean.learn(['abcdefgh', 'first-secret-and-more']);
    expect(clean('first-secret first-secret-and-more abcdefgh')).toBe('[secret] [secret] [secret]');
    const many = Array.from({ length: MAX_SECRETS - 3 }, (_, n) => `secret ${n};`);
    clean.learn([...many, 'first-secret']);
    expect(clean('first-secret abcdefgh')).toBe('[secret] [secret]');
    clean.learn(['one more secret']);
    expect(clean('first-secret abcdefgh')).toBe('[secret] abcdefgh');
  });

  it('finds a known secret anywhere in a line', () => {
    const secret = 'hunter2-hunter2';
    fc.assert(
      fc.property(fc.string(), fc.string(), (before, after) => {
        expect(redactor({ secrets: [secret], shapes: [] })(`${before}${secret}${after}`)).not.toContain(
          secret,
        );
      }),
    );
  });

  it('finds a known secret in every encoding that libraries and proxies print it in', () => {
    const token = '424242:AAEhBOweik6ad9r_QXMENQjcrGb/+=';
    const clean = redactor({ secrets: [token, 'pass word"7'], shapes: [] });
    const encodings = [
      `https://proxy/bot${encodeURIComponent(token)}/getMe`,
      `https://proxy/bot${encodeURIComponent(token).replaceAll(/%../g, (code) => code.toLowerCase())}`,
      `the part after the id: ${token.slice(7)}`,
      Buffer.from(token).toString('hex'),
      ...['', 'u', 'us', 'use:'].map((user) => Buffer.from(`${user}${token}@host`).toString('base64')),
      ...['', 'u', 'us'].map((user) => Buffer.from(`${user}${token}`).toString('base64url')),
    ];
    for (const text of encodings) {
      expect(clean(text)).toContain('[secret]');
      expect(clean(text)).not.toMatch(/AAEh|QUFFa|FBRWhC|BQUVo/);
    }
    expect(clean(JSON.stringify({ url: 'pass word"7' }))).toBe('{"url":"[secret]"}');
    expect(clean('q=pass+word%227&x')).toBe('q=[secret]&x');
  });

  it('removes bot tokens, bearer headers and passwords of URLs that are not in the configuration', () => {
    const clean = redactor({ secrets: [], shapes });
    expect(
      clean('https://api.telegram.org/bot123456789:AAEhBOweik6ad9r_QXMENQjcrGbqCr4K-bc/getMe'),
    ).not.toContain('AAEh');
    const discord = `${'M'.repeat(24)}.${'G'.repeat(6)}.${'x'.repeat(30)}`;
    expect(clean(`token ${discord}!`)).toBe('token [discord-token]!');
    expect(clean('authorization: Bot abcdefghijklmnop')).toBe('authorization: Bot [token]');
    expect(clean('authorization: Bearer abcdefghijklmnop')).toBe('authorization: Bearer [token]');
    expect(clean('postgres://user:pa55@host/db')).toBe('postgres://user:[password]@host/db');
  });

  it('never shows the token that a grammY network error carries in its properties', () => {
    const token = '123456789:AAEhBOweik6ad9r_QXMENQjcrGbqCr4K-bc';
    const cause = Object.assign(new Error('socket hang up'), {
      url: `https://api.telegram.org/bot${token}/getMe`,
    });
    const error = new HttpError("Network request for 'getMe' failed!", cause);
    expect(inspect(error)).toContain(token);
    const lines: string[] = [];
    logTo(lines).error({ err: error }, 'poll failed');
    expect(lines.join('')).not.toContain(token);
    expect(lines.join('')).toContain('socket hang up');
  });

  it('writes an expected failure without its stack, and an unexpected one with it', () => {
    const lines: string[] = [];
    const outage = new ChannelError('unavailable', 'Discord cannot be reached.', { retryable: true });
    logTo(lines).error({ err: outage }, 'call_failed');
    logTo(lines).error({ err: toGatewayError(new TypeError('x is not a function')) }, 'turn_failed');
    const [expected, unexpected] = lines.map((line) => JSON.parse(line).err);
    expect(expected).toEqual({
      name: 'ChannelError',
      code: 'unavailable',
      message: 'Discord cannot be reached.',
    });
    expect(unexpected).toMatchObject({ code: 'internal', stack: expect.stringContaining('log.test.ts') });
  });

  it('redacts 64 KiB in 50 ms, even when every position could start an address', () => {
    const clean = redactor({ secrets: ['hunter2-hunter2'], shapes });
    for (const unit of ['a.', 'a:', '://', '://a:', 'https://a:b', 'Bearer ', '1:', 'x-', 'MTI.']) {
      const text = unit.repeat(65_536 / unit.length);
      const times = [1, 2, 3].map(() => {
        const before = process.threadCpuUsage();
        clean(text);
        const { user, system } = process.threadCpuUsage(before);
        return (user + system) / 1_000;
      });
      expect({ unit, ms: Math.min(...times) }).toMatchObject({
        ms: expect.toSatisfy((ms: number) => ms <= 50),
      });
    }
  });

  it(`cuts each value at ${MAX_VALUE_CHARS} characters, wherever it is, and says how long it was`, () => {
    const lines: string[] = [];
    const log = logTo(lines);
    const longest = 'x'.repeat(MAX_VALUE_CHARS);
    log.info({ a: longest, list: [{ b: `${longest}y` }], err: new Error(`${longest}y`) }, `${longest}yy`);
    const cut = `${longest}… (${MAX_VALUE_CHARS + 1} characters)`;
    const line = JSON.parse(lines[0]!);
    expect(line).toMatchObject({ a: longest, list: [{ b: cut }], err: { message: cut } });
    expect(line.msg).toBe(`${longest}… (${MAX_VALUE_CHARS + 2} characters)`);
    expect(line.err.stack.length).toBeLessThan(MAX_VALUE_CHARS + 40);
    log.child({ channel: 'http' }).info({ many: Array.from({ length: 99 }, () => 1) }, `${longest}y`);
    const child = JSON.parse(lines[1]!);
    expect(child.msg).toBe(cut);
    expect(child.many).toHaveLength(50);
    let deep: unknown = 1;
    for (let level = 0; level < 10_000; level += 1) deep = { deep };
    log.info({ deep }, 'deep');
    expect(lines[2]).toContain('[too deep]');
  });

  it('shows no part of a secret split by the cut', () => {
    const secret = 'hunter2-hunter2';
    const lines: string[] = [];
    const before = 'x'.repeat(MAX_VALUE_CHARS - 5);
    logTo(lines, [secret]).info({ before: before + secret }, 'cut');
    expect(lines[0]).not.toContain('hunt');
    expect(lines[0]).toContain('[secr… (');
  });

  it('writes one line of JSON per event, whatever a name holds', () => {
    const lines: string[] = [];
    logTo(lines).info({ senderName: 'a\n{"level":"fatal"}\u001b[2J\u2028' }, 'message');
    expect(lines).toHaveLength(1);
    expect(lines[0]!.trimEnd().split('\n')).toHaveLength(1);
    expect(JSON.parse(lines[0]!)).toMatchObject({ level: 30, msg: 'message' });
  });
});
