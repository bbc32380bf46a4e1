/** The route of webhooks: programs call it with a signature instead of a token. */
import { z } from 'zod';
import { MAX_JSON_DEPTH } from '../../../src/lib/json/json.ts';
import { readExact, readSigned } from '../body.ts';
import { HttpError } from '../errors.ts';
import { type HandlerDeps, type HttpContext, type Route, routeOf } from '../route.ts';

/** How long a sender waits when there was no room for its message. */
const AGAIN_MS = 30_000;

/** One text for all that only a sender without the secret can meet: it does not tell which webhooks there are. */
const UNSIGNED =
  'There is no such webhook, or the signature is missing or not that of this body and its secret.';
const STALE = 'The signature is older than five minutes, or comes from a clock that is wrong.';

const route = routeOf('gateway');

export const webhookRoutes: readonly Route[] = [
  route('POST', '/v1/hooks/:name', 'none', {
    summary: 'Call a webhook of config.json with a signed body',
    description:
      'The signature of the body stands for a token. The message is durable once this answers 202; a repeated delivery is accepted once.',
    body: z.unknown(),
    status: 202,
    // An unsigned request gets 401, whether or not the webhook exists, and counts like a wrong token.
    async handle(c, deps) {
      const { incoming, outgoing } = c.env;
      const name = c.req.param('name') ?? '';
      const refusal = (text: string): HttpError =>
        deps.wrongTokens.refusal(
          deps.addressOf(incoming),
          'signatures',
          new HttpError(401, 'invalid_signature', text),
        );
      if (!deps.gateway.hooks.has(name)) throw refusal(UNSIGNED);
      const body = await readSigned(incoming, outgoing, deps);
      const receipt = await deps.gateway.hooks.accept(name, { headers: incoming.headers, body });
      switch (receipt.kind) {
        case 'accepted':
          return c.json({ accepted: true, turnId: receipt.turnId }, 202);
        case 'duplicate':
          return c.json({ accepted: true, turnId: null, repeated: true }, 202);
        case 'full': {
          const text = 'Too many messages are waiting there; send it again later.';
          throw new HttpError(429, 'queue_full', text, { retryAfterMs: AGAIN_MS });
        }
        case 'invalid':
          throw new HttpError(
            400,
            'invalid_json',
            `The body is not JSON in UTF-8 of at most ${MAX_JSON_DEPTH} levels.`,
          );
        case 'taken': {
          const text =
            'The session that this webhook writes to belongs to a token without admin. Delete it, or name another in "to".';
          throw new HttpError(409, 'session_taken', text);
        }
        case 'unsigned':
          throw refusal(receipt.reason === 'stale' ? STALE : UNSIGNED);
        default:
          return receipt satisfies never;
      }
    },
  }),
  route('POST', '/v1/updates/:channel', 'none', {
    summary: 'An update of a bot, posted by its platform with the secret of the webhook',
    description: 'For the platform alone, in webhook mode; what does not carry its secret is refused.',
    body: z.unknown(),
    answer: z.object({ ok: z.literal(true) }),
    // The secret is checked before the body is read: without it the answer is 401, whether or not the webhook exists.
    async handle(c, deps, read) {
      const { incoming, outgoing } = c.env;
      const webhook = deps.gateway.webhook(c.req.param('channel') ?? '');
      if (webhook?.isGenuine(incoming.headers) !== true)
        throw deps.wrongTokens.refusal(deps.addressOf(incoming), 'secrets', noWebhook());
      deps.sockets.serve(incoming.socket, outgoing);
      const outcome = await webhook.takeUpdate(await read());
      switch (outcome) {
        case 'stored':
        case 'repeated':
          return c.json({ ok: true });
        case 'full': {
          const text = 'Too many updates are waiting; post them again later.';
          throw new HttpError(503, 'queue_full', text, { retryAfterMs: AGAIN_MS });
        }
        case 'invalid':
          throw new HttpError(400, 'invalid_update', 'The body is not an update: it has no update_id.');
        default:
          return outcome satisfies never;
      }
    },
  }),
  route('POST', '/v1/interactions/:channel', 'none', {
    summary: 'What someone does with a command or a button of a bot, posted and signed by its platform',
    description: 'For the platform alone; what it has not signed is refused.',
    body: z.unknown(),
    status: 202,
    // Platforms send unsigned requests on purpose, to see that they are refused: these count as no one's failure.
    async handle(c, deps) {
      const { incoming, outgoing } = c.env;
      const interactions = deps.gateway.interactions(c.req.param('channel') ?? '');
      if (interactions === undefined) throw noInteraction();
      const body = await readSigned(incoming, outgoing, deps);
      if (!(await interactions.isGenuine(incoming.headers, body))) throw noInteraction();
      deps.sockets.serve(incoming.socket, outgoing);
      const answer = await interactions.answer(body);
      if (answer === 'invalid')
        throw new HttpError(400, 'invalid_interaction', 'The body is not an interaction.');
      return answer === 'taken' ? c.body(null, 202) : c.json(answer);
    },
  }),
  route('GET', '/v1/channels/:channel/webhook', 'none', {
    summary: 'A question of a platform to the channel of a plug-in, such as whether this address is right',
    description: 'For the platform alone; the plug-in checks that it is genuine.',
    answer: 'text',
    handle: answerPlatform,
  }),
  route('POST', '/v1/channels/:channel/webhook', 'none', {
    summary: 'What a platform posts to the channel of a plug-in',
    description: 'For the platform alone; the plug-in gets exactly these bytes, and checks their signature.',
    body: z.unknown(),
    answer: 'text',
    handle: answerPlatform,
  }),
];

/** Passes a request of a platform on to the channel of a plug-in, which checks that it is genuine. */
async function answerPlatform(c: HttpContext, deps: HandlerDeps): Promise<Response> {
  const { incoming, outgoing } = c.env;
  const answer = deps.gateway.answerRequest(c.req.param('channel') ?? '');
  const refusal = (): HttpError =>
    deps.wrongTokens.refusal(deps.addressOf(incoming), 'signatures', noInteraction());
  if (answer === undefined) throw refusal();
  const body = await readExact(incoming, outgoing, deps);
  const { search: query } = new URL(c.req.url);
  const { method = 'GET', headers } = incoming;
  const { status, headers: fields, body: text } = await answer({ method, query, headers, body });
  if (status === 401) throw refusal();
  if (status < 400) deps.sockets.serve(incoming.socket, outgoing);
  const isEmpty = [204, 205, 304].includes(status);
  // A browser that is led here shows nothing of it as a page of the gateway.
  const safe = { 'content-type': 'text/plain; charset=utf-8', ...lowered(fields), ...SHUT };
  return new Response(isEmpty ? null : text, { status, headers: safe });
}

const SHUT = {
  'content-security-policy': "sandbox; default-src 'none'",
  'x-content-type-options': 'nosniff',
};
/** Headers that a plug-in may set. */
const PASSED = ['content-type', 'retry-after', 'allow'];

function lowered(fields: Readonly<Record<string, string>>): Record<string, string> {
  const entries = Object.entries(fields).map(([name, value]) => [name.toLowerCase(), value] as const);
  return Object.fromEntries(
    entries.filter(([name, value]) => PASSED.includes(name) && /^[\x20-\x7e]*$/.test(value)),
  );
}

function noInteraction(): HttpError {
  const text = 'No platform posts here, or the signature is missing, wrong or too old.';
  return new HttpError(401, 'invalid_signature', text);
}

function noWebhook(): HttpError {
  const text = 'There is no such webhook, or its secret is missing or wrong.';
  return new HttpError(401, 'invalid_secret', text);
}
