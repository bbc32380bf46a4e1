/** Which model and profile a request means. */
import { expect, it } from 'vitest';
import { createModels, MAX_LOOKED_AT } from '../../../src/agent/model/models.ts';
import { ProviderError } from '../../../src/protocol/errors.ts';
import { defaultProfile } from '../../../src/agent/profiles/built-in.ts';
import type { Profile } from '../../../src/protocol/agent/profile.ts';
import type { ChoiceStore } from '../../../src/protocol/store/records.ts';
import { testLog } from '../../fakes/agent/tool-context.ts';
import { ScriptedProvider } from '../../fakes/agent/scripted-provider.ts';

const signal = new AbortController().signal;

function profile(id: string): Profile {
  return { ...defaultProfile(''), id, systemPrompt: '' };
}

function countedModels(
  provider: ScriptedProvider,
  options: { model?: string; monotonicNow?: () => number; choices?: ChoiceStore; logged?: string[] } = {},
) {
  let asked = 0;
  const counting = {
    name: 'counting',
    models: (given: AbortSignal) => {
      asked += 1;
      return provider.models(given);
    },
    capabilities: provider.capabilities.bind(provider),
    streamChat: provider.streamChat.bind(provider),
    close: () => provider.close(),
  };
  const profiles = (): Profile[] => [profile('default'), profile('coder')];
  const { choices = keptChoices(), logged = [] } = options;
  const models = createModels(
    { provider: counting, profiles, model: options.model, choices, log: testLog(logged) },
    options.monotonicNow ?? (() => 0),
  );
  return { models, asked: () => asked };
}

/** Choices as a database would store them. */
function keptChoices(kept = new Map<string, string>()): ChoiceStore {
  return {
    chosen: (name) => Promise.resolve(kept.get(name)),
    choose: (name, value, insteadOf) => {
      if (kept.get(name) === insteadOf) kept.set(name, value);
      return Promise.resolve(kept.get(name) ?? value);
    },
  };
}

it('uses MODEL, else a model of the server, and caches the list for five minutes (B-26)', async () => {
  expect(await countedModels(new ScriptedProvider(), { model: 'mine' }).models.fallback(signal)).toBe('mine');
  let now = 0;
  const provider = new ScriptedProvider();
  const { models, asked } = countedModels(provider, { monotonicNow: () => now });
  expect(await models.fallback(signal)).toBe('test-model');
  provider.names = ['newer'];
  now = 299_000;
  expect(await models.fallback(signal)).toBe('test-model');
  expect(asked()).toBe(1);
  now = 301_000;
  expect(await models.fallback(signal)).toBe('newer');
});

it('keeps the model it chose when others are fetched, also after a restart and on another node', async () => {
  const kept = keptChoices();
  const provider = new ScriptedProvider();
  provider.names = ['llama3.2:latest', 'older:latest'];
  expect(await countedModels(provider, { choices: kept }).models.fallback(signal)).toBe('llama3.2:latest');
  provider.names = ['newest:latest', 'llama3.2:latest'];
  expect(await countedModels(provider, { choices: kept }).models.fallback(signal)).toBe('llama3.2:latest');
});

it('chooses again, and logs it, when the model is gone from the server', async () => {
  const kept = keptChoices(new Map([['model', 'gone:latest']]));
  const logged: string[] = [];
  const provider = new ScriptedProvider();
  provider.names = ['here:latest'];
  expect(await countedModels(provider, { choices: kept, logged }).models.fallback(signal)).toBe(
    'here:latest',
  );
  expect(logged.join()).toMatch(/"model":"here:latest","insteadOf":"gone:latest".*model_chosen/);
  expect(await kept.chosen('model')).toBe('here:latest');
});

it('never chooses a model that cannot chat, such as an embedding model', async () => {
  const provider = new ScriptedProvider();
  provider.names = ['nomic-embed-text:latest', 'llama3.2:latest'];
  provider.capabilities = (name) => Promise.resolve({ ...provider.can, chat: !name.includes('embed') });
  expect(await countedModels(provider).models.fallback(signal)).toBe('llama3.2:latest');
  provider.names = ['nomic-embed-text:latest'];
  await expect(countedModels(provider).models.fallback(signal)).rejects.toThrow('can chat');
});

it('resolves a model that cannot chat for vectors only', async () => {
  const provider = new ScriptedProvider();
  provider.names = ['nomic-embed-text:latest', 'llama3.2:latest'];
  provider.capabilities = (name) => Promise.resolve({ ...provider.can, chat: !name.includes('embed') });
  const { models } = countedModels(provider);
  expect(await models.resolve('nomic-embed-text', signal, 'vectors')).toEqual({
    model: 'nomic-embed-text:latest',
  });
  await expect(models.resolve('nomic-embed-text', signal)).rejects.toMatchObject({
    code: 'unknown_model',
    message: expect.stringContaining('cannot chat'),
  });
  expect(await models.resolve('llama3.2', signal)).toEqual({ model: 'llama3.2:latest' });
});

it(`looks at ${MAX_LOOKED_AT} models at most, and skips one that cannot be described`, async () => {
  const provider = new ScriptedProvider();
  const asked: string[] = [];
  provider.names = Array.from({ length: MAX_LOOKED_AT + 1 }, (_, n) => `m${n}`);
  provider.capabilities = (name) => {
    asked.push(name);
    if (name === 'm0') return Promise.reject(new ProviderError('bad_response', 'It is broken.'));
    return Promise.resolve({ ...provider.can, chat: name === 'm1' });
  };
  expect(await countedModels(provider).models.fallback(signal)).toBe('m1');
  asked.length = 0;
  provider.capabilities = (name) => Promise.resolve({ ...provider.can, chat: asked.push(name) < 0 });
  await expect(countedModels(provider).models.fallback(signal)).rejects.toThrow('can chat');
  expect(asked).toHaveLength(MAX_LOOKED_AT);
});

it('explains how to fetch a model when the server has none, and asks the server again the next time', async () => {
  const provider = new ScriptedProvider();
  provider.names = [];
  const { models } = countedModels(provider);
  await expect(models.fallback(signal)).rejects.toThrow('ollama pull');
  provider.names = ['pulled'];
  expect(await models.fallback(signal)).toBe('pulled');
});

it('resolves default, profile ids and model names, also of a model that was just fetched (B-07)', async () => {
  const provider = new ScriptedProvider();
  const { models } = countedModels(provider);
  expect(await models.resolve('default', signal)).toEqual({});
  expect(await models.resolve('coder', signal)).toEqual({ profileId: 'coder' });
  expect(await models.resolve('test-model', signal)).toEqual({ model: 'test-model' });
  provider.names = ['test-model', 'just-pulled', 'small:latest'];
  expect(await models.resolve('just-pulled', signal)).toEqual({ model: 'just-pulled' });
  expect(await models.resolve('small', signal)).toEqual({ model: 'small:latest' });
  await expect(models.resolve('gpt-17', signal)).rejects.toMatchObject({ code: 'unknown_model' });
  expect(await models.list(signal)).toEqual([
    'default',
    'coder',
    'test-model',
    'just-pulled',
    'small:latest',
  ]);
});

it('reports that the server is unreachable instead of calling a model unknown', async () => {
  const provider = new ScriptedProvider();
  provider.down = new ProviderError('unavailable', 'down', { retryable: true });
  const { models } = countedModels(provider);
  await expect(models.resolve('some-model', signal)).rejects.toMatchObject({ code: 'unavailable' });
});

it('refuses a profile whose model cannot answer, but not one whose server is only unreachable (S-43, S-49)', async () => {
  const provider = new ScriptedProvider();
  const of = (id: string, model: string): Profile => ({ ...profile(id), model });
  const profiles = (): Profile[] => [profile('default'), of('known', 'test-model'), of('lost', 'gone')];
  const models = createModels({ provider, profiles, choices: keptChoices(), log: testLog([]) }, () => 0);
  await models.checkProfile('default', signal);
  await models.checkProfile('known', signal);
  await expect(models.checkProfile('lost', signal)).rejects.toThrow(
    '"lost" cannot answer: there is no model "gone"',
  );
  provider.down = new ProviderError('unavailable', 'down', { retryable: true });
  await models.checkProfile('lost', signal);
  provider.down = new ProviderError('unavailable', 'set OPENAI_API_KEY');
  await expect(models.checkProfile('lost', signal)).rejects.toMatchObject({
    code: 'unavailable',
    message: 'The profile "lost" cannot answer: set OPENAI_API_KEY',
  });
});

it('falls back to the default profile when a session names one that no longer exists', () => {
  const { models } = countedModels(new ScriptedProvider());
  expect(models.profile('deleted').id).toBe('default');
  expect(models.profile('coder').id).toBe('coder');
});
