/** A client that sends files to one session and fetches them. */
import { expect } from 'vitest';
import { CHAT } from '../../../fakes/gateway/gateway-api.ts';
import type { OpenApi } from '../client.ts';

/** A PNG of one pixel. */
export const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==',
  'base64',
);
/** Where the files of the session are. */
export const FILES = '/v1/sessions/http:a/files';

interface SentInit {
  token?: string;
  headers?: Record<string, string>;
}

/** Sends a raw body. */
export function send(
  api: OpenApi,
  name: string,
  body: BodyInit,
  { token = CHAT, headers = {} }: SentInit = {},
): Promise<Response> {
  const url = `${api.url}${FILES}?name=${encodeURIComponent(name)}`;
  // A stream as body needs `duplex`, which the types do not know.
  const init = { method: 'POST', body, headers: { authorization: token, ...headers }, duplex: 'half' };
  return fetch(url, init);
}

/** Sends a raw body that must be accepted; returns the name of the file. */
export async function stored(api: OpenApi, name: string, body: BodyInit): Promise<string> {
  const answer = await send(api, name, body);
  expect(answer.status).toBe(201);
  const { file }: { file: string } = await answer.json();
  return file;
}

/** Fetches a file. */
export function fetched(api: OpenApi, file: string, token = CHAT): Promise<Response> {
  return api.call(`${FILES}/${file}`, { headers: { authorization: token } });
}

/** Status and code of an error. */
export async function codeOf(answer: Response): Promise<string> {
  const { error }: { error: { code: string } } = await answer.json();
  return `${answer.status} ${error.code}`;
}
