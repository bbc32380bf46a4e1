/** What the flows send to a gateway over HTTP. */
import { z } from 'zod';
import { TOKEN } from './scenario.ts';

const stopAnswer = z.object({ stopped: z.boolean(), cancelled: z.number() });
const messageList = z.object({ messages: z.array(z.object({ role: z.string(), content: z.string() })) });

/** Sends a message to an HTTP session; it is accepted when this resolves. */
export async function say(url: string, session: string, content: string): Promise<void> {
  await call(`${url}/v1/sessions/http:${session}/messages`, { content });
}

/** Asks the last question of an HTTP session again; it is accepted when this resolves. */
export async function retry(url: string, session: string): Promise<void> {
  await call(`${url}/v1/sessions/http:${session}/retry`, {});
}

/** Stops a session. */
export async function stop(url: string, session: string): Promise<z.infer<typeof stopAnswer>> {
  return stopAnswer.parse(await call(`${url}/v1/sessions/http:${session}/stop`, {}));
}

/** What the bot has answered in a session, oldest first. */
export async function answers(url: string, session: string): Promise<string[]> {
  const list = messageList.parse(await call(`${url}/v1/sessions/http:${session}/messages?limit=200`));
  return list.messages.filter(({ role }) => role === 'assistant').map(({ content }) => content);
}

async function call(url: string, body?: object): Promise<unknown> {
  const response = await fetch(url, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  if (!response.ok) throw new Error(`${url}: ${response.status} ${await response.text()}`);
  return await response.json();
}
