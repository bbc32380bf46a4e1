/** Takes the posts of an outbound webhook: checks the signature and the age, and each event once. */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer } from 'node:http';

const SECRET = process.env['EVENTS_SECRET'] ?? '';
const MAX_AGE_SECONDS = 300;
/** No event is longer, in UTF-16 units. */
const MAX_BODY = 1_048_576;

// With a short secret, anybody could sign a post; with none, everybody does.
if (SECRET.length < 16) {
  console.error('Set EVENTS_SECRET to the secret that the gateway signs with: at least 16 characters.');
  process.exit(1);
}

/** In a program of your own: a table that outlives it. */
const known = new Set<unknown>();

/** True for a body that was signed with the secret in the last five minutes. */
function isGenuine(header: string, body: string): boolean {
  const [, time = '', signature = ''] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(header) ?? [];
  const expected = createHmac('sha256', SECRET).update(`${time}.${body}`).digest();
  const isRecent = Math.abs(Date.now() / 1_000 - Number(time)) <= MAX_AGE_SECONDS;
  const given = Buffer.from(signature, 'hex');
  return isRecent && given.length === expected.length && timingSafeEqual(given, expected);
}

const server = createServer(async (request, response) => {
  let body = '';
  for await (const chunk of request.setEncoding('utf8')) {
    body += chunk;
    if (body.length > MAX_BODY) return request.destroy();
  }
  if (!isGenuine(String(request.headers['x-parley-signature']), body)) {
    response.writeHead(401).end();
    return;
  }
  const event = JSON.parse(body);
  // The same event may come again, under the same id: after a crash, or when an answer was lost.
  if (!known.has(event.id)) {
    known.add(event.id);
    console.log(event.type, event.sessionKey ?? '');
  }
  response.writeHead(204).end();
});
server.listen(Number(process.env['PORT'] ?? 9090), '127.0.0.1', () => console.log('Waiting for events.'));
