/** The log's sink: what must never be written, and that each event stays one line. */
import { inspect } from 'node:util';
import { HttpError } from 'grammy';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createLog, redactor } from '../../src/contracts/log.ts';

function logTo(lines: string[], secrets: string[] = []) {
  return createLog({ level: 'info', redact: redactor(secrets), write: (line) => lines.push(line) });
}

describe('the log', () => {
  it('finds a known secret at any place of a line', () => {
    const secret = 'hunter2-hunter2';
    fc.assert(
      fc.property(fc.string(), fc.string(), (before, after) => {
        expect(redactor([secret])(`${before}${secret}${after}`)).not.toContain(secret);
      }),
    );
  });

  it('takes out what looks like a bot token, a bearer header or a URL password, known or not', () => {
    const clean = redactor([]);
    expect(
      clean('https://api.telegram.org/bot123456789:AAEhBOweik6ad9r_QXMENQjcrGbqCr4K-bc/getMe'),
    ).not.toContain('AAEh');
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

  it('writes one line of JSON per event, whatever a name holds', () => {
    const lines: string[] = [];
    logTo(lines).info({ senderName: 'a\n{"level":"fatal"}\u001b[2J\u2028' }, 'message');
    expect(lines).toHaveLength(1);
    expect(lines[0]!.trimEnd().split('\n')).toHaveLength(1);
    expect(JSON.parse(lines[0]!)).toMatchObject({ level: 30, msg: 'message' });
  });
});
