/** The routes about the gateway itself: liveness, readiness, metrics, models, commands. */
import { MODELS_TIMEOUT_MS } from '../config.ts';
import type { HandlerDeps, HttpContext } from '../route.ts';

/** 200 as long as the process answers at all. */
export function healthz(c: HttpContext): Response {
  return c.json({ status: 'ok' });
}

/** 200 once the store and this channel are up; a channel that is off or refused only shows in the body. */
export async function readyz(c: HttpContext, deps: HandlerDeps): Promise<Response> {
  const report = await deps.gateway.health();
  return c.json(report, report.ready ? 200 : 503);
}

/** Prometheus text; the route asks for `admin`. */
export async function metrics(c: HttpContext, deps: HandlerDeps): Promise<Response> {
  return c.body(await deps.gateway.metrics(), 200, {
    'content-type': 'text/plain; version=0.0.4; charset=utf-8',
  });
}

/** `default`, the profiles and the models in OpenAI's shape. Throws `ProviderError` when the model server cannot be reached. */
export async function listModels(c: HttpContext, deps: HandlerDeps): Promise<Response> {
  const ids = await deps.gateway.models(AbortSignal.timeout(MODELS_TIMEOUT_MS));
  return c.json({
    object: 'list',
    data: ids.map((id) => ({ id, object: 'model', created: 0, owned_by: 'parley' })),
  });
}

/** The `/` commands, for menus. */
export function listCommands(c: HttpContext, deps: HandlerDeps): Response {
  return c.json({ commands: deps.gateway.commands });
}
