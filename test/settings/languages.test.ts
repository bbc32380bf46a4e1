/** Languages by file: read at startup and on change, checked against the English table, with English as fallback. */
import { mkdtemp, mkdir, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ENGLISH } from '../../src/protocol/texts/english.ts';
import {
  createLanguages,
  type LanguageFiles,
  MAX_LANGUAGE_BYTES,
  MAX_LANGUAGE_FILES,
} from '../../src/settings/languages.ts';
import { MAX_TEXT_CHARS } from '../../src/settings/language-file.ts';
import { silentLog } from '../database.ts';

let home = '';
let languages: LanguageFiles;
let changed: () => void = () => undefined;
const logged: unknown[][] = [];

beforeEach(async () => {
  home = await mkdtemp(path.join(os.tmpdir(), 'languages-'));
  await mkdir(path.join(home, 'languages'));
  logged.length = 0;
  const note = (...line: unknown[]): void => void logged.push(line);
  languages = createLanguages({
    folder: path.join(home, 'languages'),
    watch: (tell) => {
      changed = tell;
      return { folders: () => undefined, close: () => undefined };
    },
    settings: () => ['limits.messagesPerMinute', 'access.telegram.dm', 'providers.*.kind'],
    writeCommand: (name, { channel }) => (channel === 'matrix' ? `!${name}` : `/${name}`),
    log: { ...silentLog, warn: note, error: note, info: note },
  });
});

afterEach(async () => {
  await languages.close();
  await rm(home, { recursive: true });
});

const write = (name: string, content: unknown): Promise<void> =>
  writeFile(
    path.join(home, 'languages', name),
    typeof content === 'string' ? content : JSON.stringify(content),
  );

describe('languages', () => {
  it('are English and German without a file', async () => {
    await languages.open();
    expect(languages.codes()).toEqual(['en', 'de']);
    expect(languages.say({ language: 'de' })('stop.stopped')).toBe('Angehalten.');
    expect(languages.say({ language: 'fr' })('stop.stopped')).toBe('Stopped.');
    expect(languages.say({})('stop.stopped')).toBe('Stopped.');
  });

  it("name commands the way the reader's channel writes them, also in files", async () => {
    await write('fr.json', { 'rules.unknown': '{/rules} les montre.', 'link.linked': 'Envoie /unlink.' });
    await languages.open();
    const [here, there] = ['matrix', undefined].map((channel) => languages.say({ language: 'fr', channel }));
    expect(languages.errors()).toEqual([]);
    expect([here?.('rules.unknown'), there?.('rules.unknown')]).toEqual([
      '!rules les montre.',
      '/rules les montre.',
    ]);
    expect(here?.('link.linked')).toBe('Envoie /unlink.');
    expect(here?.('verify.usage')).toBe('Write !verify and a number from !memory.');
  });

  it('come from files, with English for missing texts, which the log counts once', async () => {
    await write('fr.json', {
      'stop.stopped': 'Arrêté.',
      'stop.dropped': { one: '{count} message en attente.', other: '{count} messages en attente.' },
    });
    await languages.open();
    const say = languages.say({ language: 'fr' });
    expect(languages.codes()).toEqual(['en', 'de', 'fr']);
    expect(say('stop.stopped')).toBe('Arrêté.');
    expect([0, 1, 2].map((count) => say('stop.dropped', { count }))).toEqual([
      '0 message en attente.',
      '1 message en attente.',
      '2 messages en attente.',
    ]);
    expect(say('stop.nothing')).toBe('Nothing is running.');
    changed();
    await languages.close();
    expect(logged).toEqual([
      [expect.objectContaining({ language: 'fr', missing: expect.any(Number) }), 'language_incomplete'],
    ]);
  });

  it('describe settings, once for all channels or entries with a star', async () => {
    const described = {
      'setting.limits.messagesPerMinute': 'Combien {de} messages.',
      'setting.access.*.dm': 'Qui peut écrire.',
    };
    await write('fr.json', { ...described, 'setting.providers.*.kind': 'Sorte.' });
    await languages.open();
    expect(languages.errors()).toEqual([]);
    expect(languages.say({ language: 'fr' }).table).toMatchObject(described);
    expect(languages.say({ language: 'de' }).table['setting.limits.messagesPerMinute']).toMatch(
      /^Nachrichten, die/,
    );
    expect(logged).toEqual([
      [expect.objectContaining({ missing: Object.keys(ENGLISH).length }), 'language_incomplete'],
    ]);
  });

  it('change single texts of the built-in ones', async () => {
    await write('de.json', { 'stop.stopped': 'Schluss.' });
    await languages.open();
    expect(languages.say({ language: 'de' })('stop.stopped')).toBe('Schluss.');
    expect(languages.say({ language: 'de' })('stop.nothing')).toBe('Es läuft nichts.');
  });

  it('are reread when a file changes; a broken one keeps its last valid content and is named', async () => {
    await write('fr.json', { 'stop.stopped': 'Arrêté.' });
    await languages.open();
    await write('fr.json', '{\n  "stop.stopped": "Fini."\n  "x"');
    changed();
    await languages.close();
    expect(languages.say({ language: 'fr' })('stop.stopped')).toBe('Arrêté.');
    expect(languages.errors().join('\n')).toContain('languages/fr.json:3:3: a comma is missing');
    await write('fr.json', { 'stop.stopped': 'Fini.' });
    changed();
    await languages.close();
    expect([languages.say({ language: 'fr' })('stop.stopped'), languages.errors()]).toEqual(['Fini.', []]);
  });

  it.each<[string, unknown, string]>([
    ['a key that no text has', { 'stop.halted': 'x' }, 'fr.json:1:2: stop.halted: there is no such text'],
    [
      'a value that no text has',
      { 'title.is': '{title} {name}' },
      'there is no value {name}; its values are {title}',
    ],
    ['a value that is lost', { 'title.is': 'Titre' }, 'lacks the value {title}'],
    ['plurals without the last form', { 'stop.dropped': { one: '1' } }, 'with "other"'],
    ['a plural where there is none', { 'stop.stopped': { other: 'x' } }, 'must be a text'],
    ['a text that is too long', { 'stop.stopped': 'x'.repeat(MAX_TEXT_CHARS + 1) }, 'must be a text'],
    ['a setting that there is not', { 'setting.limits.x': 'x' }, 'setting.limits.x: there is no such text'],
    ['a description that is no text', { 'setting.access.*.dm': { other: 'x' } }, 'must be a text'],
    ['a list', [], 'does not hold an object'],
  ])('refuse a file with %s', async (_, content, message) => {
    await write('fr.json', content);
    await languages.open();
    expect(languages.errors().join('\n')).toContain(message);
    expect(languages.codes()).toEqual(['en', 'de']);
  });

  it('accept a text of the maximum length, and a file of the maximum size', async () => {
    await write('fr.json', { 'stop.stopped': 'x'.repeat(MAX_TEXT_CHARS) });
    await write('es.json', '{}'.padEnd(MAX_LANGUAGE_BYTES));
    await write('it.json', '{}'.padEnd(MAX_LANGUAGE_BYTES + 1));
    await languages.open();
    expect(languages.codes()).toEqual(['en', 'de', 'es', 'fr']);
    expect(languages.errors()).toEqual([expect.stringContaining('languages/it.json: is too long')]);
  });

  it('are named after their file, and limited in number', async () => {
    await write('french.json', {});
    for (let nth = 0; nth < MAX_LANGUAGE_FILES; nth += 1)
      await write(`a${String.fromCodePoint(97 + Math.floor(nth / 26), 97 + (nth % 26))}.json`, {});
    await languages.open();
    expect(languages.codes()).toHaveLength(2 + MAX_LANGUAGE_FILES);
    expect(languages.errors()).toEqual([
      expect.stringContaining('"french.json" and those after it are not read'),
    ]);
    await rm(path.join(home, 'languages', 'aaa.json'));
    changed();
    await languages.close();
    expect(languages.errors()).toEqual([expect.stringContaining('named by its language')]);
  });
});
