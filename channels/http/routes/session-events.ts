/** `GET /v1/sessions/:key/events`: the events of a session, first those the reader missed, then live ones. */
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { EVENTS } from '../event-stream.ts';
import type { HandlerDeps, HttpContext } from '../route.ts';
import { noSession } from '../errors.ts';
import { readableKey } from '../inbound.ts';
import { eachOnce, EventFrames } from '../event-frames.ts';
import { queryOf } from '../sign-in/tickets.ts';

/** Time that a browser waits before it reconnects. */
const RETRY_MS = 1_000;
const EVENT_ID = /^\d{1,15}-\d{1,15}$/;

/** Opens the stream. Throws `HttpError` 404 or 429. */
export async function sessionEvents(c: HttpContext, deps: HandlerDeps): Promise<Response> {
  const { incoming, outgoing } = c.env;
  const key = readableKey(c.req.param('key') ?? '');
  const caller = c.get('caller');
  if ((await deps.gateway.session(caller, key)) === undefined) throw noSession(key);
  // A stream that is never read would stay open.
  if (incoming.method === 'HEAD') return c.body(null, 200, EVENTS.headers);
  const stream = deps.streams.add({ caller, authorization: incoming.headers.authorization ?? '' }, outgoing);
  // A new `EventSource` cannot send the header.
  const given = incoming.headers['last-event-id'] ?? queryOf(incoming).get('last_event_id');
  const lastEventId = typeof given === 'string' && EVENT_ID.test(given) ? given : undefined;

  // Synchronous, so that no event is emitted between the replay and the subscription.
  const frames = new EventFrames();
  const write = eachOnce((event) => {
    stream.write(frames.frameOf(event));
    if (event.type === 'session_deleted') stream.end();
  });
  const missed = deps.gateway.replay(key, lastEventId).events;
  const unsubscribe = deps.gateway.subscribe({ sessionKey: key }, write);
  outgoing.once('close', unsubscribe);
  stream.write(`retry: ${RETRY_MS}\n\n`);
  for (const event of missed) write(event);
  return RESPONSE_ALREADY_SENT;
}
