/** The routes of Ollama's API about the server and its models. */
import { createHash } from 'node:crypto';
import { z } from 'zod';
import { readAnyJson } from '../../body.ts';
import { MODELS_TIMEOUT_MS } from '../../config.ts';
import type { HandlerDeps, HttpContext } from '../../route.ts';
import { modelOf } from './requests.ts';

/** The version of Ollama whose API this is: some clients ask for a recent one. */
const OLLAMA_VERSION = '0.13.0';

/** The gateway has no dates of models: when it started. */
const STARTED_AT = new Date(performance.timeOrigin).toISOString();

/** The version. */
export function version(c: HttpContext): Response {
  return c.json({ version: OLLAMA_VERSION });
}

/** `default`, the profiles and the models; each with a tag, as clients add `latest` to a name that has none. */
export async function tags(c: HttpContext, deps: HandlerDeps): Promise<Response> {
  const ids = await deps.gateway.models(c.get('caller'), AbortSignal.timeout(MODELS_TIMEOUT_MS));
  return c.json({ models: ids.map(listed) });
}

/** The models in memory: the gateway does not know them. */
export function loaded(c: HttpContext): Response {
  return c.json({ models: [] });
}

/** The body; `name` is the older field. */
export const showSchema = z.object({ model: z.string().nullish(), name: z.string().nullish() });

/** What one model can do, and how much it reads. Throws `GatewayError('unknown_model')`, `ProviderError`. */
export async function show(c: HttpContext, deps: HandlerDeps): Promise<Response> {
  const body = await readAnyJson(c.env, showSchema);
  const model = modelOf(body.model ?? body.name);
  const signal = AbortSignal.timeout(MODELS_TIMEOUT_MS);
  const { name, capabilities: can } = await deps.gateway.describeModel(c.get('caller'), model, signal);
  return c.json({
    modelfile: '',
    parameters: '',
    template: '',
    details: DETAILS,
    model_info: {
      'general.architecture': DETAILS.family,
      'general.basename': name,
      [`${DETAILS.family}.context_length`]: can.contextWindow,
    },
    capabilities: [
      ...(can.chat === false ? ['embedding'] : ['completion']),
      ...(can.tools ? ['tools'] : []),
      ...(can.thinking ? ['thinking'] : []),
      ...(can.vision ? ['vision'] : []),
    ],
    modified_at: STARTED_AT,
  });
}

const DETAILS = {
  parent_model: '',
  format: '',
  family: 'parley',
  families: ['parley'],
  parameter_size: '',
  quantization_level: '',
};

function listed(id: string) {
  const name = id.includes(':') ? id : `${id}:latest`;
  const digest = createHash('sha256').update(name).digest('hex');
  return { name, model: name, modified_at: STARTED_AT, size: 0, digest, details: DETAILS };
}
