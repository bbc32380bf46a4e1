/** The window of a model whose OpenAI-compatible list does not say it: some servers do, outside that API. */
import { z } from 'zod';
import { ProviderError } from '../../contracts/errors.ts';
import { parseJson } from '../../lib/json/json.ts';
import { readWhole } from '../answers/read-answer.ts';
import { requestWithin } from '../http/request.ts';
import type { CallRules, Connections } from '../http/connections.ts';
import { UNKNOWN_WINDOW } from '../discovery.ts';
import type { OpenaiPlace } from './errors.ts';

/** How long each question may take, in milliseconds: the window is worth little delay, and refusals tell it, too. */
const NATIVE_WITHIN_MS = 2_000;

/** Where these questions go: beside the API, not below it. */
export interface NativeServer {
  at: OpenaiPlace;
  /** Connections to the address without its `/v1`. */
  root: Connections;
  rules: (where: OpenaiPlace, signal: AbortSignal) => CallRules;
}

/** A window in tokens; `guessed` = the model is not loaded, and may be loaded with a smaller one. */
export interface NativeWindow {
  window: number;
  guessed: boolean;
}

/**
 * Asks as LM Studio (`/api/v0/models`) and llama-server (`/props`) answer; undefined when the server does neither, or
 * not in time. Never throws.
 */
export async function nativeWindow(server: NativeServer, model: string): Promise<NativeWindow | undefined> {
  const [listed, props] = await Promise.all([ask(server, '/api/v0/models'), ask(server, '/props')]);
  return listedWindow(listed, model) ?? propsWindow(props);
}

async function ask({ at, root, rules }: NativeServer, path: string): Promise<unknown> {
  try {
    return await requestWithin(at, NATIVE_WITHIN_MS, undefined, async (until) => {
      const answer = await root.send({ method: 'GET', path }, rules(at, until));
      return parseJson(await readWhole(answer));
    });
  } catch (error) {
    // Most servers do not know these paths: then the window stays unknown, as before.
    if (error instanceof ProviderError) return undefined;
    throw error;
  }
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

/** LM Studio's REST API v0 (lmstudio-ai/docs, 1_developer/2_rest/endpoints.mdx). */
function listedWindow(listed: unknown, model: string): NativeWindow | undefined {
  const read = nativeList.safeParse(listed);
  const entry = read.success ? read.data.data.find(({ id }) => id === model) : undefined;
  if (entry?.loaded_context_length !== undefined)
    return { window: entry.loaded_context_length, guessed: false };
  if (entry?.max_context_length === undefined) return undefined;
  return { window: Math.min(entry.max_context_length, UNKNOWN_WINDOW), guessed: true };
}

const serverProps = z.object({ default_generation_settings: z.object({ n_ctx: tokens }) });

/** The window of one slot of llama-server (ggml-org/llama.cpp, tools/server/README.md, GET /props). */
function propsWindow(props: unknown): NativeWindow | undefined {
  const read = serverProps.safeParse(props);
  return read.success ? { window: read.data.default_generation_settings.n_ctx, guessed: false } : undefined;
}
