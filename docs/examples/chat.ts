/** Asks one question and prints the answer while it grows: `node docs/examples/chat.ts "What is new?"` */
import { randomUUID } from 'node:crypto';
import { Client } from './client.ts';

const { GATEWAY = 'http://127.0.0.1:8080', TOKEN } = process.env;
const key = 'http:example';

async function ask(content: string): Promise<void> {
  if (TOKEN === undefined) throw new Error('Set TOKEN to a token of the gateway: npx parley token create NAME');
  const client = new Client(GATEWAY, TOKEN);
  // With a key of its own, the message may be sent again after a broken connection: it is one message.
  const sent = await client.call(
    'POST /v1/sessions/{key}/messages',
    { path: { key }, body: { content } },
    { 'idempotency-key': randomUUID() },
  );
  if ('handled' in sent) return console.log(sent.reply);
  // From the message on: the answer may have begun already.
  for await (const { event } of client.events(key, String(sent.lastEventId))) {
    if (event.turnId !== sent.turnId) continue;
    if (event.type === 'stream_chunk') process.stdout.write(event.delta);
    if (event.type === 'turn_ended') break;
  }
  console.log();
}

try {
  await ask(process.argv[2] ?? 'Hello!');
} catch (error) {
  // The sentence says what to do; where it was thrown helps nobody.
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
