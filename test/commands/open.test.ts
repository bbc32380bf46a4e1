/** The page on a phone: what `parley open --lan` and the line of a start tell, and which addresses the gateway answers to. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { networkInterfaces, tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { openOnNetwork } from '../../src/commands/open.ts';
import { loadConfig } from '../../src/config.ts';
import { isWildcard, networkAddresses, urlOfListener } from '../../src/lib/connection-url.ts';
import { openLines } from '../../src/worker.ts';
import { openApi } from '../channels/http/client.ts';
import { rawRequest } from '../channels/http/raw-http.ts';

let home = '';
beforeEach(() => {
  home = mkdtempSync(path.join(tmpdir(), 'parley-open-'));
});
afterEach(() => {
  rmSync(home, { recursive: true });
  vi.unstubAllEnvs();
});

const [address] = networkAddresses();
const hasNetwork = address !== undefined;

function open(environment: Record<string, string>, inContainer = false): Promise<string> {
  const config = loadConfig({ GATEWAY_HOME: home, ...environment });
  const signIn = (url: string) => Promise.resolve(`${url}/#code=abc\n\nIt signs one browser in.`);
  return openOnNetwork(config, 'http://127.0.0.1:8080', signIn, inContainer);
}

it('lets a gateway that only its own machine could reach listen on all interfaces from its next start on', async () => {
  expect(await open({})).toMatch(/HOST=0\.0\.0\.0 is now in .*stop the gateway and start it again/);
  expect(readFileSync(path.join(home, '.env'), 'utf8')).toMatch(/^HOST=0\.0\.0\.0$/m);
});

it('changes HOST where the home sets it, and names it where something else does', async () => {
  writeFileSync(path.join(home, '.env'), 'HOST=127.0.0.1\nPORT=1\n');
  await open({ HOST: '127.0.0.1' });
  expect(readFileSync(path.join(home, '.env'), 'utf8')).toBe('HOST=0.0.0.0\nPORT=1\n');
  rmSync(path.join(home, '.env'));
  await expect(open({ HOST: 'localhost' })).rejects.toThrow(/HOST is localhost.*Set HOST=0\.0\.0\.0/);
});

it.runIf(hasNetwork)('prints a link with the address of the machine, its QR code and a warning', async () => {
  const text = await open({ HOST: '0.0.0.0' });
  expect(text).toContain(`${urlOfListener(address ?? '', 8080)}/#code=abc`);
  expect(text).toMatch(/[█▀▄]{20}/);
  expect(text).toContain('This is plain HTTP');
  expect(text).not.toContain('http://0.0.0.0');
});

it('asks for the address of the machine in a container', async () => {
  await expect(open({ HOST: '0.0.0.0' }, true)).rejects.toThrow(/container.*channels\.http\.allowedHosts/);
});

it.runIf(hasNetwork)('names the addresses at a start that listens on all interfaces, and only then', () => {
  expect(openLines('http://127.0.0.1:8080', undefined, false)).toBe('');
  vi.stubEnv('HOST', '0.0.0.0');
  expect(openLines('http://127.0.0.1:8080', undefined, false)).toContain(urlOfListener(address ?? '', 8080));
  expect(openLines('http://127.0.0.1:8080', undefined, true)).toBe('');
});

it('leaves out loopback, virtual networks and addresses with a zone, and puts IPv4 first', () => {
  const one = { netmask: '', mac: '', internal: false, cidr: null };
  const v4 = { ...one, family: 'IPv4' as const };
  const v6 = { ...one, family: 'IPv6' as const, scopeid: 0 };
  const found = networkAddresses({
    lo: [{ ...v4, address: '127.0.0.1', internal: true }],
    docker0: [{ ...v4, address: '172.17.0.1' }],
    wlan0: [
      { ...v6, address: 'fd00::5' },
      { ...v6, address: 'fe80::5', scopeid: 3 },
      { ...v4, address: '192.168.1.20' },
    ],
  });
  expect(found).toEqual(['192.168.1.20', 'fd00::5']);
  expect(networkAddresses(networkInterfaces()).some(isWildcard)).toBe(false);
});

it.runIf(hasNetwork)(
  'answers to the literal addresses of its machine, from their pages too, and to no other name',
  async () => {
    const api = await openApi({ host: '0.0.0.0' });
    try {
      expect(api.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
      const { port } = new URL(api.url);
      const status = async (host: string, ...headers: string[]) =>
        (await rawRequest(api.url, ['GET /healthz HTTP/1.1', `Host: ${host}`, ...headers])).status;
      const name = new URL(urlOfListener(address ?? '', Number(port))).host;
      expect(await status(name)).toBe(200);
      expect(await status(name, `Origin: http://${name}`)).toBe(200);
      expect(await status(`evil.example:${port}`)).toBe(421);
      expect(await status(name, 'Origin: http://evil.example')).toBe(403);
      expect(await status('203.0.113.9:1')).toBe(421);
    } finally {
      await api.close();
    }
  },
);

it.runIf(hasNetwork)('answers to loopback alone where it listens there', async () => {
  const api = await openApi();
  try {
    const { port } = new URL(api.url);
    const name = new URL(urlOfListener(address ?? '', Number(port))).host;
    const answer = await rawRequest(api.url, ['GET /healthz HTTP/1.1', `Host: ${name}`]);
    expect(answer.status).toBe(421);
  } finally {
    await api.close();
  }
});
