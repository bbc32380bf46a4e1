/** A gateway over a model server that the test scripts, for clients of other makers. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { loadConfig } from '../../src/config.ts';
import { startGateway } from '../../src/gateway.ts';
import { createLog } from '../../src/ops/log.ts';
import { FAKE_MODELS } from '../fakes/ollama/models.ts';
import { startFakeOllama } from '../fakes/ollama/ollama.ts';

/** The token of every call. */
export const TOKEN = 'a-token-for-clients-0123456789-abcdef';

/** A PNG of one pixel, as base64. */
export const PICTURE =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==';

/** The models of the fake server; all of them see. */
const MODELS = FAKE_MODELS.map((model) => ({ ...model, capabilities: [...model.capabilities, 'vision'] }));

/** Starts both; `baseURL` is what a client is given. */
export async function startForClients() {
  const model = await startFakeOllama({ models: MODELS });
  const home = await mkdtemp(path.join(tmpdir(), 'parley-clients-'));
  const config = loadConfig({ GATEWAY_HOME: home, GATEWAY_TOKEN: TOKEN, PORT: '0', OLLAMA_HOST: model.url });
  const log = createLog({ level: 'silent', redact: (line) => line, write: () => undefined });
  const gateway = await startGateway(config, { log });
  return {
    model,
    baseURL: `${gateway.url}/v1`,
    async close() {
      await gateway.stop();
      await model.close();
      await rm(home, { recursive: true, force: true });
    },
  };
}
