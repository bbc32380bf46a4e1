/** The first `config.json`: written once, changes nothing, and lists every setting with its default. */
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { firstConfig, writeFirstConfig } from '../../src/commands/init/first-config.ts';
import { checkConfig } from '../../src/config.ts';
import { editedText } from '../../src/settings/index.ts';
import { silentLog } from '../database.ts';
import { testLog } from '../fakes/agent/tool-context.ts';

async function freshHome(): Promise<string> {
  const home = await mkdtemp(path.join(tmpdir(), 'parley-first-'));
  onTestFinished(() => rm(home, { recursive: true, force: true }));
  return home;
}

/** What a gateway makes of this text, without the functions. */
function effective(home: string, text: string): unknown {
  const { config, problems } = checkConfig({ GATEWAY_HOME: home }, { text });
  expect(problems).toEqual([]);
  return JSON.parse(JSON.stringify({ ...config, source: undefined }));
}

it('means the same as no file, as it is and with every comment taken away', async () => {
  const home = await freshHome();
  const none = effective(home, '{}');
  const text = firstConfig();
  expect(effective(home, text)).toEqual(none);
  const uncommented = text.replaceAll(/^ {2}\/\/ (?=[ "}])/gm, '  ');
  expect(uncommented).toContain('\n    "messagesPerMinute": 10,\n    "messagesAtOnce": 5,\n');
  expect(effective(home, uncommented)).toEqual(none);
});

it('can be changed by hand and by command, which keeps the comments', async () => {
  const home = await freshHome();
  const text = editedText(firstConfig(), ['persona'], 'You are Ada.');
  expect(effective(home, text)).toMatchObject({ persona: 'You are Ada.' });
  expect(text).toContain('// "language": "auto",\n');
  const byHand = firstConfig().replace('// "language": "auto"', '"language": "de"');
  expect(effective(home, byHand)).toMatchObject({ language: 'de' });
  expect(effective(home, editedText(byHand, ['limits', 'messagesAtOnce'], 2))).toMatchObject({
    language: 'de',
    limits: { messagesAtOnce: 2 },
  });
});

it('is written for its owner alone, and never over a file that is there', async () => {
  const home = await freshHome();
  const file = path.join(home, 'config.json');
  writeFirstConfig(file, silentLog);
  expect(await readFile(file, 'utf8')).toBe(firstConfig());
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  await writeFile(file, '{ "persona": "Mine." }');
  writeFirstConfig(file, silentLog);
  expect(await readFile(file, 'utf8')).toBe('{ "persona": "Mine." }');
  expect(await readdir(home)).toEqual(['config.json']);
});

it('is only logged when it cannot be written', async () => {
  const home = await freshHome();
  // A file where a folder should be: refused for every user, root included.
  await writeFile(path.join(home, 'file'), '');
  const lines: string[] = [];
  writeFirstConfig(path.join(home, 'file', 'config.json'), testLog(lines));
  expect(lines.join('')).toContain('config_not_written');
});
