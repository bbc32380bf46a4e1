/** The routes of notifications: which browsers of a token are told by Web Push. */
import { z } from 'zod';
import { MAX_PUSH_ENDPOINT, MAX_PUSH_SUBSCRIPTIONS } from '../../../src/protocol/operator/push.ts';
import { HttpError } from '../errors.ts';
import { type Route, routeOf } from '../route.ts';

/** Longest key of a browser, in characters: base64url of 65 bytes. */
const MAX_KEY = 100;

const key = z
  .string()
  .regex(/^[\w-]+=*$/, 'is not base64url')
  .max(MAX_KEY);

const route = routeOf('gateway');

export const pushRoutes: readonly Route[] = [
  route('GET', '/v1/me/push', 'chat', {
    summary: 'The browsers that are notified, and the key that a new one subscribes with',
    description: 'Of the token that asks. The key is that of RFC 8292, the same for all.',
    answer: z.object({
      publicKey: z.string(),
      browsers: z.array(z.object({ id: z.string(), client: z.string(), createdAt: z.string() })),
    }),
    async handle(c, { gateway: { push } }) {
      const [publicKey, browsers] = await Promise.all([push.publicKey(), push.browsers(c.get('caller'))]);
      return c.json({ publicKey, browsers });
    },
  }),
  route('POST', '/v1/me/push', 'chat', {
    summary: 'Notify a browser',
    description:
      'When a question waits for a decision of the token, or an answer in one of its sessions took 30 seconds or ' +
      `more. The body is \`PushSubscription.toJSON()\`; a repeat replaces the keys. At most ${MAX_PUSH_SUBSCRIPTIONS} ` +
      'browsers for each token; one whose push service answers 404 or 410 is removed.',
    body: z.object({
      endpoint: z.string().min(1).max(MAX_PUSH_ENDPOINT),
      keys: z.object({ p256dh: key, auth: key }),
    }),
    answer: z.object({ id: z.string() }),
    status: 201,
    async handle(c, { gateway: { push } }, read) {
      const { headers } = c.env.incoming;
      const from = { client: headers['user-agent'] ?? '', origin: headers.origin };
      return c.json({ id: await push.subscribe(c.get('caller'), await read(), from) }, 201);
    },
  }),
  route('DELETE', '/v1/me/push/:id', 'chat', {
    summary: 'Notify a browser no longer',
    description: 'Only one of the token that asks.',
    async handle(c, { gateway: { push } }) {
      const id = c.req.param('id') ?? '';
      if (!(await push.unsubscribe(c.get('caller'), id)))
        throw new HttpError(404, 'subscription_not_found', 'No browser of yours has this id.');
      return c.json({ id, deleted: true });
    },
  }),
];
