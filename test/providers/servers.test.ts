/** Which model servers the environment and `config.json` name, and how mistakes in them are reported. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { loadConfig, secretsOf } from '../../src/config.ts';
import type { LLMProvider } from '../../src/protocol/agent/provider.ts';
import { openModelServers, providerKinds } from '../../src/providers/index.ts';
import { defineKind, settingsFor } from '../../src/providers/kind.ts';
import { configureServers, presentProviders, providersSchemaFor } from '../../src/providers/servers.ts';
import { redactor } from '../../src/ops/log.ts';
import { startFakeLlama } from '../fakes/llama-server/llama-server.ts';
import { never } from './request.ts';

const GPU = { kind: 'openai', baseUrl: 'http://10.0.0.5:8080/v1' };
const ATTIC = { kind: 'ollama', baseUrl: 'http://10.0.0.6:11434' };
const KEY = 'sk-of-the-gpu-0123456789';

let home = '';
beforeEach(() => void (home = mkdtempSync(path.join(tmpdir(), 'parley-servers-'))));
afterEach(() => rmSync(home, { recursive: true }));

function load(environment: Record<string, string>, file: unknown = {}) {
  writeFileSync(path.join(home, 'config.json'), JSON.stringify(file), { mode: 0o600 });
  return loadConfig({ GATEWAY_HOME: home, ...environment });
}

const serversOf = (environment: Record<string, string>, providers: unknown = {}) =>
  load(environment, { providers }).modelServers;

const defaultsOf = (environment: Record<string, string>, providers: unknown = {}) =>
  openModelServers(load(environment, { providers }));

describe('the model servers of the configuration', () => {
  it('default to an assumed Ollama when nothing names one', () => {
    expect(serversOf({})).toMatchObject([
      { name: 'ollama', kind: 'ollama', baseUrl: 'http://127.0.0.1:11434', namedBy: 'nobody' },
    ]);
  });

  it.each([
    [{ OPENAI_BASE_URL: 'http://a/v1' }, {}, ['openai']],
    [{}, { gpu: GPU }, ['gpu']],
    [{ OPENAI_API_KEY: KEY }, {}, ['ollama', 'openai']],
    [{ OPENAI_BASE_URL: 'http://a/v1' }, { ollama: { concurrency: 2 } }, ['ollama', 'openai']],
    [{ OPENAI_BASE_URL: 'http://a/v1', OLLAMA_HOST: 'b' }, {}, ['ollama', 'openai']],
  ])(
    'with %j and providers %j are %j: Ollama is included when it is named or nothing else is',
    (env, file, names) => {
      expect(serversOf(env, file).map(({ name }) => name)).toEqual(names);
    },
  );

  it('are those of the environment first, then any number from the file, each under its name', () => {
    const env = { OLLAMA_HOST: '10.0.0.2:11434', OPENAI_BASE_URL: 'http://a/v1', GPU_KEY: KEY };
    const servers = serversOf(env, { gpu: { ...GPU, apiKeyEnv: 'GPU_KEY', concurrency: 2 }, attic: ATTIC });
    expect(servers.map(({ name, kind, baseUrl }) => [name, kind, baseUrl])).toEqual([
      ['ollama', 'ollama', '10.0.0.2:11434'],
      ['openai', 'openai', 'http://a/v1'],
      ['gpu', 'openai', GPU.baseUrl],
      ['attic', 'ollama', ATTIC.baseUrl],
    ]);
    expect(servers[2]).toMatchObject({ apiKey: KEY, settings: { concurrency: 2, stream: true } });
  });

  it('can be refined by an entry with the name that the environment gives them', () => {
    const env = { OPENAI_BASE_URL: 'http://a/v1', OPENAI_API_KEY: KEY };
    const refined = { ollama: { concurrency: 3 }, openai: { concurrency: 4, stream: false } };
    expect(serversOf(env, refined)).toMatchObject([
      { name: 'ollama', settings: { concurrency: 3 } },
      { name: 'openai', baseUrl: 'http://a/v1', apiKey: KEY, settings: { concurrency: 4, stream: false } },
    ]);
  });

  it('take the address from the file when the environment names none, and send the key that belongs to it', () => {
    const [ollama, openai] = serversOf(
      { OPENAI_API_KEY: KEY },
      { ollama: { baseUrl: ATTIC.baseUrl }, openai: { baseUrl: GPU.baseUrl } },
    );
    expect(ollama).toMatchObject({ baseUrl: ATTIC.baseUrl, addressSetting: 'providers.ollama.baseUrl' });
    expect(openai).toMatchObject({ baseUrl: GPU.baseUrl, apiKey: KEY });
  });

  it('keep settings of a server that nothing names yet', () => {
    expect(serversOf({}, { openai: { concurrency: 4 } }).map(({ name }) => name)).toEqual(['ollama']);
  });

  it('register every key and password with the log', () => {
    const config = load(
      { GPU_KEY: KEY, OLLAMA_HOST: 'me:s3cret-word@ollama.test' },
      { providers: { gpu: { ...GPU, apiKeyEnv: 'GPU_KEY' } } },
    );
    expect(secretsOf(config).secrets).toEqual(expect.arrayContaining([KEY, 's3cret-word']));
    expect(redactor(secretsOf(config))(`it said ${KEY}`)).toBe('it said [secret]');
  });
});

describe('a mistake in the model servers', () => {
  it.each([
    [{ gpu: { ...GPU, kind: 'vllm' } }, /providers\.gpu\.kind: must be "ollama" or "openai"/],
    [{ gpu: { baseUrl: GPU.baseUrl } }, /providers\.gpu\.kind: must be "ollama" or "openai"/],
    [{ gpu: { kind: 'openai' } }, /providers\.gpu\.baseUrl: is missing: write the address/],
    [{ gpu: { ...GPU, baseUrl: '10.0.0.5:8080' } }, /providers\.gpu\.baseUrl: must be an http or https URL/],
    [{ gpu: { ...GPU, baseUrl: 'ftp://gpu/v1' } }, /providers\.gpu\.baseUrl: must be an http or https URL/],
    [{ gpu: { ...GPU, baseUrl: `http://me:${KEY}@gpu/v1` } }, /providers\.gpu\.baseUrl: .*apiKeyEnv/],
    [{ gpu: { ...GPU, apiKeyEnv: 'GPU_KEY' } }, /providers\.gpu\.apiKeyEnv: .*GPU_KEY is not set/],
    [{ gpu: { ...GPU, apiKeyEnv: KEY } }, /providers\.gpu\.apiKeyEnv: must be the name of an environment/],
    [{ gpu: { ...GPU, concurrency: 0 } }, /providers\.gpu\.concurrency/],
    [{ attic: { ...ATTIC, stream: false } }, /:1:\d+: providers\.attic\.stream: there is no such field/],
    [{ 'Big GPU': GPU }, /providers\.Big GPU: a name has/],
    [{ openai: ATTIC }, /providers\.openai\.kind: a server of this name is of kind "openai"/],
    [{ gpu: { kind: 'openai', url: GPU.baseUrl } }, /providers\.gpu\.url: write the address as baseUrl/],
    [{ gpu: { ...GPU, apiKey: KEY } }, /providers\.gpu\.apiKey: .*environment variable.*apiKeyEnv/],
  ])('%j is reported by its field and without its value', (providers, message) => {
    expect(() => serversOf({}, providers)).toThrow(message);
    expect(() => serversOf({}, providers)).not.toThrow(KEY);
  });

  it('is reported together with all others, and fields of an earlier version with their new place', () => {
    const file = { http: {}, providers: { gpu: { kind: 'openai', host: 'x' }, attic: { kind: 'lmstudio' } } };
    const all = /http: has moved: .*channels\.http[\s\S]*providers\.gpu\.host[\s\S]*providers\.attic\.kind/;
    expect(() => load({}, file)).toThrow(all);
  });

  it('is a server that both the environment and the file name', () => {
    expect(() => serversOf({ OLLAMA_HOST: 'a:1' }, { ollama: { baseUrl: ATTIC.baseUrl } })).toThrow(
      /providers\.ollama\.baseUrl: OLLAMA_HOST names this server already/,
    );
  });

  it('is a key that cannot be sent in a header', () => {
    const gpu = { ...GPU, apiKeyEnv: 'GPU_KEY' };
    expect(() => serversOf({ GPU_KEY: 'two\nlines' }, { gpu })).toThrow(/GPU_KEY: may hold only visible/);
  });
});

describe('the default model', () => {
  it.each([
    [{}, {}, undefined, ''],
    [{ MODEL: 'a' }, {}, 'a', ''],
    [{ OPENAI_BASE_URL: 'http://a/v1', MODEL: 'a' }, {}, 'openai/a', 'openai/'],
    [{ OPENAI_BASE_URL: 'http://a/v1', MODEL: 'openai/a' }, {}, 'openai/a', 'openai/'],
    [{ OPENAI_BASE_URL: 'http://a/v1', MODEL: 'Qwen/a' }, {}, 'openai/Qwen/a', 'openai/'],
    [{ OPENAI_BASE_URL: 'http://a/v1', OLLAMA_HOST: 'b', MODEL: 'a' }, {}, 'a', 'openai/'],
    [{ OPENAI_API_KEY: KEY, MODEL: 'a' }, {}, 'a', ''],
    [{ MODEL: 'a' }, { gpu: GPU, attic: ATTIC }, 'gpu/a', 'gpu/'],
    [{ MODEL: 'attic/a' }, { gpu: GPU, attic: ATTIC }, 'attic/a', 'gpu/'],
    [{ MODEL: 'a' }, { gpu: GPU, ollama: ATTIC }, 'a', ''],
    [{ MODEL: 'a', OLLAMA_HOST: 'b' }, { gpu: GPU }, 'a', ''],
    [{ MODEL: 'hf.co/user/a:q4', OLLAMA_HOST: 'b' }, { gpu: GPU }, 'hf.co/user/a:q4', ''],
    [{ MODEL: 'user/a:q4', OLLAMA_HOST: 'b' }, { gpu: GPU }, 'user/a:q4', ''],
    [{ MODEL: 'user/a', OLLAMA_HOST: 'b' }, {}, 'user/a', ''],
  ])('with %j and providers %j is %s, else the first of "%s"', async (env, providers, model, usual) => {
    expect(await defaultsOf(env, providers)).toMatchObject({ model, usual });
  });

  it('of the only server is found with and without its name, including slashes in it', async () => {
    const llama = await startFakeLlama({ models: [{ id: 'fake' }, { id: 'org/fake' }] });
    const { provider } = await defaultsOf({}, { gpu: { kind: 'openai', baseUrl: llama.url } });
    onTestFinished(async () => {
      await provider.close();
      await llama.close();
    });
    expect(await provider.models(never)).toEqual(['gpu/fake', 'gpu/org/fake']);
    expect(await provider.models(never, 'fake')).toEqual(['fake', 'org/fake']);
    for (const model of ['fake', 'gpu/fake', 'org/fake', 'gpu/org/fake']) {
      expect(await provider.capabilities(model, never)).toMatchObject({ tools: true });
    }
    await expect(provider.capabilities('ollama/fake', never)).rejects.toThrow(
      /none is configured: set OLLAMA_HOST/,
    );
  });

  it('of a provider that is not configured is refused with the fix', async () => {
    await expect(defaultsOf({ MODEL: 'openai/a' })).rejects.toThrow(/MODEL: .*set OPENAI_BASE_URL/);
    await expect(defaultsOf({ MODEL: 'gpo/a', OLLAMA_HOST: 'b' }, { gpu: GPU })).rejects.toThrow(
      /MODEL: "gpo\/a" names the provider "gpo".*providers\.gpo.*ollama, gpu.*ollama\/gpo\//,
    );
  });

  it('is checked like a model that a profile names', async () => {
    const { modelProblem } = await defaultsOf({ OLLAMA_HOST: 'b' }, { gpu: GPU });
    expect(JSON.stringify(modelProblem('gpo/a'))).toContain('gpo');
    expect(modelProblem('gpu/a')).toBeUndefined();
    expect(modelProblem('anything:tag')).toBeUndefined();
  });
});

describe('a third kind of server', () => {
  it('takes one more line in the list: its settings, its names, its provider', async () => {
    const made: unknown[] = [];
    const echo: LLMProvider = {
      name: 'far',
      models: () => Promise.resolve(['one']),
      capabilities: () => Promise.reject(new Error('not asked')),
      streamChat: () => {
        throw new Error('not asked');
      },
      embed: () => Promise.reject(new Error('not asked')),
      close: () => Promise.resolve(),
    };
    const kind = defineKind({
      kind: 'echo',
      settings: settingsFor('echo').extend({ loud: z.boolean().default(true) }),
      create: (server, { loud }) => {
        made.push([server.name, server.baseUrl, loud]);
        return Promise.resolve(echo);
      },
    });
    const kinds = [...providerKinds, kind];
    const given = { far: { kind: 'echo', baseUrl: 'http://far' } };
    const file = providersSchemaFor(kinds).parse(presentProviders(given, kinds).providers);
    const { servers } = configureServers(kinds, { env: { OLLAMA_HOST: '127.0.0.1:1' }, file });
    const { provider } = await openModelServers({ modelServers: servers, env: {} }, { kinds });
    expect(made).toEqual([['far', 'http://far', true]]);
    expect(await provider.models(never)).toEqual(['far/one']);
    await provider.close();
  });
});
