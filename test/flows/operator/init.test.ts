/**
 * `parley init`: with answers and with flags, from nothing to a home that a gateway starts with, and again to change
 * it.
 */
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openDialog } from '../../../src/commands/init/dialog.ts';
import { withEnvFiles } from '../../../src/commands/environment.ts';
import { initCommand, readInitFlags } from '../../../src/commands/init/init.ts';
import { loadConfig } from '../../../src/config.ts';
import { parley } from '../../child.ts';
import { startFakeOllama } from '../../fakes/ollama/ollama.ts';
import { FakeHomeserver, MATRIX_TOKEN } from '../../fakes/matrix/homeserver.ts';
import { FAKE_TOKEN, FakeTelegram } from '../../fakes/telegram/telegram.ts';

describe('parley init', () => {
  let home = '';
  let model: Awaited<ReturnType<typeof startFakeOllama>>;
  let telegram: FakeTelegram;
  let env: Record<string, string> = {};
  beforeEach(async () => {
    home = path.join(await mkdtemp(path.join(tmpdir(), 'parley-init-')), 'home');
    model = await startFakeOllama();
    telegram = await FakeTelegram.start();
    env = { GATEWAY_HOME: home, OLLAMA_HOST: model.url, TELEGRAM_API_ROOT: telegram.root };
  });
  afterEach(async () => {
    await telegram.close();
    await model.close();
    await rm(path.dirname(home), { recursive: true, force: true });
  });
  const settings = () => readFile(path.join(home, 'config.json'), 'utf8');
  const variables = () => readFile(path.join(home, '.env'), 'utf8');

  /** What is on screen after these answers, one line each; undefined = no one answers. */
  async function init(answers: readonly string[] | undefined, ...flags: string[]): Promise<string> {
    const screen = new PassThrough();
    const shown = text(screen);
    const input = answers && Readable.from(answers.map((line) => `${line}\n`));
    const dialog = openDialog(input, screen);
    try {
      screen.write(await initCommand(readInitFlags(flags), withEnvFiles(env, home), dialog));
    } finally {
      dialog.close();
      screen.end();
    }
    return await shown;
  }

  it('asks for model, tokens, owner and time zone, checks each, and writes what a gateway starts with', async () => {
    const shown = await init([
      'plain',
      '1:wrong',
      FAKE_TOKEN,
      '42',
      '',
      '',
      '',
      'Mars/Phobos',
      'Europe/Berlin',
    ]);
    expect(shown).toContain('has these models: fake:latest, plain:latest.');
    expect(shown).toContain('Telegram refuses the bot token');
    expect(shown).toContain('The token belongs to @parley_test_bot.');
    expect(shown).toContain('Privacy mode is on');
    expect(shown).toContain('Mars/Phobos is not a time zone');
    expect(await settings()).toMatch(/^\/\/ Settings of Parley/);
    expect(await variables()).toMatch(/^# Variables of Parley/);
    for (const file of ['config.json', '.env'])
      expect((await stat(path.join(home, file))).mode & 0o777).toBe(0o600);
    const config = loadConfig(withEnvFiles({ GATEWAY_HOME: home, OLLAMA_HOST: model.url }, home));
    expect(config.env).toMatchObject({ MODEL: 'plain', TELEGRAM_BOT_TOKEN: FAKE_TOKEN });
    expect(config.schedules.timeZone).toBe('Europe/Berlin');
    expect(config.channels.find(({ name }) => name === 'telegram')?.access?.owners).toEqual(['42']);
    expect(shown).not.toContain(FAKE_TOKEN);
  });

  it('asks for whatever else a channel requires', async () => {
    const homeserver = await FakeHomeserver.open();
    try {
      const flags = ['--matrix-token', MATRIX_TOKEN, '--model', 'fake', '--time-zone', 'UTC'];
      const shown = await init(['', '', '', homeserver.root, '@ada:fake.example'], ...flags);
      expect(shown).toContain('Address of the bot’s homeserver');
      expect(shown).toMatch(/ok +Matrix +The token belongs to/);
      expect(await variables()).toContain(`MATRIX_URL=${homeserver.root}\n`);
      expect(await settings()).toContain('@ada:fake.example');
      await expect(init(undefined, '--yes', '--slack-bot-token', 'xoxb-1-2-fake')).rejects.toThrow(
        'SLACK_BOT_TOKEN cannot be used',
      );
    } finally {
      await homeserver.close();
    }
  });

  it('downloads a model that the server does not have', async () => {
    await init(['qwen3:4b']);
    expect(model.requests).toContain('POST /api/pull');
    expect(await variables()).toMatch(/^MODEL=qwen3:4b$/m);
    await expect(init(undefined, '--pull', 'missing:1b')).rejects.toThrow(/could not fetch missing:1b/);
  });

  it('edits the existing files when it is run again: comments, order and other lines stay', async () => {
    await init(undefined, '--yes', '--model', 'fake');
    const commented = '// Mine.\n{\n  // Calm.\n  "persona": "Ada",\n  "schedules": { "total": 7 }\n}\n';
    await writeFile(path.join(home, 'config.json'), commented);
    await writeFile(path.join(home, '.env'), '# Mine, too.\nexport MODEL=fake\nLOG_LEVEL=warn\n', {
      mode: 0o600,
    });
    expect(await init(undefined, '--yes', '--time-zone', 'Asia/Tokyo', '--model', 'plain')).toContain(
      'Written: ',
    );
    expect(await settings()).toContain('// Mine.\n{\n  // Calm.\n  "persona": "Ada"');
    expect(await settings()).toMatch(/"total": 7,\s*"timeZone": "Asia\/Tokyo"/);
    expect(await variables()).toBe('# Mine, too.\nMODEL=plain\nLOG_LEVEL=warn\n');
    expect(await init(undefined, '--yes')).toContain('Nothing was changed.');
  });

  it('explains what to do if no model server answers, and writes nothing invalid', async () => {
    env['OLLAMA_HOST'] = 'http://127.0.0.1:9';
    expect(await init(undefined, '--yes', '--model', 'later')).toContain(
      'Install Ollama from https://ollama.com',
    );
    await expect(init(undefined, '--yes', '--telegram-bot-token', 'nonsense')).rejects.toThrow(
      /TELEGRAM_BOT_TOKEN cannot be used/,
    );
    expect(await variables()).not.toContain('nonsense');
    expect(() => readInitFlags(['--colour'])).toThrow(/init has no option --colour\. It has .*--time-zone/);
  });

  it('is read by every command: what the environment sets comes first, an empty variable counts as none', async () => {
    await init(undefined, '--yes', '--model', 'fake', '--ollama-host', model.url);
    const { stdout } = await parley(['doctor', '--json'], { GATEWAY_HOME: home, OLLAMA_HOST: '', PORT: '0' });
    expect(stdout).toContain('fake: window of ');
    const other = await parley(['doctor', '--json'], { GATEWAY_HOME: home, MODEL: 'other', PORT: '0' });
    expect(other.stdout).toContain('MODEL names other');
  });
});
