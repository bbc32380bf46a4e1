/** What an OpenAI-compatible server says of its models, and where some servers say more than its API has a place for. */
import { z } from 'zod';
import { ProviderError } from '../../protocol/errors.ts';
import type { ModelCapabilities } from '../../protocol/agent/provider.ts';
import { textRef } from '../../protocol/texts/say.ts';
import { UNKNOWN_WINDOW } from '../discovery.ts';
import { clip, type Where } from '../errors.ts';
import type { ServerCalls } from '../server-calls.ts';
import { findModel, type ListedModel, readModels } from './wire.ts';

/** How long each further question may take, in milliseconds: the window is worth little delay, and refusals tell it, too. */
export const NATIVE_WITHIN_MS = 2_000;
/** Names of models repeated in a message. */
const MAX_NAMES_SHOWN = 5;

/** A window in tokens; `guessed` = the model is not loaded, and may be loaded with a smaller one. */
interface NativeWindow {
  window: number;
  guessed: boolean;
}

const tokens = z.int().positive();

const nativeList = z.object({
  data: z.array(
    z.object({
      id: z.string(),
      loaded_context_length: tokens.optional().catch(undefined),
      max_context_length: tokens.optional().catch(undefined),
    }),
  ),
});

const serverProps = z.object({ default_generation_settings: z.object({ n_ctx: tokens }) });

/** Lists its models (`GET /models`). Throws `ProviderError`. */
export async function listModels(
  calls: ServerCalls,
  options: { model?: string; signal?: AbortSignal },
): Promise<ListedModel[]> {
  return await calls.ask({ method: 'GET', path: '/models' }, readModels, options);
}

/**
 * What a model of the provider `name` can do; `root` calls the address without `/v1`. Servers of one model serve it
 * under any name, so it is checked here, unless they list nothing. Throws `ProviderError`.
 */
export async function discover(
  name: string,
  calls: ServerCalls,
  root: ServerCalls,
  model: string,
  vision: boolean,
): Promise<ModelCapabilities> {
  const models = await listModels(calls, { model });
  const match = findModel(models, model);
  if (match === undefined && models.length > 0) {
    const ids = models.map(({ id }) => `${name}/${id}`);
    throw unknownModel({ ...calls.at, model }, ids);
  }
  const listed = match?.window;
  const native = listed === undefined ? await nativeWindow(root, match?.id ?? model) : undefined;
  return {
    contextWindow: listed ?? native?.window ?? UNKNOWN_WINDOW,
    ...(listed === undefined && native?.guessed !== false && { windowGuessed: true }),
    tools: true,
    thinking: match?.thinking ?? false,
    vision,
  };
}

/** The window by LM Studio (`/api/v0/models`) or llama-server (`/props`); undefined if the server is neither, or slow. */
async function nativeWindow(root: ServerCalls, model: string): Promise<NativeWindow | undefined> {
  const [listed, props] = await Promise.all([
    ask(root, '/api/v0/models', (json) => listedWindow(json, model)),
    ask(root, '/props', propsWindow),
  ]);
  return listed ?? props;
}

async function ask<T>(root: ServerCalls, path: string, read: (json: unknown) => T): Promise<T | undefined> {
  try {
    return await root.ask({ method: 'GET', path }, read);
  } catch (error) {
    // Most servers do not know these paths: then the window stays unknown.
    if (error instanceof ProviderError) return undefined;
    throw error;
  }
}

/** LM Studio's REST API v0 (lmstudio-ai/docs, 1_developer/2_rest/endpoints.mdx). */
function listedWindow(listed: unknown, model: string): NativeWindow | undefined {
  const read = nativeList.safeParse(listed);
  const entry = read.success ? read.data.data.find(({ id }) => id === model) : undefined;
  if (entry?.loaded_context_length !== undefined)
    return { window: entry.loaded_context_length, guessed: false };
  if (entry?.max_context_length === undefined) return undefined;
  return { window: Math.min(entry.max_context_length, UNKNOWN_WINDOW), guessed: true };
}

/** The window of one slot of llama-server (ggml-org/llama.cpp, tools/server/README.md, GET /props). */
function propsWindow(props: unknown): NativeWindow | undefined {
  const read = serverProps.safeParse(props);
  return read.success ? { window: read.data.default_generation_settings.n_ctx, guessed: false } : undefined;
}

/** The error for a model the server does not list; `has` is what it does list, by the public names. */
export function unknownModel({ host, model }: Where, has: readonly string[]): ProviderError {
  const about = { host, model: `${model}` };
  const models = clip(has.slice(0, MAX_NAMES_SHOWN).join(', '));
  return new ProviderError(
    'unknown_model',
    models === ''
      ? textRef('provider.no_model', about)
      : textRef('provider.no_model_has', { ...about, models }),
  );
}
