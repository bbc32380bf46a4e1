/** The parsers that read what strangers send, each as a function of bytes that fails only in the ways it promises. */
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { IncomingMessage } from 'node:http';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect, Socket } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { readUpload } from '../../channels/http/upload.ts';
import { readFrame, refOf } from '../../channels/http/websocket/frames.ts';
import { checkConfig } from '../../src/config.ts';
import { callResult, textOfResult } from '../../src/mcp/content.ts';
import { takeTools } from '../../src/mcp/server-tools.ts';
import { StdioTransport } from '../../src/mcp/stdio-transport.ts';
import { readBackup } from '../../src/ops/backup-file.ts';
import { GatewayError } from '../../src/protocol/errors.ts';
import { silentLog } from '../database.ts';
import { type GatewayFixture, openGatewayFixture, OWNER } from '../flows/setup.ts';

/** Reads one input; returns in which way it did, in a few words. Throws what the parser must not throw. */
type Read = (input: Buffer) => Promise<string>;

export interface Target {
  name: string;
  open: () => Promise<{ read: Read; close?: () => Promise<void> }>;
}

/** The outcome of what may fail with a `GatewayError` alone. */
async function outcomeOf(work: () => unknown): Promise<string> {
  try {
    const value = await work();
    return typeof value === 'string' ? value : 'read';
  } catch (error) {
    if (error instanceof GatewayError) return error.message.replaceAll(/\d+|"[^"]*"/g, '_').slice(0, 80);
    throw error;
  }
}

/** The first line is the content type, the rest the body. */
const multipart: Target = {
  name: 'multipart',
  open: () =>
    Promise.resolve({
      read: (input) =>
        outcomeOf(async () => {
          const end = Math.max(0, input.indexOf('\n'));
          const incoming = new IncomingMessage(new Socket());
          incoming.headers['content-type'] =
            `multipart/form-data; ${input.subarray(0, end).toString('latin1')}`;
          for (let at = end + 1; at < input.length; at += 1_000)
            incoming.push(input.subarray(at, at + 1_000));
          incoming.push(null);
          const upload = await readUpload(incoming, undefined);
          let size = 0;
          for await (const chunk of upload.chunks) size += chunk.length;
          return `${upload.name.length} ${size} ${upload.fields.size}`;
        }),
    }),
};

/** The bytes after the handshake, at a real gateway; their texts go to the parser of frames, too. */
const websocket: Target = {
  name: 'websocket',
  async open() {
    const fixture = await openGatewayFixture();
    const { hostname, port } = new URL(fixture.gateway.url);
    return {
      async read(input) {
        const text = input.toString('utf8');
        refOf(text);
        const frame = await outcomeOf(() => readFrame(text).type);
        const socket = connect(Number(port), hostname);
        socket.on('error', () => undefined);
        socket.write(
          `GET /v1/ws HTTP/1.1\r\nHost: ${hostname}:${port}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nAuthorization: Bearer ${OWNER}\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n`,
        );
        const [head] = await once(socket, 'data');
        if (!String(head).startsWith('HTTP/1.1 101')) throw new Error(`no upgrade: ${String(head)}`);
        socket.end(input);
        const answers: Buffer[] = [];
        socket.on('data', (chunk: Buffer) => answers.push(chunk));
        await once(socket, 'close');
        const answer = Buffer.concat(answers).toString('latin1');
        return `${frame} ${/"code":"\w+"/.exec(answer)?.[0] ?? answer.length}`;
      },
      close: () => fixture.close(),
    };
  },
};

const SECRET = 'a-secret-of-the-sender-0123456789';
const HOOKS = ['signed', 'github', 'grafana'] as const;

/** The body, with a right signature, and one cut off it as signature, of each kind of webhook of `config.json`. */
const webhook: Target = {
  name: 'webhook',
  async open() {
    const hooks = Object.fromEntries(
      HOOKS.map((kind) => [
        kind,
        {
          kind,
          secretEnv: 'HOOK_SECRET',
          to: `http:${kind}`,
          text: '{{job}} {{repository.full_name}} {{alerts.0.labels}}',
          ...(kind === 'grafana' && { timestampHeader: 'X-Time' }),
        },
      ]),
    );
    const fixture = await openGatewayFixture({ file: { hooks }, env: { HOOK_SECRET: SECRET } });
    let count = 0;
    return {
      async read(input) {
        const kind = HOOKS[(count += 1) % HOOKS.length] ?? 'signed';
        const at = Math.floor(Date.now() / 1_000);
        const sign = (prefix: string): string =>
          createHmac('sha256', SECRET).update(prefix).update(input).digest('hex');
        const rights: Record<(typeof HOOKS)[number], Record<string, string>> = {
          signed: { 'x-parley-signature': `t=${at},v1=${sign(`${at}.`)}` },
          github: { 'x-hub-signature-256': `sha256=${sign('')}` },
          grafana: { 'x-grafana-alerting-signature': sign(`${at}:`), 'x-time': String(at) },
        };
        const wrong = {
          'x-parley-signature':
            input
              .toString('latin1')
              .replaceAll(/[^\x21-\x7e\xa0-\xff]/g, '')
              .slice(0, 400) || 't',
        };
        const answers = [
          await post(fixture, `/v1/hooks/${kind}`, input, rights[kind]),
          await post(fixture, '/v1/hooks/signed', input, wrong),
        ];
        return answers.join(' ');
      },
      close: () => fixture.close(),
    };
  },
};

/** An update, posted as Telegram does. */
const telegram: Target = {
  name: 'telegram',
  async open() {
    const http = { allowedHosts: ['bot.example.org'], trustedProxies: ['127.0.0.1'] };
    const channels = { http, telegram: { webhook: { url: 'https://bot.example.org' } } };
    const file = { access: { telegram: { dm: 'open' } }, channels };
    const env = { TELEGRAM_WEBHOOK_SECRET: SECRET };
    const fixture = await openGatewayFixture({ telegram: true, file, env });
    fixture.telegram.webhook.gateway = () => fixture.gateway.url;
    return {
      read: (input) =>
        post(fixture, '/v1/updates/telegram', input, { 'x-telegram-bot-api-secret-token': SECRET }),
      close: () => fixture.close(),
    };
  },
};

/** An interaction, signed as Discord does. */
const discord: Target = {
  name: 'discord',
  async open() {
    const fixture = await openGatewayFixture({
      discord: true,
      file: { access: { discord: { dm: 'open' } } },
    });
    const { endpoint } = fixture.discord.platform;
    await endpoint.save(`${fixture.gateway.url}/v1/interactions/discord`);
    return {
      read: (input) =>
        post(
          fixture,
          '/v1/interactions/discord',
          input,
          endpoint.headers(input.toString('latin1')),
          'latin1',
        ),
      close: () => fixture.close(),
    };
  },
};

async function post(
  { gateway }: GatewayFixture,
  route: string,
  input: Buffer,
  headers: Record<string, string>,
  as?: 'latin1',
): Promise<string> {
  const body = as === undefined ? new Uint8Array(input) : input.toString(as);
  const init = { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body };
  const response = await fetch(gateway.url + route, init);
  const answer = await response.text();
  if (response.status >= 500) throw new Error(`${route}: ${response.status} ${answer}`);
  return `${response.status} ${/"code":"\w+"|$/.exec(answer)?.[0] ?? ''}`;
}

const config: Target = {
  name: 'config',
  open() {
    const home = path.join(tmpdir(), 'parley-fuzz-no-home');
    const read: Read = async (input) => {
      const { problems } = checkConfig(
        { GATEWAY_HOME: home },
        { text: input.toString('utf8'), permissions: false },
      );
      return problems
        .map(({ text }) => text.replaceAll(/\d+|"[^"]*"/g, '_').slice(0, 60))
        .toSorted()
        .slice(0, 3)
        .join(' | ');
    };
    return Promise.resolve({ read });
  },
};

/** One in so many encrypted files is opened with its passphrase. */
const KEYED = 10;

const backup: Target = {
  name: 'backup',
  async open() {
    const folder = await mkdtemp(path.join(tmpdir(), 'parley-fuzz-'));
    const file = path.join(folder, 'one.backup');
    let count = 0;
    return {
      async read(input) {
        await writeFile(file, input);
        // A key takes a tenth of a second: only some of the files that say that they are encrypted get one.
        const isKeyed = input.subarray(0, 200).includes('salt') && (count += 1) % KEYED === 1;
        const passphrase = isKeyed ? 'twelve chars' : undefined;
        return await outcomeOf(async () => {
          let records = 0;
          for await (const _ of readBackup(file, passphrase)) records += 1;
          return String(records);
        });
      },
      close: () => rm(folder, { recursive: true, force: true }),
    };
  },
};

/** What a program writes that calls itself an MCP server. */
const mcp: Target = {
  name: 'mcp',
  async open() {
    const folder = await mkdtemp(path.join(tmpdir(), 'parley-fuzz-'));
    const file = path.join(folder, 'output');
    const settings = { name: 'notes', trusted: false, tools: undefined, timeoutMs: 1_000, secrets: [] };
    return {
      async read(input) {
        await writeFile(file, input);
        const connection = {
          kind: 'stdio',
          command: '/bin/cat',
          args: [file],
          env: {},
          cwd: undefined,
        } as const;
        const transport = new StdioTransport(connection, process.env, folder, silentLog);
        const outcomes = new Set<string>();
        const { promise: closed, resolve: onclose } = Promise.withResolvers<void>();
        const onerror = ({ name }: Error): void => void outcomes.add(name);
        const onmessage = (message: object): void => {
          outcomes.add('result' in message ? 'result' : 'method' in message ? 'request' : 'error');
          const result: unknown = 'result' in message ? message.result : undefined;
          const { data } = callResult.safeParse(result);
          if (data !== undefined) textOfResult(data);
          if (
            typeof result === 'object' &&
            result !== null &&
            'tools' in result &&
            Array.isArray(result.tools)
          )
            takeTools({ ...settings, connection }, result.tools, () =>
              Promise.reject(new Error('not called')),
            );
        };
        Object.assign(transport, { onclose, onerror, onmessage });
        await transport.start();
        await closed;
        return [...outcomes].toSorted().join(' ');
      },
      close: () => rm(folder, { recursive: true, force: true }),
    };
  },
};

export const targets: readonly Target[] = [
  multipart,
  websocket,
  webhook,
  telegram,
  discord,
  config,
  backup,
  mcp,
];
