/** The routes about the gateway itself: liveness, readiness, metrics, models, commands. */
import { z } from 'zod';
import type { Caller } from '../../../src/protocol/access.ts';
import type { HealthReport } from '../../../src/protocol/gateway-api.ts';
import { MODELS_TIMEOUT_MS } from '../config.ts';
import { HttpError } from '../errors.ts';
import { type HandlerDeps, type HttpContext, type Route, routeOf } from '../route.ts';
import { sayToCaller } from './person.ts';

const route = routeOf('gateway');
const openaiRoute = routeOf('openai');

export const gatewayRoutes: readonly Route[] = [
  route('GET', '/healthz', 'none', {
    summary: 'Alive',
    description: 'Answers as long as the process does; needs no token and asks nothing of the store.',
    answer: z.object({ status: z.literal('ok') }),
    handle(c) {
      return c.json({ status: 'ok' });
    },
  }),
  route('GET', '/readyz', 'chat', {
    token: 'optional',
    summary: 'Ready, with the state of store, model and channels; more for admins',
    description:
      '503 until the store and HTTP are up. A channel that is off or refused only shows in the body; addresses, counts, reasons and the version are for admins.',
    answer: z.looseObject({ ready: z.boolean() }),
    async handle(c, deps) {
      const caller: Caller | undefined = c.get('caller');
      const isAdmin = caller?.scopes.includes('admin') ?? false;
      const report = await deps.gateway.health(isAdmin ? await sayToCaller(c, deps) : undefined);
      return c.json(isAdmin ? report : statesOf(report), report.ready ? 200 : 503);
    },
  }),
  route('GET', '/metrics', 'admin', {
    summary: 'Metrics for Prometheus',
    description: 'Counters and histograms in the text format of Prometheus, from the gateway and its worker.',
    answer: 'text',
    async handle(c, deps) {
      return c.body(await deps.gateway.metrics(), 200, {
        'content-type': 'text/plain; version=0.0.4; charset=utf-8',
      });
    },
  }),
  openaiRoute('GET', '/v1/models', 'chat', {
    summary: '`default`, the profiles and the models',
    description:
      'Tokens without `admin` see `default`, the profiles they may use and the model they would get.',
    handle: listModels,
  }),
  openaiRoute('GET', '/v1/models/*', 'chat', {
    summary: 'One of them',
    description: 'A name may contain slashes; a missing one gets the whole list.',
    async handle(c, deps) {
      const id = decodeName(c.req.path.slice('/v1/models/'.length));
      if (id === '') return await listModels(c, deps);
      const ids = await deps.gateway.models(c.get('caller'), AbortSignal.timeout(MODELS_TIMEOUT_MS));
      if (ids.includes(id)) return c.json(wireModel(id));
      const text = `There is no model "${id.slice(0, 100)}": GET /v1/models lists them.`;
      throw new HttpError(404, 'model_not_found', text, { param: 'model' });
    },
  }),
  route('GET', '/v1/commands', 'chat', {
    summary: 'The commands that the token may use',
    description: "For menus: names, arguments and what they do, in the language of the token's person.",
    async handle(c, deps) {
      const say = await sayToCaller(c, deps);
      return c.json({ commands: deps.gateway.commandsFor(c.get('caller'), say) });
    },
  }),
  route('GET', '/v1/settings', 'admin', {
    summary: 'The settings in effect, and what is wrong with their file',
    description:
      '`values` are in effect, `errors` say why the newest file is not, `needsRestart` names changes that wait for a restart.',
    handle(c, deps) {
      return c.json(deps.gateway.settings());
    },
  }),
];

/** What anyone may know about the gateway's health. */
function statesOf({ ready, store, events, model, channels, profiles, settings, demo }: HealthReport) {
  const states = Object.entries(channels).map(([name, { state, label }]) => [name, { state, label }]);
  return {
    ready,
    store,
    events,
    model: { state: model.state },
    channels: Object.fromEntries(states),
    profiles: { state: profiles.state },
    settings: { state: settings.state },
    demo,
  };
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

/** `default`, the profiles and the models in OpenAI's shape. Throws `ProviderError` when the model server cannot be reached. */
async function listModels(c: HttpContext, deps: HandlerDeps): Promise<Response> {
  const ids = await deps.gateway.models(c.get('caller'), AbortSignal.timeout(MODELS_TIMEOUT_MS));
  return c.json({ object: 'list', data: ids.map(wireModel) });
}
