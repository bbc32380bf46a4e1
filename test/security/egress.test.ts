/** Egress: which addresses are requested, which hops are followed, and how much of an answer is read. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { GatewayError } from '../../src/protocol/errors.ts';
import { isPublicAddress } from '../../src/security/egress-addresses.ts';
import { createEgress, type EgressOptions, MAX_REDIRECTS, MAX_URL_CHARS } from '../../src/security/egress.ts';

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

let server: Server;
let host = '';
let asked: { path: string; headers: IncomingMessage['headers'] }[] = [];
const routes = new Map<string, Handler>();

beforeAll(async () => {
  server = createServer((request, response) => {
    asked.push({ path: request.url ?? '', headers: request.headers });
    const route = routes.get(request.url ?? '');
    if (route === undefined) response.writeHead(404).end();
    else route(request, response);
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const bound = server.address();
  host = `127.0.0.1:${typeof bound === 'object' && bound !== null ? bound.port : 0}`;
});

beforeEach(() => {
  asked = [];
  routes.clear();
});

afterAll(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => void server.close(resolve));
});

const origin = (): string => `http://${host}`;
const port = (): string => host.split(':')[1] ?? '';

/** The answer as text, or the code of the refusal. */
async function get(url: string, options: EgressOptions = { allow: [origin()] }): Promise<string> {
  try {
    const answer = await createEgress(options)({ url, signal: new AbortController().signal });
    return answer.body.toString('utf8');
  } catch (error) {
    return error instanceof GatewayError ? error.code : `foreign: ${String(error)}`;
  }
}

const LITERALS = [
  '127.0.0.1',
  '2130706433',
  '0x7f000001',
  '0177.0.0.1',
  '127.1',
  '0',
  '①②⑦.⓪.⓪.①',
  '127。0。0。1',
  '[::]',
  '[::1]',
  '[::ffff:7f00:1]',
  '[0:0:0:0:0:ffff:7f00:1]',
  '[::127.0.0.1]',
  '[64:ff9b::7f00:1]',
  '[64:ff9b:1::7f00:1]',
  '[2002:7f00:1::]',
  '[2001:0:7f00:1::]',
  '[::ffff:0:127.0.0.1]',
  '[fd00:ec2::254]',
  '[fe80::1]',
  '[ff02::1]',
  '[2001:db8::1]',
  '169.254.169.254',
  '100.100.100.200',
  '192.0.0.192',
  '198.18.0.1',
  '10.0.0.1',
  '172.31.255.255',
  '192.168.1.1',
  '168.63.129.16',
  '224.0.0.1',
  '255.255.255.255',
  'localhost',
  'localhost.',
  'x.localhost',
  'metadata.google.internal',
  'printer.local',
  '127.0.0.1.',
];

describe('which addresses are requested', () => {
  it.each(LITERALS)('refuses %s however it is written', async (literal) => {
    expect(await get(`http://${literal}/`, {})).toBe('refused_address');
    expect(await get(`https://${literal}:443/x`, {})).toBe('refused_address');
  });

  it('refuses anything but a plain http address', async () => {
    for (const url of [
      'file:///etc/passwd',
      'gopher://x/',
      'data:text/plain,x',
      'ftp://x/',
      '//x',
      'x',
      '',
    ]) {
      expect(await get(url, {})).toBe('bad_url');
    }
    expect(await get('http:127.0.0.1', {})).toBe('refused_address');
    expect(await get(String.raw`http://127.0.0.1\@example.com`, {})).toBe('refused_address');
    expect(await get('http://user:secret@example.com/', {})).toBe('bad_url');
    expect(await get(`http://example.com/${'x'.repeat(MAX_URL_CHARS)}`, {})).toBe('bad_url');
  });

  it('uses only ports 80, 443 and those configured', async () => {
    const resolve = async () => [{ address: '127.0.0.1', family: 4 }];
    const why = async (options: EgressOptions): Promise<string> => {
      const request = { url: 'http://example.com:8443/', signal: new AbortController().signal };
      return await createEgress({ resolve, ...options })(request).then(String, String);
    };
    expect(await why({})).toContain('Port 8443');
    expect(await why({ ports: () => [8443] })).toContain('not a public address');
  });

  it('accepts public ones, at the edges of the refused ranges', () => {
    const open = [
      '1.1.1.1',
      '9.255.255.255',
      '11.0.0.0',
      '172.32.0.0',
      '100.128.0.0',
      '223.255.255.255',
      '2606:4700::1111',
    ];
    expect(open.filter((address) => !isPublicAddress(address))).toEqual([]);
    expect(['', 'example.com', '1.1.1.1%eth0', '::1%lo'].filter(isPublicAddress)).toEqual([]);
  });
});

describe('names', () => {
  const answers = (...lists: string[][]) => {
    let call = 0;
    const resolve = async () =>
      (lists[Math.min(call++, lists.length - 1)] ?? []).map((address) => ({
        address,
        family: address.includes(':') ? 6 : 4,
      }));
    return { resolve, calls: () => call };
  };

  it('refuses a name when a single one of its addresses is private', async () => {
    const dns = answers(['93.184.215.14', '127.0.0.1']);
    expect(await get(`http://mixed.example/`, { resolve: dns.resolve })).toBe('refused_address');
    expect(dns.calls()).toBe(1);
  });

  it('resolves a name once and connects to that answer, whatever the next would be', async () => {
    routes.set('/page', (_, response) => response.end('pinned'));
    const dns = answers(['127.0.0.1'], ['10.0.0.1']);
    const allow = [`http://pinned.example:${port()}`];
    expect(await get(`http://pinned.example:${port()}/page`, { resolve: dns.resolve, allow })).toBe('pinned');
    expect(dns.calls()).toBe(1);
    expect(asked[0]?.headers.host).toBe(`pinned.example:${port()}`);
  });

  it('uses no proxy from the environment', async () => {
    process.env['HTTP_PROXY'] = `http://${host}`;
    try {
      expect(await get('http://10.1.2.3/', {})).toBe('refused_address');
      routes.set('/direct', (_, response) => response.end('direct'));
      expect(await get(`http://${host}/direct`)).toBe('direct');
      expect(asked.map(({ path }) => path)).toEqual(['/direct']);
    } finally {
      delete process.env['HTTP_PROXY'];
    }
  });
});

describe('redirects', () => {
  const redirect = (path: string, to: string): void =>
    void routes.set(path, (_, response) => response.writeHead(302, { location: to }).end('moved'));

  it.each([
    'http://169.254.169.254/latest',
    'http://localhost/',
    '//[::1]/',
    'http://127.0.0.1:1/',
    'file:///etc/passwd',
  ])('checks every hop: to %s', async (to) => {
    redirect('/go', to);
    expect(await get(`http://${host}/go`)).toBe(to.startsWith('file') ? 'bad_url' : 'refused_address');
    expect(asked).toHaveLength(1);
  });

  it(`follows ${MAX_REDIRECTS} hops and not one more`, async () => {
    for (let n = 0; n <= MAX_REDIRECTS; n += 1) redirect(`/${n}`, `/${n + 1}`);
    routes.set(`/${MAX_REDIRECTS + 1}`, (_, response) => response.end('arrived'));
    expect(await get(`http://${host}/1`)).toBe('arrived');
    expect(await get(`http://${host}/0`)).toBe('too_many_redirects');
  });

  it('sends headers only to their own origin', async () => {
    redirect('/a', '/b');
    redirect('/b', `http://other.example:${port()}/c`);
    routes.set('/c', (_, response) => response.end('c'));
    const resolve = async () => [{ address: '127.0.0.1', family: 4 }];
    const egress = createEgress({ allow: [origin(), `http://other.example:${port()}`], resolve });
    const headers = { authorization: 'Bearer canary' };
    await egress({ url: `http://${host}/a`, headers, signal: new AbortController().signal });
    expect(asked.map((request) => request.headers.authorization)).toEqual([
      'Bearer canary',
      'Bearer canary',
      undefined,
    ]);
  });
});

describe('how much is read', () => {
  const limits = { wireBytes: 1_000, decodedBytes: 4_000 };
  const small = (): EgressOptions => ({ allow: [origin()], limits });

  it('reads an answer at the cap and refuses one byte more', async () => {
    routes.set('/at', (_, response) => response.end('x'.repeat(limits.wireBytes)));
    routes.set('/over', (_, response) => response.end('x'.repeat(limits.wireBytes + 1)));
    expect(await get(`http://${host}/at`, small())).toHaveLength(limits.wireBytes);
    expect(await get(`http://${host}/over`, small())).toBe('too_large');
  });

  it('unpacks to the cap and refuses a bomb', async () => {
    const packed =
      (bytes: number): Handler =>
      (_, response) =>
        response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync('x'.repeat(bytes)));
    routes.set('/at', packed(limits.decodedBytes));
    routes.set('/bomb', packed(400_000));
    expect(await get(`http://${host}/at`, small())).toHaveLength(limits.decodedBytes);
    expect(await get(`http://${host}/bomb`, small())).toBe('too_large');
  });

  it.each(['gzip, gzip', 'gzip, identity', 'compress', 'toString'])(
    'refuses the encoding "%s"',
    async (encoding) => {
      routes.set('/odd', (_, response) => response.writeHead(200, { 'content-encoding': encoding }).end('x'));
      expect(await get(`http://${host}/odd`)).toBe('bad_response');
    },
  );

  it('refuses garbage that claims to be gzip, and headers of 64 KiB', async () => {
    routes.set('/garbage', (_, response) =>
      response.writeHead(200, { 'content-encoding': 'gzip' }).end('not gzip'),
    );
    routes.set('/headers', (_, response) => response.writeHead(200, { 'x-long': 'x'.repeat(65_536) }).end());
    expect(await get(`http://${host}/garbage`)).toBe('bad_response');
    expect(await get(`http://${host}/headers`)).toBe('bad_response');
  });

  it('abandons an endless body when the cap is reached, without reading further', async () => {
    let sent = 0;
    routes.set('/endless', (_, response) => {
      const more = (): void => {
        while (!response.destroyed && response.write('x'.repeat(65_536))) sent += 65_536;
        if (!response.destroyed) response.once('drain', more);
      };
      more();
    });
    expect(await get(`http://${host}/endless`)).toBe('too_large');
    expect(sent).toBeLessThan(32 * 1024 * 1024);
  });

  it('gives up on silence before headers, on a trickle, and on one that takes forever', async () => {
    routes.set('/silent', () => undefined);
    routes.set('/trickle', (_, response) => void response.write('x'));
    const slow = (over: EgressOptions['limits']): EgressOptions => ({
      allow: [origin()],
      limits: { ...over },
    });
    expect(await get(`http://${host}/silent`, slow({ headersMs: 50 }))).toBe('too_slow');
    expect(await get(`http://${host}/trickle`, slow({ windowMs: 50 }))).toBe('too_slow');
    expect(await get(`http://${host}/trickle`, slow({ totalMs: 80 }))).toBe('too_slow');
  });

  it('closes the connection when the caller stops', async () => {
    const stop = new AbortController();
    const closed = new Promise<void>((resolve) => {
      routes.set('/silent', (request) => {
        request.socket.once('close', () => resolve());
        stop.abort();
      });
    });
    const asking = createEgress({ allow: [origin()] })({ url: `http://${host}/silent`, signal: stop.signal });
    await expect(asking).rejects.toMatchObject({ code: 'aborted' });
    await closed;
    expect(asked).toHaveLength(1);
  });
});
