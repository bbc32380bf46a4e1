/** `parley open --lan`: the page on a phone or another computer of the same network. */
import type { Config } from '../config.ts';
import { isLoopback, isWildcard, networkAddresses, urlOfListener } from '../lib/connection-url.ts';
import { GatewayError } from '../protocol/errors.ts';
import { PARLEY } from '../protocol/texts/parley.ts';
import { changeWhole, withVariables } from '../settings/index.ts';
import { isInContainer } from '../worker.ts';
import { homeEnvFile } from './environment.ts';

const PLAIN = `This is plain HTTP: whoever can listen on this network can read along. Use it in your own home only; for anything else,
"HTTPS for other devices" in docs/getting-started.md has a way with Caddy and one with Tailscale.`;

/**
 * The text: a link and its QR code for the first address of this machine, its other addresses, and a warning. A gateway that
 * listens on this machine alone is told to listen on all interfaces instead, from its next start on. `signIn` makes the link.
 * Throws `GatewayError('no_network')` where there is no address that another device can reach.
 */
export async function openOnNetwork(
  { env, environment }: Config,
  localUrl: string,
  signIn: (url: string) => Promise<string>,
  inContainer = isInContainer(),
): Promise<string> {
  const host = String(new Map<string, unknown>(Object.entries(env)).get('HOST'));
  const port = Number(new URL(localUrl).port || 80);
  if (inContainer) {
    const text = `This gateway runs in a container, which does not know the addresses of its machine. Add the one that other devices use, such as "192.168.1.20:${port}", to channels.http.allowedHosts in config.json, and open http://192.168.1.20:${port} there.`;
    throw new GatewayError('no_network', text);
  }
  if (isLoopback(host)) return listenEverywhere(environment);
  const [first, ...others] = isWildcard(host) ? networkAddresses() : [host];
  if (first === undefined)
    throw new GatewayError(
      'no_network',
      'This machine has no address on a network. Connect it to one first.',
    );
  const text = await signIn(urlOfListener(first, port));
  const [link = ''] = text.split('\n', 1);
  const { renderUnicodeCompact } = await import('uqr');
  const rest = others.map((address) => urlOfListener(address, port));
  const also = rest.length === 0 ? [] : [`Other addresses of this machine: ${rest.join(' ')}`];
  return [renderUnicodeCompact(link), '', text, ...also, '', PLAIN].join('\n');
}

/** Writes `HOST` to the `.env` of the home. Throws `GatewayError('usage')` where another place sets it, which would win. */
function listenEverywhere(environment: Config['environment']): string {
  const file = homeEnvFile(environment);
  const isInFile = changeWhole(file, (before) => {
    const isElsewhere =
      environment['HOST'] !== undefined && !/^[ \t]*(?:export[ \t]+)?HOST[ \t]*=/m.test(before ?? '');
    return { after: isElsewhere ? before : withVariables(before, { HOST: '0.0.0.0' }), result: !isElsewhere };
  });
  if (!isInFile)
    throw new GatewayError(
      'usage',
      `HOST is ${environment['HOST']}, so this gateway can be reached from this machine only. Set HOST=0.0.0.0 where it is set now, and start the gateway again.`,
    );
  return [
    'Until now, only this machine could reach the gateway.',
    `HOST=0.0.0.0 is now in ${file}: stop the gateway and start it again, then run "${PARLEY} open --lan" once more.`,
    `To undo it, remove the line and start it again.`,
    '',
    PLAIN,
  ].join('\n');
}
