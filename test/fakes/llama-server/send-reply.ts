/** Sends one scripted reply of a fake llama-server, with its injected failures and pauses. */
import { setImmediate as turn } from 'node:timers/promises';
import type { ServerResponse } from 'node:http';
import { eventsOf, type LlamaReply, wholeOf } from './reply.ts';
import type { LlamaBody, LlamaError } from './request.ts';
import type { RecordedCall } from '../ollama/call-script.ts';

interface WirePlan {
  pieces: (string | Uint8Array)[];
  /** Index of the piece before which nothing is sent until the release. */
  pauseBefore?: number;
  end: 'finish' | 'cut' | 'linger';
}

/** Answers with an error, as the server does before its first event. */
export function sendLlamaError(response: ServerResponse, error: LlamaError): void {
  sendJson(response, error.code, { error });
}

export function sendJson(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json; charset=utf-8' });
  response.end(JSON.stringify(body));
}

export async function sendLlamaReply(
  reply: LlamaReply,
  response: ServerResponse,
  call: RecordedCall<LlamaBody>,
): Promise<void> {
  if (reply.hold === true) await call.released();
  if (response.destroyed) return;
  if (reply.failure?.kind === 'refuse') {
    response.writeHead(reply.failure.status, { 'content-type': 'application/json' });
    return void response.end(reply.failure.body);
  }
  if (!call.body.stream) return sendJson(response, 200, wholeOf(reply, call.body, call.prefilled));
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.flushHeaders();
  const plan = planOf(reply, call.body, call.prefilled);
  const packets = reply.packets?.(Buffer.concat(plan.pieces.map((piece) => Buffer.from(piece))));
  for (const [index, piece] of (packets ?? plan.pieces).entries()) {
    if (index === plan.pauseBefore) await call.released();
    if (response.destroyed) return;
    response.write(piece);
    if (packets !== undefined) await turn();
  }
  if (plan.end === 'linger') await call.released();
  if (response.destroyed) return;
  if (plan.end !== 'cut') response.end();
  else response.write('', () => call.cut());
}

function planOf(reply: LlamaReply, body: LlamaBody, prefilled: number | undefined): WirePlan {
  const { opening, tokens, finish, usage, done } = eventsOf(reply, body, prefilled);
  const { failure } = reply;
  const whole = [opening, ...tokens, finish, usage, done].filter((piece) => piece !== '');
  if (failure === undefined || failure.kind === 'refuse') return { pieces: whole, end: 'finish' };
  if (failure.kind === 'linger') return { pieces: whole, end: 'linger' };
  if (failure.kind === 'without') {
    const left = failure.part === 'finish' ? finish : done;
    return { pieces: whole.filter((piece) => piece !== left), end: 'finish' };
  }
  const before = whole.slice(0, 1 + failure.after);
  const rest = whole.slice(1 + failure.after);
  switch (failure.kind) {
    case 'error': {
      const error = JSON.stringify(failure.field === 'error' ? failure.error : { error: failure.error });
      return { pieces: [...before, `${failure.field ?? 'data'}: ${error}\n\n`], end: 'finish' };
    }
    case 'cut':
      return { pieces: before, end: 'cut' };
    case 'no_end':
      return { pieces: before, end: 'finish' };
    case 'bytes':
      return { pieces: [...before, failure.bytes, ...rest], end: 'finish' };
    case 'hang':
      return { pieces: [...before, ...rest], pauseBefore: before.length, end: 'finish' };
    default:
      return failure satisfies never;
  }
}
