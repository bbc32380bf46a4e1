/** Errors that people read when a server for speech does not do what it is asked. */
import { inspect } from 'node:util';
import { expect } from 'vitest';
import { GatewayError } from '../../../src/protocol/errors.ts';
import type { FailingServer } from './failing-server.ts';

/** The error of a request that fails: a sentence that reveals neither the key nor the server's address. */
export async function serviceErrorOf(asked: Promise<unknown>, key: string): Promise<GatewayError> {
  const error: unknown = await asked.catch((thrown: unknown) => thrown);
  if (!(error instanceof GatewayError)) throw new Error(`no GatewayError but ${inspect(error)}`);
  expect(error.message).toMatch(/^[A-Z].*\.$/);
  expect(error.message).not.toContain(key);
  expect(error.message).not.toContain('127.0.0.1');
  return error;
}

/** What becomes of two requests to a silent server: one that may take `totalMs`, and one that is stopped at once. */
export async function askInSilence(
  server: FailingServer,
  requests: {
    ask: (limit: { signal: AbortSignal }) => Promise<unknown>;
    failure: (limit: { totalMs: number }) => Promise<GatewayError>;
  },
): Promise<{ late: GatewayError; stopped: unknown }> {
  server.fails('silence');
  const late = await requests.failure({ totalMs: 100 });
  server.fails('silence');
  const stop = new AbortController();
  const asked = requests.ask({ signal: stop.signal });
  stop.abort(new Error('stopped'));
  return { late, stopped: await asked.catch((thrown: unknown) => thrown) };
}
