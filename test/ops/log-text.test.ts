/** Log lines as text: levels, fields, errors, and repeats. */
import { describe, expect, it } from 'vitest';
import { createLogText, REPEATS_REPORTED_MS } from '../../src/ops/log-text.ts';
import { StoreError } from '../../src/protocol/errors.ts';
import { createLog } from '../../src/ops/log.ts';

const worded = (options = { colours: false, timeZone: 'UTC' }) => createLogText(options);
const at = (time: number, fields: object) => JSON.stringify({ level: 30, time, ...fields });

describe('the log as text', () => {
  it('is one line per event, followed by its fields', () => {
    const line = at(Date.UTC(2026, 0, 1, 9, 5, 7), {
      turnId: 't1',
      why: 'too fast',
      n: 3,
      msg: 'turn_ended',
    });
    expect(worded()(line)).toBe('09:05:07 INFO  turn_ended  turnId=t1 why="too fast" n=3\n');
  });

  it('includes the stack of an unexpected error, but not of a gateway error', () => {
    const lines: string[] = [];
    const log = createLog({ level: 'info', redact: (text) => text, write: (line) => lines.push(line) });
    log.error({ err: new TypeError('x is not a function') }, 'uncaught_error');
    log.error({ err: new StoreError('unavailable', 'The database is unreachable.') }, 'turn_dead');
    const [unexpected = '', expected = ''] = lines.map((line) => worded()(line));
    expect(unexpected).toMatch(/ERROR uncaught_error: x is not a function\n +at .*log-text/);
    expect(expected).toMatch(/ERROR turn_dead: The database is unreachable\.\n$/);
  });

  it('counts repeats, even when only numbers differ, and reports the count from time to time', () => {
    const text = worded();
    const away = (time: number) => text(at(time, { level: 40, msg: 'away', attempt: time }));
    expect(away(0)).toContain('away');
    expect([away(1), away(2)]).toEqual(['', '']);
    expect(away(REPEATS_REPORTED_MS)).toMatch(/… 3 more like this\n$/);
    expect(away(REPEATS_REPORTED_MS + 1)).toBe('');
    expect(text(at(0, { msg: 'back' }))).toMatch(/… 1 more like this\n.*back/s);
    expect(text.rest()).toBe('');
  });

  it('colors warnings and errors on request, and shows control characters as numbers', () => {
    const coloured = createLogText({ colours: true, timeZone: 'UTC' })(at(0, { level: 50, msg: 'broken' }));
    expect(coloured).toContain('\u001B[31m');
    const hostile = worded()(at(0, { name: '\u001B[2Jx', msg: 'a\nb' }));
    expect(hostile).not.toContain('\u001B');
    expect(hostile.trimEnd()).not.toContain('\n');
    expect(worded()('no record \u001B[2J')).toBe('no record \\u{1b}[2J\n');
  });
});
