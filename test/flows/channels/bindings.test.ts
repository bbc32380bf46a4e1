/** Bindings: which profile and model answer in a chat or to a person, through a whole gateway. */
import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, it, vi } from 'vitest';
import { FAKE_MODELS } from '../../fakes/ollama/models.ts';
import { FAKE_BOT } from '../../fakes/telegram/telegram.ts';
import { describeGateway, WAIT } from '../setup.ts';

const [usualModel] = FAKE_MODELS;
const models = usualModel === undefined ? [] : [usualModel, { ...usualModel, name: 'model-of-ann' }];
const NAME = `@${FAKE_BOT.username}`;
const GROUP = '-4200';
const [OWNER, ANN, BEN, EVE] = ['7001', '7002', '7003', '7004'];
const settings = {
  limits: { messagesAtOnce: 100 },
  access: {
    telegram: { allow: [OWNER, ANN, BEN, EVE], groups: { [GROUP]: {} } },
    owners: { telegram: [OWNER] },
  },
  bindings: [
    { channel: 'telegram', profile: 'everybody' },
    { channel: 'telegram', chat: GROUP, profile: 'team' },
    { channel: 'telegram', user: ANN, profile: 'ann', model: 'model-of-ann' },
    { channel: 'telegram', chat: GROUP, user: BEN, profile: 'ben' },
  ],
};

async function furnish(home: string): Promise<void> {
  for (const id of ['everybody', 'team', 'ann', 'ben']) {
    const folder = path.join(home, 'profiles', id);
    await mkdir(folder, { recursive: true });
    const settingsOf = {
      enabledTools: [],
      ...(id === 'everybody' && { planning: 'off' }),
      ...(id === 'ann' && { fallbacks: [usualModel?.name] }),
    };
    await writeFile(path.join(folder, 'config.json'), JSON.stringify(settingsOf));
    await writeFile(path.join(folder, 'system_prompt.md'), `You are the profile ${id}.`);
  }
  await writeFile(path.join(home, 'config.json'), JSON.stringify(settings), { mode: 0o600 });
}

describeGateway('a binding', { telegram: true, furnish, model: { models } }, (fixture) => {
  let count = 0;
  /** The profile and the model with which a user is answered. */
  const answeredBy = async (from: string, chat = from): Promise<[string | undefined, string]> => {
    count += 1;
    const text = `question ${count}.`;
    fixture().telegram.says(chat, chat === from ? text : `${NAME} ${text}`, from);
    const { body } = await fixture().modelCall(text);
    await fixture().idle(`telegram:${chat}`);
    const system = body.messages.find(({ role }) => role === 'system')?.content ?? '';
    return [/You are the profile (\w+)/.exec(system)?.[1], body.model];
  };
  const says = async (text: string, from: string, expected: string): Promise<string> => {
    fixture().telegram.says(from, text, from);
    await vi.waitFor(() => expect(fixture().telegram.screen(from).at(-1)).toContain(expected), WAIT);
    return fixture().telegram.screen(from).at(-1) ?? '';
  };

  it('picks the profile of a person in a chat before that of the chat, of the person, and of the channel', async () => {
    const [, usual] = await answeredBy(EVE);
    expect(await answeredBy(EVE)).toEqual(['everybody', usual]);
    expect(await answeredBy(EVE, GROUP)).toEqual(['team', usual]);
    expect(await answeredBy(ANN)).toEqual(['ann', 'model-of-ann']);
    expect(await answeredBy(ANN, GROUP)).toEqual(['team', usual]);
    expect(await answeredBy(BEN, GROUP)).toEqual(['ben', usual]);
    expect(await answeredBy(BEN)).toEqual(['everybody', usual]);
  });

  it('is shown by /status, /profile and /model', async () => {
    expect(await says('/status', ANN, 'Profile: ann (set in config.json)')).toContain('Model: model-of-ann');
    await says('/profile', ANN, 'Profile: ann (set in config.json)');
    await says('/model', ANN, 'model-of-ann');
  });

  it('applies to /plan and /mode, whatever the profile of the conversation itself', async () => {
    await says('/plan make tea', EVE, 'Planning is off in the profile "everybody"');
    await says('/mode', EVE, 'No plans are made here');
    fixture().ollama.answer('It takes water.\nREFLECT: no', { when: 'make tea' });
    fixture().ollama.answer('## Steps\n1. [SELF] Boil water', { when: 'make tea' });
    await says('/plan make tea', ANN, 'Boil water');
    await fixture().idle(`telegram:${ANN}`);
    const { body } = await fixture().modelCall('make tea');
    expect([body.model, body.messages[0]?.content]).toEqual([
      'model-of-ann',
      expect.stringContaining('You are the profile ann.'),
    ]);
  });

  it('keeps the fallbacks of its profile for the model that it names', async () => {
    const failure = { kind: 'status', status: 500, error: 'model requires more system memory' } as const;
    fixture().ollama.answer({ failure }, { when: 'think hard' });
    fixture().telegram.says(ANN, 'think hard', ANN);
    await fixture().idle(`telegram:${ANN}`);
    await vi.waitFor(
      async () => expect((await fixture().modelCall('think hard')).body.model).toBe(usualModel?.name),
      WAIT,
    );
    await fixture().idle(`telegram:${ANN}`);
  });

  it('is overridden by what an owner has chosen for the conversation, and cannot be left by others', async () => {
    await says('/profile default', ANN, 'Only an owner');
    await says('/profile ann', OWNER, 'Profile changed to ann');
    expect((await answeredBy(OWNER))[0]).toBe('ann');
    await says('/profile default', OWNER, 'Profile changed to default');
    expect((await answeredBy(OWNER))[0]).toBeUndefined();
    expect(await says('/status', OWNER, 'Profile: default')).not.toContain('bound');
  });

  it('refuses to start, with the location of everything it does not know', async () => {
    const bindings = [
      { channel: 'telegraph', profile: 'team' },
      { channel: 'telegram', chat: 'family', profile: 'team' },
      { channel: 'telegram', profile: 'team' },
      { channel: 'telegram', profile: 'ann' },
    ];
    const home = path.join(fixture().home, 'wrong');
    await mkdir(home, { mode: 0o700 });
    await writeFile(path.join(home, 'config.json'), JSON.stringify({ bindings }, undefined, 2), {
      mode: 0o600,
    });
    const env = { ...process.env, GATEWAY_HOME: home, DATABASE_URL: '' };
    const validate = promisify(execFile)(process.execPath, ['src/launch.js', 'config', 'validate'], { env });
    const { stderr } = await validate.then(
      () => ({ stderr: '' }),
      (error: { stderr: string }) => error,
    );
    expect(stderr).toMatch(
      /config\.json:4:\d+: bindings\.0\.channel: there is no such channel: expected one of telegram, discord/,
    );
    expect(stderr).toContain('bindings.1.chat: must be');
    expect(stderr).toContain('bindings.3: is for the same place as bindings.2');
  });
});
