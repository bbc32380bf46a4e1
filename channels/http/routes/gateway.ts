/** The routes about the gateway itself: liveness, readiness, metrics, models, commands. */
import type { Caller } from '../../../src/protocol/access.ts';
import type { HealthReport } from '../../../src/protocol/gateway-api.ts';
import { MODELS_TIMEOUT_MS } from '../config.ts';
import { HttpError } from '../errors.ts';
import type { HandlerDeps, HttpContext } from '../route.ts';
import { sayToCaller } from './language.ts';

/** 200 as long as the process answers at all. */
export function healthz(c: HttpContext): Response {
  return c.json({ status: 'ok' });
}

/**
 * 200 once the store and this channel are up; a channel that is off or refused only shows in the body. Reasons, addresses,
 * counts and the version are for admins.
 */
export async function readyz(c: HttpContext, deps: HandlerDeps): Promise<Response> {
  const caller: Caller | undefined = c.get('caller');
  const isAdmin = caller?.scopes.includes('admin') ?? false;
  const report = await deps.gateway.health(isAdmin ? await sayToCaller(c, deps) : undefined);
  return c.json(isAdmin ? report : statesOf(report), report.ready ? 200 : 503);
}

/** What anyone may know about the gateway's health. */
function statesOf({ ready, store, model, channels, profiles, settings, demo }: HealthReport) {
  const states = Object.entries(channels).map(([name, { state, label }]) => [name, { state, label }]);
  return {
    ready,
    store,
    model: { state: model.state },
    channels: Object.fromEntries(states),
    profiles: { state: profiles.state },
    settings: { state: settings.state },
    demo,
  };
}

/** Prometheus text; the route asks for `admin`. */
export async function metrics(c: HttpContext, deps: HandlerDeps): Promise<Response> {
  return c.body(await deps.gateway.metrics(), 200, {
    'content-type': 'text/plain; version=0.0.4; charset=utf-8',
  });
}

/** The settings in effect, what is wrong with their file, and what waits for a restart; the route asks for `admin`. */
export function readSettings(c: HttpContext, deps: HandlerDeps): Response {
  return c.json(deps.gateway.settings());
}

/** `default`, the profiles and the models in OpenAI's shape. Throws `ProviderError` when the model server cannot be reached. */
export async function listModels(c: HttpContext, deps: HandlerDeps): Promise<Response> {
  const ids = await deps.gateway.models(c.get('caller'), AbortSignal.timeout(MODELS_TIMEOUT_MS));
  return c.json({
    object: 'list',
    data: ids.map(wireModel),
  });
}

/** One of them; the whole list for an address that ends with the slash. Throws `HttpError` 404, or `ProviderError` when the model server cannot be reached. */
export async function readModel(c: HttpContext, deps: HandlerDeps): Promise<Response> {
  const id = decodeName(c.req.path.slice('/v1/models/'.length));
  if (id === '') return await listModels(c, deps);
  const ids = await deps.gateway.models(c.get('caller'), AbortSignal.timeout(MODELS_TIMEOUT_MS));
  if (ids.includes(id)) return c.json(wireModel(id));
  throw new HttpError(
    404,
    'model_not_found',
    `There is no model "${id.slice(0, 100)}": GET /v1/models lists them.`,
    {
      param: 'model',
    },
  );
}

function decodeName(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // Not encoded: no model has such a name, and the answer says so.
    return text;
  }
}

function wireModel(id: string) {
  return { id, object: 'model', created: 0, owned_by: 'parley' };
}

/** The `/` commands that the token may use, for menus, in its language. */
export async function listCommands(c: HttpContext, deps: HandlerDeps): Promise<Response> {
  const say = await sayToCaller(c, deps);
  return c.json({ commands: deps.gateway.commandsFor(c.get('caller'), say) });
}
