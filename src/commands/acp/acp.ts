/** `parley acp`: the bridge between an editor, on the standard streams, and a running gateway. */
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { Readable, Writable } from 'node:stream';
import packageFile from '../../../package.json' with { type: 'json' };
import { loadConfig } from '../../config.ts';
import { systemClock } from '../../lib/clock.ts';
import { urlOfListener } from '../../lib/connection-url.ts';
import { GatewayError, optionalModule } from '../../protocol/errors.ts';
import { PARLEY } from '../../protocol/texts/parley.ts';
import { createServiceFetch } from '../../security/index.ts';
import { readArguments } from '../arguments.ts';
import { type GatewayAddress, GatewayClient } from './gateway-client.ts';

const USAGE = `Write "${PARLEY} acp", with --url URL for a gateway elsewhere. The variable PARLEY_TOKEN holds its token.`;

/** Serves an editor until it closes its end. Throws `GatewayError` where there is no token or no address. */
export async function acpCommand(args: readonly string[], environment: NodeJS.ProcessEnv): Promise<void> {
  const { values } = readArguments(args, USAGE, { options: { url: { type: 'string' } } });
  const address = addressOf(values.url, environment);
  const { ndJsonStream } = await optionalModule(import('@agentclientprotocol/sdk'), `"${PARLEY} acp"`);
  const { createAgent } = await import('./agent.ts');
  const service = createServiceFetch();
  const report = (line: string): void => void process.stderr.write(`${line}\n`);
  const gateway = new GatewayClient(address, service.request, systemClock);
  const stream = ndJsonStream(
    Writable.toWeb(process.stdout),
    Readable.toWeb(process.stdin) as ReadableStream,
  );
  const connection = createAgent(gateway, packageFile.version, report).connect(stream);
  await connection.closed;
  await service.close();
}

/** The gateway of this home unless another is named; its token from the environment, else from the home. */
function addressOf(url: string | undefined, environment: NodeJS.ProcessEnv): GatewayAddress {
  const own = environment['PARLEY_TOKEN'];
  if (url !== undefined && own !== undefined) return { url, token: own };
  const { home, env } = loadConfig(environment);
  const file = path.join(home, 'token');
  const token =
    own ?? env.GATEWAY_TOKEN ?? (existsSync(file) ? readFileSync(file, 'utf8').trim() : undefined);
  if (token === undefined) {
    const text = `Make a token with "${PARLEY} token create editor --scope chat,approve", and give it to this program as PARLEY_TOKEN.`;
    throw new GatewayError('no_token', text);
  }
  const variables = new Map<string, unknown>(Object.entries(env));
  return { url: url ?? urlOfListener(String(variables.get('HOST')), Number(variables.get('PORT'))), token };
}
