/** The log file: when a new one starts, what is kept, and the effect of a full disk or a second process. */
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync, existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  appendToLogFile,
  logFileOf,
  logFiles,
  MAX_LOG_FILE_BYTES,
  OLD_LOG_FILES,
} from '../../src/ops/log-file.ts';

function makeFile(): string {
  const home = mkdtempSync(path.join(tmpdir(), 'parley-log-'));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  return logFileOf(home);
}

const fail = (error: Error): never => {
  throw error;
};

describe('the file of the log', () => {
  it(`starts over at its maximum size of ${MAX_LOG_FILE_BYTES} bytes, and keeps ${OLD_LOG_FILES} old ones`, () => {
    const file = makeFile();
    const append = appendToLogFile(file, { onFailure: fail, maxBytes: 10 });
    for (let line = 0; line < 20; line += 1) append(`line ${String(line).padStart(2, '0')}\n`);
    expect(readFileSync(file, 'utf8')).toBe('line 18\nline 19\n');
    expect(logFiles(file).map((one) => readFileSync(one, 'utf8').split('\n')[0])).toEqual([
      'line 10',
      'line 12',
      'line 14',
      'line 16',
      'line 18',
    ]);
    expect(existsSync(`${file}.${OLD_LOG_FILES + 1}`)).toBe(false);
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  it('is shared by processes: the one that finds it full starts the next, the other follows', () => {
    const file = makeFile();
    const [one, other] = [0, 1].map(() => appendToLogFile(file, { onFailure: fail, maxBytes: 10 }));
    one?.('first first\n');
    other?.('second\n');
    one?.('third\n');
    expect(readFileSync(file, 'utf8')).toBe('second\nthird\n');
    expect(readFileSync(`${file}.1`, 'utf8')).toBe('first first\n');
    expect(existsSync(`${file}.2`)).toBe(false);
  });

  it('is reported once when it cannot be written, and retried after a pause', () => {
    const file = makeFile();
    const folder = path.dirname(file);
    writeFileSync(folder, 'a file where the folder should be');
    let now = 0;
    const failures: string[] = [];
    const append = appendToLogFile(file, {
      onFailure: ({ message }) => failures.push(message),
      monotonicNow: () => now,
    });
    append('lost\n');
    now = 10_001;
    append('lost again\n');
    expect(failures).toHaveLength(1);
    rmSync(folder);
    append('still in the pause\n');
    now = 20_002;
    append('written\n');
    expect(readFileSync(file, 'utf8')).toBe('written\n');
  });
});
