/** What the gateway does not have, so it cannot be attacked: anyone adding a part learns here that it needs tests. */
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { openApi } from '../channels/http/client.ts';
import { rawRequest } from '../channels/http/raw-http.ts';

const ROOT = path.resolve(import.meta.dirname, '../..');
const read = (file: string): string => readFileSync(path.join(ROOT, file), 'utf8');

it('answers a request for a WebSocket on other routes without changing the protocol', async () => {
  const api = await openApi();
  const asked = ['/healthz', '/', '/v1/sessions/http:a/events'].map(async (at) => {
    const lines = [
      `GET ${at} HTTP/1.1`,
      `Host: ${new URL(api.url).host}`,
      'Connection: Upgrade',
      'Upgrade: websocket',
      'Sec-WebSocket-Version: 13',
      'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
    ];
    return (await rawRequest(api.url, lines)).status;
  });
  expect(await Promise.all(asked)).toEqual([200, 200, 401]);
  await api.close();
});

it('accepts from platforms by HTTP only what carries a webhook secret or a signature', () => {
  const files = globSync('channels/http/{routes,model-apis}/*.ts', { cwd: ROOT });
  const routes = /route\(\s*'[A-Z]+',\s*'([^']+)'/g;
  const paths = files.flatMap((file) => [...read(file).matchAll(routes)].map(([, at = '']) => at));
  expect(paths.length).toBeGreaterThan(20);
  // Webhooks of config.json, with signed requests (test/intake/hooks), are not updates of a platform.
  const suspects = paths.filter((at) => /hook|telegram|discord|interaction|update/i.test(at));
  // Updates carry the secret of a webhook (test/flows/channels/telegram-webhook.test.ts), interactions are signed (…/discord/endpoint.test.ts).
  // A plug-in tries the signatures of its platform itself (test/flows/plugins/stranger.test.ts, …/whatsapp.test.ts).
  expect(suspects.toSorted()).toEqual([
    '/v1/channels/:channel/webhook',
    '/v1/channels/:channel/webhook',
    '/v1/hooks/:name',
    '/v1/interactions/:channel',
    '/v1/updates/:channel',
  ]);
});

it('puts no text into SQL but by parameters', () => {
  const places = globSync('src/**/*.ts', { cwd: ROOT }).flatMap((file) =>
    [...read(file).matchAll(/\bsql\.(?:raw|identifier)\(|\.unsafe(?:<[^(]*>)?\(/g)].map(() => file),
  );
  // Backups name tables and columns as the database catalog does, the fan-out its channel after the schema from the configuration.
  expect(places.toSorted()).toEqual([
    'src/store/database/dump.ts',
    'src/store/database/dump.ts',
    ...Array<string>(5).fill('src/store/database/load.ts'),
    'src/store/database/notify-fanout.ts',
  ]);
});
