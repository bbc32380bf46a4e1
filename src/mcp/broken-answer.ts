/**
 * Answers that break the protocol, such as a result that is no object. The official client drops them silently, and the
 * call would wait for its time limit: it gets an error at once instead.
 */
import type { FetchLike, JSONRPCErrorResponse } from '@modelcontextprotocol/client';
import { isJsonObject, parseJson } from '../lib/json/json.ts';

/** The code of the error, of those that JSON-RPC 2.0 leaves to implementations (section 5.1). */
export const BROKEN_ANSWER = -32_098;

/** The error for a text that the client would not accept; undefined when it answers no request. Never throws. */
export function errorOfBroken(text: string): JSONRPCErrorResponse | undefined {
  const message = parseJson(text);
  if (!isJsonObject(message) || 'method' in message) return undefined;
  const { id } = message;
  if (typeof id !== 'number' && typeof id !== 'string') return undefined;
  return {
    jsonrpc: '2.0',
    id,
    error: { code: BROKEN_ANSWER, message: 'the answer does not follow the protocol' },
  };
}

/** The same `fetch`, but results in event streams that are no objects become errors. */
export function repairResults(request: FetchLike): FetchLike {
  return async (url, init) => {
    const response = await request(url, init);
    const { body, status, headers } = response;
    if (body === null || headers.get('content-type')?.startsWith('text/event-stream') !== true)
      return response;
    const lines = body
      .pipeThrough(new TextDecoderStream())
      .pipeThrough(eachLine(repairLine))
      .pipeThrough(new TextEncoderStream());
    return new Response(lines, { status, headers });
  };
}

/** Finds without reading it all that a result may be something else than an object. */
const ODD_RESULT = /"result"\s{0,8}:\s{0,8}[^\s{]/;

function repairLine(line: string): string {
  if (!line.startsWith('data:') || !ODD_RESULT.test(line)) return line;
  const text = line.slice('data:'.length);
  const message = parseJson(text);
  // The words may stand in a text of a result that is an object.
  if (!isJsonObject(message) || isJsonObject(message['result'])) return line;
  const error = errorOfBroken(text);
  return error === undefined ? line : `data: ${JSON.stringify(error)}`;
}

function eachLine(change: (line: string) => string): TransformStream<string, string> {
  let open: string[] = [];
  return new TransformStream({
    transform(chunk, controller) {
      const end = chunk.lastIndexOf('\n');
      if (end === -1) {
        open.push(chunk);
        return;
      }
      const whole = open.join('') + chunk.slice(0, end);
      open = [chunk.slice(end + 1)];
      controller.enqueue(`${whole.split('\n').map(change).join('\n')}\n`);
    },
    flush(controller) {
      const rest = open.join('');
      if (rest !== '') controller.enqueue(change(rest));
    },
  });
}
