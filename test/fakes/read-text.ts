/** What a caller sends to a fake server. */
import type { IncomingMessage } from 'node:http';

/** The whole body, or undefined if the caller left before its end. */
export async function readText(request: IncomingMessage): Promise<string | undefined> {
  const parts: Buffer[] = [];
  try {
    for await (const part of request) parts.push(part);
  } catch {
    return undefined;
  }
  return Buffer.concat(parts).toString('utf8');
}
