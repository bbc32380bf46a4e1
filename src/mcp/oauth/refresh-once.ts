/** Uses each refresh token once: calls that find their access token expired at the same time share the new one. */
import type { FetchLike } from '@modelcontextprotocol/sdk/shared/transport.js';

interface Answer {
  status: number;
  headers: [string, string][];
  text: string;
}

/**
 * The same `fetch`, but requests to renew with a refresh token that is in use, or was used last, get the answer of
 * the first request: servers that rotate these tokens treat a second use as theft, and end the sign-in. Later
 * requests do not share a refusal.
 */
export function refreshOnce(request: FetchLike): FetchLike {
  let last: { token: string; answer: Promise<Answer> } | undefined;
  return async (url, init) => {
    const token = refreshTokenOf(init?.body);
    if (token === undefined) return await request(url, init);
    if (last?.token !== token) {
      const begun = { token, answer: readAnswer(request, url, init) };
      last = begun;
      const forget = (): void => {
        if (last === begun) last = undefined;
      };
      begun.answer.then(({ status }) => (status < 400 ? undefined : forget()), forget);
    }
    const { status, headers, text } = await last.answer;
    return new Response(text, { status, headers });
  };
}

async function readAnswer(request: FetchLike, ...asked: Parameters<FetchLike>): Promise<Answer> {
  const response = await request(...asked);
  return { status: response.status, headers: [...response.headers], text: await response.text() };
}

function refreshTokenOf(body: RequestInit['body']): string | undefined {
  if (!(body instanceof URLSearchParams) || body.get('grant_type') !== 'refresh_token') return undefined;
  return body.get('refresh_token') ?? undefined;
}
