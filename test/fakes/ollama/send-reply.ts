/** Sends one scripted reply of a fake Ollama at its pace, with its injected failures and pauses. */
import { setImmediate as turn } from 'node:timers/promises';
import type { ServerResponse } from 'node:http';
import { contentLines, doneLine, type Line, type Reply } from './reply.ts';
import type { RecordedCall } from './call-script.ts';

/** The response a reply is sent to, and what it depends on. */
export interface ReplyTarget {
  model: string;
  promptTokens: number;
  response: ServerResponse;
  call: RecordedCall;
  /** Waits that many milliseconds; tests may replace it. */
  wait(ms: number): Promise<void>;
}

interface WirePlan {
  lines: Line[];
  /** Index of the line before which nothing is sent until the release. */
  pauseBefore?: number;
  end: 'finish' | 'cut' | 'linger';
}

/** Answers with an error status, as the server does before its first line. */
export function sendError(response: ServerResponse, status: number, error: string): void {
  response.writeHead(status, { 'content-type': 'application/json; charset=utf-8' });
  response.end(JSON.stringify({ error }));
}

/** Sends the reply and resolves when the response has ended, or its client has left. */
export async function sendReply(reply: Reply, target: ReplyTarget): Promise<void> {
  const { response } = target;
  if (reply.hold === true) await target.call.released();
  if (response.destroyed) return;
  const failure = reply.failure;
  if (failure?.kind === 'reset') return target.call.cut();
  if (failure?.kind === 'status')
    return refuse(response, failure.status, failure.error, failure.html === true);
  response.writeHead(200, { 'content-type': 'application/x-ndjson' });
  response.flushHeaders();
  const plan = planOf(reply, target);
  if (reply.packets === undefined) await sendLines(plan, reply, target);
  else await sendPackets(plan, reply.packets, response);
  if (plan.end === 'linger') await target.call.released();
  if (response.destroyed) return;
  if (plan.end !== 'cut') response.end();
  else response.write('', () => target.call.cut());
}

function planOf(reply: Reply, target: ReplyTarget): WirePlan {
  const lines: Line[] = contentLines(target.model, reply);
  const startedAt = performance.now();
  const done = (): string =>
    doneLine(target.model, reply, target.promptTokens, performance.now() - startedAt);
  const failure = reply.failure;
  if (failure === undefined || failure.kind === 'status' || failure.kind === 'reset') {
    return { lines: [...lines, done], end: 'finish' };
  }
  if (failure.kind === 'linger') return { lines: [...lines, done], end: 'linger' };
  const before = lines.slice(0, failure.after);
  const rest = [...lines.slice(failure.after), done];
  switch (failure.kind) {
    case 'error_line':
      return { lines: [...before, `${JSON.stringify({ error: failure.error })}\n`], end: 'finish' };
    case 'cut':
      return { lines: before, end: 'cut' };
    case 'no_done':
      return { lines: before, end: 'finish' };
    case 'bytes':
      return { lines: [...before, failure.bytes, ...rest], end: 'finish' };
    case 'hang':
      return { lines: [...before, ...rest], pauseBefore: before.length, end: 'finish' };
    default:
      return failure satisfies never;
  }
}

async function sendLines(plan: WirePlan, reply: Reply, target: ReplyTarget): Promise<void> {
  const { response } = target;
  const interval = reply.perSecond === undefined ? 0 : 1000 / reply.perSecond;
  const startedAt = performance.now();
  for (const [index, line] of plan.lines.entries()) {
    if (index === plan.pauseBefore) await target.call.released();
    if (interval > 0) {
      const due = startedAt + (index + 1) * interval - performance.now();
      if (due > 0) await target.wait(due);
    }
    if (response.destroyed) return;
    response.write(bytesOf(line));
  }
}

async function sendPackets(
  plan: WirePlan,
  cut: (wire: Buffer) => Buffer[],
  response: ServerResponse,
): Promise<void> {
  for (const packet of cut(Buffer.concat(plan.lines.map((line) => Buffer.from(bytesOf(line)))))) {
    if (response.destroyed) return;
    response.write(packet);
    await turn();
  }
}

function bytesOf(line: Line): string | Uint8Array {
  return typeof line === 'function' ? line() : line;
}

function refuse(response: ServerResponse, status: number, error: string, html: boolean): void {
  if (!html) return sendError(response, status, error);
  response.writeHead(status, { 'content-type': 'text/html' });
  response.end(`<html><body>${error}</body></html>`);
}
