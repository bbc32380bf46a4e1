/** Sends one scripted reply down a response, with its pace, its faults and its pauses. */
import { setImmediate as turn } from 'node:timers/promises';
import type { ServerResponse } from 'node:http';
import { contentLines, doneLine } from './reply.ts';
import type { RecordedCall } from './hand.ts';
import type { Line, Reply } from './reply.ts';

/** What a reply is played on. */
export interface Stage {
  model: string;
  promptTokens: number;
  response: ServerResponse;
  call: RecordedCall;
  /** Waits that many milliseconds; the schedule a test may replace. */
  wait(ms: number): Promise<void>;
}

interface Plan {
  lines: Line[];
  /** Index of the line before which nothing comes until the release. */
  pauseBefore?: number;
  end: 'finish' | 'cut' | 'linger';
}

/** Answers with an error status, as the server does before its first line. */
export function sendError(response: ServerResponse, status: number, error: string): void {
  response.writeHead(status, { 'content-type': 'application/json; charset=utf-8' });
  response.end(JSON.stringify({ error }));
}

export async function play(reply: Reply, stage: Stage): Promise<void> {
  const { response } = stage;
  if (reply.hold === true) await stage.call.released;
  if (response.destroyed) return;
  const fault = reply.fault;
  if (fault?.kind === 'reset') return stage.call.cut();
  if (fault?.kind === 'status') return refuse(response, fault.status, fault.error, fault.html === true);
  response.writeHead(200, { 'content-type': 'application/x-ndjson' });
  response.flushHeaders();
  const plan = planOf(reply, stage);
  if (reply.packets === undefined) await sendLines(plan, reply, stage);
  else await sendPackets(plan, reply.packets, response);
  if (plan.end === 'linger') await stage.call.released;
  if (response.destroyed) return;
  if (plan.end !== 'cut') response.end();
  else response.write('', () => stage.call.cut());
}

function planOf(reply: Reply, stage: Stage): Plan {
  const lines: Line[] = contentLines(stage.model, reply);
  const startedAt = performance.now();
  const done = (): string => doneLine(stage.model, reply, stage.promptTokens, performance.now() - startedAt);
  const fault = reply.fault;
  if (fault === undefined || fault.kind === 'status' || fault.kind === 'reset') {
    return { lines: [...lines, done], end: 'finish' };
  }
  if (fault.kind === 'linger') return { lines: [...lines, done], end: 'linger' };
  const before = lines.slice(0, fault.after);
  const rest = [...lines.slice(fault.after), done];
  switch (fault.kind) {
    case 'error_line':
      return { lines: [...before, `${JSON.stringify({ error: fault.error })}\n`], end: 'finish' };
    case 'cut':
      return { lines: before, end: 'cut' };
    case 'no_done':
      return { lines: before, end: 'finish' };
    case 'bytes':
      return { lines: [...before, fault.bytes, ...rest], end: 'finish' };
    case 'hang':
      return { lines: [...before, ...rest], pauseBefore: before.length, end: 'finish' };
    default:
      return fault satisfies never;
  }
}

async function sendLines(plan: Plan, reply: Reply, stage: Stage): Promise<void> {
  const { response } = stage;
  const interval = reply.perSecond === undefined ? 0 : 1000 / reply.perSecond;
  const startedAt = performance.now();
  for (const [index, line] of plan.lines.entries()) {
    if (index === plan.pauseBefore) await stage.call.released;
    if (interval > 0) {
      const due = startedAt + (index + 1) * interval - performance.now();
      if (due > 0) await stage.wait(due);
    }
    if (response.destroyed) return;
    response.write(bytesOf(line));
  }
}

async function sendPackets(
  plan: Plan,
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
