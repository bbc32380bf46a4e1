/** A collector of traces over OTLP/HTTP in protobuf: accepts what the protocol allows, and refuses anything else. */
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gunzipSync } from 'node:zlib';
import { type Field, fieldsOf, text, uint } from './protobuf.ts';

/** A span as the protocol defines it; times in milliseconds, `status` 2 = error. */
export interface CollectedSpan {
  traceId: string;
  spanId: string;
  parentId: string;
  name: string;
  startMs: number;
  endMs: number;
  attributes: Record<string, string | number | string[]>;
  status: number;
  /** The spans that it links to. */
  links: { traceId: string; spanId: string }[];
}

export interface FakeCollector {
  readonly url: string;
  readonly spans: CollectedSpan[];
  /** Headers of the last request. */
  headers: IncomingMessage['headers'];
  /** Bytes of all requests, as received. */
  readonly bodies: Buffer[];
  /** The status of the next answers; 200 at first. */
  status: number;
  close(): Promise<void>;
}

/** Starts it on a free port on loopback. */
export async function startFakeCollector(): Promise<FakeCollector> {
  const server = createServer((request, response) => {
    void (async () => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      fake.headers = request.headers;
      const isTrace = request.method === 'POST' && request.url === '/v1/traces';
      if (!isTrace || request.headers['content-type'] !== 'application/x-protobuf')
        return response.writeHead(415).end();
      const sent = Buffer.concat(chunks);
      const body = request.headers['content-encoding'] === 'gzip' ? gunzipSync(sent) : sent;
      fake.bodies.push(body);
      if (fake.status === 200) fake.spans.push(...spansIn(body));
      return response.writeHead(fake.status, { 'content-type': 'application/x-protobuf' }).end();
    })();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const fake: FakeCollector = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans: [],
    bodies: [],
    headers: {},
    status: 200,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  return fake;
}

/** `ExportTraceServiceRequest` → `ResourceSpans` → `ScopeSpans` → `Span`. */
function spansIn(body: Buffer): CollectedSpan[] {
  return messages(body, 1)
    .flatMap((resource) => messages(resource, 2))
    .flatMap((scope) => messages(scope, 2))
    .map(toSpan);
}

function toSpan(bytes: Buffer): CollectedSpan {
  const fields = fieldsOf(bytes);
  const one = (number: number): Field | undefined => fields.find((field) => field.number === number);
  const hex = (number: number, length: number): string => {
    const value = one(number)?.bytes ?? Buffer.alloc(0);
    if (value.length !== 0 && value.length !== length)
      throw new Error(`field ${number} has ${value.length} bytes`);
    return value.toString('hex');
  };
  const attributes = fields.filter(({ number }) => number === 9).map(({ bytes: pair }) => attributeOf(pair));
  const status = one(15)?.bytes;
  const links = messages(bytes, 13).map((link) => {
    const [traceId, spanId] = [messages(link, 1), messages(link, 2)].map(([id]) => id?.toString('hex') ?? '');
    return { traceId: traceId ?? '', spanId: spanId ?? '' };
  });
  return {
    traceId: hex(1, 16),
    spanId: hex(2, 8),
    parentId: hex(4, 8),
    name: text(one(5)),
    startMs: uint(one(7)) / 1e6,
    endMs: uint(one(8)) / 1e6,
    attributes: Object.fromEntries(attributes),
    links,
    status: status === undefined ? 0 : uint(fieldsOf(status).find(({ number }) => number === 3)),
  };
}

/** `KeyValue` with an `AnyValue` that is a text, a boolean, an integer, a double or a list of texts. */
function attributeOf(pair: Buffer): [string, string | number | string[]] {
  const fields = fieldsOf(pair);
  const [value] = fieldsOf(fields.find(({ number }) => number === 2)?.bytes ?? Buffer.alloc(0));
  const key = text(fields.find(({ number }) => number === 1));
  if (value?.number === 5)
    return [
      key,
      messages(value.bytes, 1).map((one) => text(fieldsOf(one).find(({ number }) => number === 1))),
    ];
  if (value?.number === 4) return [key, value.bytes.readDoubleLE()];
  return [key, value?.number === 1 ? text(value) : uint(value)];
}

function messages(bytes: Buffer, wanted: number): Buffer[] {
  return fieldsOf(bytes).flatMap(({ number, bytes: inner }) => (number === wanted ? [inner] : []));
}
