/** The row "stall": the worst wait of /healthz while requests arrive that are designed to keep the process busy. */
import { Agent, get } from 'node:http';
import { BENCH_TOKEN, type GatewayProcess } from './children.ts';
import type { Figure } from './figures.ts';
import type { RunningGateway } from './gateway-setup.ts';

const MAX_STALL_MS = 50;
/** Runs per request; the best counts, because a busy machine can slow down any of them. */
const RUNS = 3;
const MEBIBYTE = 1024 * 1024;
const COMMAND_CHARS = 4_096;

interface HostileRequest {
  what: string;
  method: string;
  path: string;
  body?: string;
}

/** The requests: bodies of 1 MiB, JSON at maximum depth, long ids, and commands with texts that slow down patterns. */
function hostileRequests(): HostileRequest[] {
  const filled = (before: string, unit: string, after: string, length = MEBIBYTE): string =>
    before + unit.repeat(Math.floor((length - before.length - after.length) / unit.length)) + after;
  const post = (what: string, body: string, path = '/v1/sessions/http:stall/messages'): HostileRequest => ({
    what,
    method: 'POST',
    path,
    body,
  });
  const units = ['a.', 'a:', '://a:', ')', ' ', '\\n', '<', '@'];
  const commands = ['approve', 'deny', 'forget', 'remember', 'schedule add', 'mode', 'model', 'nothing'];
  return [
    post('a text of 1 MiB', filled('{"content":"', 'word ', '"}')),
    ...units.map((unit) =>
      post(`/approve and 1 MiB of ${unit}`, filled('{"content":"/approve ', unit, '"}')),
    ),
    ...units.map((unit) => post(`100,000 characters of ${unit}`, filled('{"content":"', unit, '"}', 99_000))),
    post('1 MiB of brackets', filled('', '[', '')),
    post('1 MiB of objects', filled('{"a":', '{"a":', '')),
    post('1 MiB of numbers', filled('{"content":[1', ',1', ']}')),
    post('1 MiB of fields', filled('{"content":"x"', ',"a":1', '}')),
    post('1 MiB of escapes', filled('{"content":"', String.raw`\ud800`, '"}')),
    post(
      'a completion of 1 MiB in one message',
      filled('{"messages":[{"role":"user","content":"', 'a.', '"}]}'),
      '/v1/chat/completions',
    ),
    post(
      'a completion of many messages',
      filled('{"messages":[{"role":"user","content":"x"}', ',{"role":"user","content":"x"}', ']}'),
      '/v1/chat/completions',
    ),
    ...['sessions', 'approvals', 'plans', 'schedules'].map((kind) => ({
      what: `an id of 15,000 characters at /v1/${kind}`,
      method: kind === 'approvals' ? 'POST' : 'DELETE',
      path: `/v1/${kind}/${'a.'.repeat(7_500)}`,
      body: '{"decision":"approved"}',
    })),
    ...commands.flatMap((command) =>
      units.map((unit) =>
        post(
          `/${command} and ${COMMAND_CHARS} characters of ${unit}`,
          filled(`{"content":"/${command} `, unit, '"}', COMMAND_CHARS),
        ),
      ),
    ),
  ];
}

/** Measures each request's worst stall externally; returns the worst of them. */
export async function longestStall({ gateway, on }: RunningGateway): Promise<Figure> {
  const isCpuTime = gateway.mainThreadMs() !== undefined;
  const requests = hostileRequests();
  let worst = { ms: 0, what: 'nothing' };
  for (const request of requests) {
    let best = Infinity;
    for (let run = 0; run < RUNS && best > worst.ms; run += 1) {
      best = Math.min(best, await stallDuring(gateway, request));
    }
    if (best > worst.ms) worst = { ms: best, what: request.what };
  }
  return {
    what: 'longest stall by one request',
    on,
    value: worst.ms,
    unit: 'ms',
    bar: { atMost: MAX_STALL_MS },
    note: `${isCpuTime ? 'processor time of ' : ''}/healthz while ${requests.length} hostile requests arrive; worst: ${worst.what}`,
  };
}

/**
 * The longest answer time of /healthz from before the request until after its answer: at most the time that the main
 * thread worked in that time, so that a busy machine is not mistaken for a busy gateway.
 */
async function stallDuring(gateway: GatewayProcess, { method, path, body }: HostileRequest): Promise<number> {
  const { url } = gateway;
  const agent = new Agent({ keepAlive: true });
  const done = new AbortController();
  let longest = 0;
  const poll = async (): Promise<void> => {
    while (!done.signal.aborted) {
      const [began, worked] = [performance.now(), gateway.mainThreadMs()];
      await healthz(url, agent);
      const waited = performance.now() - began;
      const busy = (gateway.mainThreadMs() ?? Infinity) - (worked ?? 0);
      longest = Math.max(longest, Math.min(waited, busy));
    }
  };
  // The connection of the poll exists before the request.
  await healthz(url, agent);
  const polling = poll();
  const response = await fetch(url + path, {
    method,
    body: body ?? null,
    headers: { authorization: `Bearer ${BENCH_TOKEN}`, 'content-type': 'application/json' },
  });
  await response.arrayBuffer();
  done.abort();
  await polling;
  agent.destroy();
  return longest;
}

function healthz(url: string, agent: Agent): Promise<void> {
  return new Promise((resolve, reject) => {
    get(`${url}/healthz`, { agent }, (response) => {
      response.resume().once('end', resolve);
    }).once('error', reject);
  });
}
