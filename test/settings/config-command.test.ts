/** `parley config`: what it prints, what it writes, and what it refuses to write. */
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { execFile } from 'node:child_process';
import { DatabaseSync } from 'node:sqlite';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { editableConfig } from '../../src/live-config.ts';
import { GatewayError } from '../../src/protocol/errors.ts';
import { changeWhole, writeWhole } from '../../src/settings/write-file.ts';
import { configCommand } from '../../src/settings/index.ts';

let home = '';
let file = '';
beforeEach(() => {
  home = mkdtempSync(path.join(tmpdir(), 'parley-config-'));
  file = path.join(home, 'config.json');
});
afterEach(() => rmSync(home, { recursive: true }));

const write = (text: string): void => writeFileSync(file, text, { mode: 0o600 });
const read = (): string => readFileSync(file, 'utf8');
const run = (...args: string[]): string => configCommand(args)(editableConfig({ GATEWAY_HOME: home }));

function refusal(...args: string[]): string {
  try {
    run(...args);
  } catch (error) {
    if (error instanceof GatewayError) return error.message;
    throw error;
  }
  throw new Error('expected a refusal');
}

const COMMENTED = `{
  // Who it is.
  "persona": "Polly", /* the parrot */
  "access": {
    "telegram": {
      "allow": [1], // a friend
    },
  },
}
`;

describe('parley config set', () => {
  it('changes one field and keeps the comments, the order and the trailing commas', () => {
    write(COMMENTED);
    expect(run('set', 'persona', 'Jack')).toContain('persona is set.');
    expect(read()).toBe(COMMENTED.replace('Polly', 'Jack'));
    run('set', 'access.telegram.dm', 'open');
    run('set', 'access.telegram.allow', '[1, 22]');
    expect(read()).toContain('// a friend');
    expect(read()).toContain('/* the parrot */');
    expect(JSON.parse(run('get', 'access.telegram.allow'))).toEqual(['1', '22']);
    expect(run('get', 'access.telegram.dm')).toBe('open');
  });

  it('creates the file, readable only by its owner, and leaves only the lock of its writers behind', () => {
    run('set', 'limits.messagesPerMinute', '20');
    expect(JSON.parse(read())).toEqual({ limits: { messagesPerMinute: 20 } });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readdirSync(home)).toEqual(['config.json', 'config.json.lock']);
  });

  it('writes through a link', () => {
    const real = path.join(home, 'real.json');
    writeFileSync(real, '{}', { mode: 0o600 });
    symlinkSync(real, file);
    run('set', 'persona', 'Jack');
    expect(JSON.parse(readFileSync(real, 'utf8'))).toEqual({ persona: 'Jack' });
  });

  it('treats a number as text where only text is allowed', () => {
    run('set', 'persona', '42');
    expect(run('get', 'persona')).toBe('42');
  });

  it('writes nothing that the gateway would refuse', () => {
    write(COMMENTED);
    expect(refusal('set', 'limits.messagesPerMinute', 'many')).toMatch(
      /Nothing was changed[^]*limits\.messagesPerMinute: /,
    );
    expect(refusal('set', 'acces.telegram.dm', 'open')).toContain('acces: there is no such field');
    expect(refusal('set', 'access.telegram.allow', '["@alice"]')).toContain('numeric');
    expect(refusal('set', 'persona.name', 'x')).toContain('persona');
    expect(read()).toBe(COMMENTED);
  });

  it('can correct one error of several', () => {
    write('{"persona": 1, "turns": {"concurrency": 0}}');
    run('set', 'persona', 'Polly');
    expect(refusal('validate')).toMatch(/turns\.concurrency/);
    run('unset', 'turns.concurrency');
    expect(run('validate')).toContain('is valid');
  });

  it('does not touch a file that is not JSON', () => {
    write('{ "persona": ');
    expect(refusal('set', 'persona', 'Jack')).toMatch(/config\.json:1:14: a value is expected here/);
    expect(read()).toBe('{ "persona": ');
  });

  it('reports when the file cannot be written, and leaves it unchanged', () => {
    const target = path.join(home, 'a-folder');
    mkdirSync(target);
    writeFileSync(path.join(target, 'kept'), '');
    expect(() => writeWhole(target, '{}')).toThrow(/a-folder cannot be written/);
    expect(readdirSync(home)).toEqual(['a-folder']);
  });
});

describe('parley config get and validate', () => {
  it('show the effective settings, defaults included', () => {
    expect(run('get', 'access.telegram.dm')).toBe('pairing');
    expect(JSON.parse(run('get')).limits).toMatchObject({ messagesPerMinute: 10, messagesAtOnce: 5 });
    expect(refusal('get', 'access.pigeon')).toContain('no such field');
    expect(run('validate')).toContain('every setting has its default');
    expect(existsSync(file)).toBe(false);
  });

  it('report every error, with line and column', () => {
    write('{\n  "persona": 1,\n  "acess": {},\n  "turns": { "mode": "fast" },\n}');
    expect(refusal('validate').split('\n')).toEqual([
      'The configuration cannot be used:',
      expect.stringContaining('config.json:2:3: persona: '),
      expect.stringContaining('config.json:3:3: acess: there is no such field'),
      expect.stringContaining('config.json:4:14: turns.mode: '),
    ]);
  });

  it.each([
    ['nothing'],
    ['set', 'a'],
    ['validate', 'x'],
    ['get', 'a', 'b'],
    ['unset'],
    ['set', 'a', 'b', 'c'],
    ['get', 'a..b'],
  ])('refuse %s %s %s %s with the usage', (...args) => {
    expect(refusal(...args.filter((arg) => arg !== undefined))).toContain('Expected: config');
  });
});

describe('changes at the same time', () => {
  const CHANGES = {
    persona: 'Jack',
    'limits.messagesPerMinute': 7,
    'access.telegram.dm': 'open',
    'access.discord.dm': 'open',
    'schedules.timeZone': 'Europe/Berlin',
    'access.telegram.allow': ['5'],
  };

  it('keeps all six fields that six processes set at once', async () => {
    write(COMMENTED);
    const set = promisify(execFile);
    const outputs = await Promise.all(
      Object.entries(CHANGES).map(([field, value]) =>
        set(process.execPath, ['src/launch.js', 'config', 'set', field, JSON.stringify(value)], {
          env: { PATH: process.env['PATH'], GATEWAY_HOME: home },
        }),
      ),
    );
    for (const { stdout } of outputs) expect(stdout).toContain('is set.');
    for (const [field, value] of Object.entries(CHANGES)) {
      const word = run('get', field);
      expect(typeof value === 'string' ? word : JSON.parse(word)).toEqual(value);
    }
    expect(read()).toContain('// a friend');
    expect(statSync(`${file}.lock`).mode & 0o777).toBe(0o600);
  });

  it('makes a change anew when an editor, which takes no lock, writes the file meanwhile', () => {
    write('{}\n');
    let reads = 0;
    const result = changeWhole(file, (before) => {
      reads += 1;
      if (reads === 1) write('{"persona": "by hand"}\n');
      return { after: `${before}// seen\n`, result: before };
    });
    expect({ result, reads, after: read() }).toEqual({
      result: '{"persona": "by hand"}\n',
      reads: 2,
      after: '{"persona": "by hand"}\n// seen\n',
    });
  });

  it('says that another process holds the file, and frees its lock when the change throws', () => {
    write('{}\n');
    expect(() =>
      changeWhole(file, () => {
        throw new GatewayError('usage', 'wrong');
      }),
    ).toThrow('wrong');
    run('set', 'persona', 'Jack');
    const holder = new DatabaseSync(`${file}.lock`);
    holder.exec('BEGIN EXCLUSIVE');
    try {
      expect(() => changeWhole(file, () => ({ after: '{}', result: undefined }), { waitMs: 20 })).toThrow(
        `${file} cannot be written: another process is changing it; try again`,
      );
    } finally {
      holder.close();
    }
    expect(read()).toContain('Jack');
  });
});
