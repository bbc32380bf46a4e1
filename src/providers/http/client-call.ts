/**
 * Calls that a vendor's own client makes (list the models, describe one), over our connections instead of the client's
 * own.
 */
import { ProviderError } from '../../protocol/errors.ts';
import { textRef } from '../../protocol/texts/say.ts';
import type { CallRules, Connections } from './connections.ts';
import { readWhole } from '../answers/read-answer.ts';

/**
 * Passes `call` the `fetch` for its client, whose headers are left out: the connections have their own. When a request
 * fails, its `ProviderError` is thrown and not the one that the client wraps around it. Other errors of `call` (an
 * answer of another shape) are thrown unchanged.
 */
export async function callClient<T>(
  connections: Connections,
  rules: CallRules,
  call: (clientFetch: typeof fetch) => Promise<T>,
): Promise<T> {
  let failure: ProviderError | undefined;
  const send = async (input: string | URL | Request, init: RequestInit = {}): Promise<Response> => {
    const { pathname } = new URL(input instanceof Request ? input.url : input);
    const answer = await connections.send(
      {
        method: init.method?.toUpperCase() === 'POST' ? 'POST' : 'GET',
        path: pathname.slice(connections.folder.length),
        ...(typeof init.body === 'string' && { body: init.body }),
      },
      rules,
    );
    return new Response(await readWhole(answer), { headers: { 'content-type': 'application/json' } });
  };
  try {
    return await call((input, init) =>
      send(input, init).catch((error: unknown) => {
        if (error instanceof ProviderError) failure = error;
        throw error;
      }),
    );
  } catch (error) {
    if (failure !== undefined) throw failure;
    // The parser's error is left out: it repeats the text, which may hold a key.
    if (error instanceof SyntaxError) throw notJson();
    throw error;
  }
}

/** The error for an answer that is not JSON. */
export function notJson(): ProviderError {
  return new ProviderError('bad_response', textRef('provider.not_json'));
}
