/** A gateway on one database with its own home, and the requests the bench sends to it. */
import { chmodSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { TablePlace } from '../crash/rows.ts';
import { BENCH_TOKEN, type GatewayProcess, type Helper, startGateway } from './children.ts';
import { postRequest, type Took, Wire } from './wire.ts';

/** Limits above their defaults, because a thousand streams run at once. */
export const RAISED = {
  providers: { ollama: { concurrency: 1_024 } },
  turns: { concurrency: 1_024 },
  access: { telegram: { dm: 'open' } },
};

/** What a first token of the bench's model looks like: in the gateway's chunks, and in the model's own lines. */
const MARK = '"content":"word';

export interface RunningGateway {
  /** `embedded` or `postgres`. */
  on: string;
  /** Where its tables are. */
  place: TablePlace;
  model: Helper;
  gateway: GatewayProcess;
  /** Restarts the gateway with more in its environment and its `config.json`, as this many workers. */
  restart(
    env?: Record<string, string>,
    settings?: Record<string, unknown>,
    workers?: number,
  ): Promise<GatewayProcess>;
  close(): Promise<void>;
}

/** Opens a gateway; without `databaseUrl` on the embedded database. */
export async function openGateway(model: Helper, databaseUrl?: string): Promise<RunningGateway> {
  const home = await mkdtemp(path.join(tmpdir(), 'parley-bench-'));
  const file = path.join(home, 'config.json');
  const configure = (settings: Record<string, unknown> = {}): void => {
    writeFileSync(file, JSON.stringify({ ...RAISED, ...settings }));
    chmodSync(file, 0o600);
  };
  configure();
  const fixed = { OLLAMA_HOST: model.url, ...(databaseUrl !== undefined && { DATABASE_URL: databaseUrl }) };
  const start = (env: Record<string, string> = {}, workers = 1): Promise<GatewayProcess> =>
    startGateway(home, { ...fixed, ...env }, workers);
  const gateway: RunningGateway = {
    on: databaseUrl === undefined ? 'embedded' : 'postgres',
    place:
      databaseUrl === undefined
        ? { socketPath: path.join(home, 'pg', '.s.PGSQL.5432') }
        : { url: databaseUrl },
    model,
    gateway: await start(),
    async restart(env, settings, workers) {
      await gateway.gateway.stop();
      configure(settings);
      gateway.gateway = await start(env, workers);
      return gateway.gateway;
    },
    async close() {
      await gateway.gateway.stop();
      await rm(home, { recursive: true, force: true });
    },
  };
  return gateway;
}

/** A client that asks repeatedly over one connection. */
export interface Asker {
  ask(): Promise<Took>;
  close(): void;
}

/** Asks the gateway in one session, the way an OpenAI client would. */
export async function sessionAsker(
  { gateway }: RunningGateway,
  session: string,
  text: string,
): Promise<Asker> {
  const body = { model: 'default', stream: true, messages: [{ role: 'user', content: text }] };
  const headers = { authorization: `Bearer ${BENCH_TOKEN}`, 'x-session-id': session };
  const request = postRequest(`${gateway.url}/v1/chat/completions`, body, headers);
  return await asker(gateway.url, request);
}

/** Asks the model itself, or the proxy in front of it. */
export async function modelAsker(url: string, text: string): Promise<Asker> {
  const body = { model: 'fake:latest', stream: true, messages: [{ role: 'user', content: text }] };
  return await asker(url, postRequest(`${url}/api/chat`, body));
}

async function asker(url: string, request: Buffer): Promise<Asker> {
  const wire = await Wire.open(url);
  return { ask: () => wire.ask(request, MARK), close: () => wire.close() };
}

/** POSTs to a session's route, as its owner. */
export async function postToSession(
  { gateway }: RunningGateway,
  session: string,
  route: string,
  body?: unknown,
): Promise<void> {
  const response = await fetch(`${gateway.url}/v1/sessions/http:${session}/${route}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${BENCH_TOKEN}`, 'content-type': 'application/json' },
    body: JSON.stringify(body ?? {}),
  });
  if (!response.ok) throw new Error(`${route}: ${response.status} ${await response.text()}`);
  await response.arrayBuffer();
}
