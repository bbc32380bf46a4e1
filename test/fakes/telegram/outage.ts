/** An unreachable Telegram: what callers encounter instead of an answer. */
import type { ServerResponse } from 'node:http';

/** `cut` loses the request, `page` is a proxy's answer, `silence` lasts. */
export type Outage = 'cut' | 'page' | 'silence';

/** True for a failure of this kind. */
export function isOutage(kind: string): kind is Outage {
  return kind === 'cut' || kind === 'page' || kind === 'silence';
}

/** Treats a call as the outage does; `status` is that of the page. */
export function giveNoAnswer(kind: Outage, status: number | undefined, response: ServerResponse): void {
  if (kind === 'cut') response.socket?.destroy();
  if (kind === 'page')
    response.writeHead(status ?? 502, { 'content-type': 'text/html' }).end('<h1>Bad Gateway</h1>');
}
