/** Reads the calls of the Bot API and writes their answers. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { badRequest, type Params } from './refusal.ts';
import { readForm } from './uploads.ts';

/** The parameters of a call, in whichever form they were sent. Throws the server's refusal. */
export async function readParams(request: IncomingMessage): Promise<Params> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const whole = Buffer.concat(chunks);
  const type = request.headers['content-type'] ?? '';
  if (type.startsWith('multipart/')) return readForm(type, whole);
  const body = whole.toString('utf8');
  if (body === '') return Object.fromEntries(new URL(request.url ?? '', 'http://fake').searchParams);
  try {
    return JSON.parse(body) as Params;
  } catch {
    throw badRequest("can't parse JSON object");
  }
}

/** Answers a call, unless the caller has left. */
export function answer(response: ServerResponse, status: number, body: unknown): void {
  if (response.destroyed) return;
  const text = JSON.stringify(body);
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
  });
  response.end(text);
}
