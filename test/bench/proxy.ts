/** What the gateway is measured against: a plain Hono reverse proxy for the same model server, in a separate process. */
import { serve } from '@hono/node-server';
import { Hono } from 'hono';
import { proxy } from 'hono/proxy';

const [model = ''] = process.argv.slice(2);
const app = new Hono();
app.all('*', (c) => proxy(new URL(c.req.path, model), c.req));
const server = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }, ({ port }) =>
  process.send?.({ url: `http://127.0.0.1:${port}` }),
);
process.once('disconnect', () => server.close());
