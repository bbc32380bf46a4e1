/** The list of model servers Parley knows. */
import { ConfigError } from '../contracts/errors.ts';
import type { LLMProvider } from '../contracts/provider.ts';
import { createOllama } from './ollama/ollama.ts';
import type { OllamaOptions } from './ollama/ollama.ts';
import { createOpenai } from './openai/openai.ts';
import type { OpenaiOptions } from './openai/openai.ts';
import { createRouter, OPENAI_PREFIX } from './router.ts';

export interface ProvidersOptions {
  ollama: OllamaOptions;
  /** Undefined when no OpenAI-compatible server is configured. */
  openai?: OpenaiOptions | undefined;
}

/** Makes every provider that is configured, by name. Throws `ConfigError` when an address cannot be used. */
export function createProviders(options: ProvidersOptions): ReadonlyMap<string, LLMProvider> {
  const all = [createOllama(options.ollama), ...(options.openai ? [createOpenai(options.openai)] : [])];
  return new Map(all.map((provider) => [provider.name, provider]));
}

/** What the configuration says of model servers. */
export interface ModelSettings {
  env: {
    OLLAMA_HOST: string;
    OPENAI_BASE_URL?: string | undefined;
    OPENAI_API_KEY?: string | undefined;
    MODEL?: string | undefined;
  };
  /** OLLAMA_HOST is set, not only assumed. */
  namesOllama: boolean;
  providers: { ollama: { concurrency: number }; openai: { concurrency: number } };
}

/** The model servers, and what answers when nothing names a model. */
export interface ModelServers {
  provider: LLMProvider;
  /** `MODEL`, with its prefix. */
  model: string | undefined;
  /** Without `MODEL`: the server of a model named so gives its first. */
  usual: string;
}

/** Where a key without OPENAI_BASE_URL belongs. */
const OPENAI_OWN_URL = 'https://api.openai.com/v1';

/**
 * Makes all that is configured. `MODEL` means Ollama unless it begins with `openai/`, or OPENAI_BASE_URL is the only
 * server that is named; without `MODEL`, the server that OPENAI_BASE_URL names gives its first model, else Ollama does.
 * Throws `ConfigError`.
 */
export function openModelServers({ env, namesOllama, providers: settings }: ModelSettings): ModelServers {
  const { OPENAI_BASE_URL: openaiBaseUrl, OPENAI_API_KEY: apiKey, MODEL: named } = env;
  const baseUrl = openaiBaseUrl ?? (apiKey === undefined ? undefined : OPENAI_OWN_URL);
  const onlyOpenai = openaiBaseUrl !== undefined && !namesOllama;
  const model = named !== undefined && onlyOpenai ? prefixed(named) : named;
  if (model?.startsWith(OPENAI_PREFIX) && baseUrl === undefined) {
    throw new ConfigError(
      'bad_config',
      'MODEL begins with openai/: set OPENAI_BASE_URL to the server that has it (or OPENAI_API_KEY for OpenAI itself).',
    );
  }
  const providers = createProviders({
    ollama: { ...settings.ollama, host: env.OLLAMA_HOST },
    openai: baseUrl === undefined ? undefined : { ...settings.openai, baseUrl, apiKey },
  });
  const usual = openaiBaseUrl === undefined ? '' : OPENAI_PREFIX;
  return { provider: createRouter(providers), model, usual };
}

function prefixed(model: string): string {
  return model.startsWith(OPENAI_PREFIX) ? model : OPENAI_PREFIX + model;
}
