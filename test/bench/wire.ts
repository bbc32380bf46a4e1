/** A load client that uses little CPU, because it shares two cores with what it measures. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

/** How long one answer took, in milliseconds from the request's first byte. */
export interface Took {
  firstMs: number;
  totalMs: number;
}

/** End of a chunked body. */
const END = '0\r\n\r\n';

/** One keep-alive connection; one request at a time. */
export class Wire {
  readonly #socket: Socket;
  #onData: (data: string) => void = () => undefined;
  #onLost: (error: Error) => void = () => undefined;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.setNoDelay(true).setEncoding('latin1');
    socket.on('data', (data: string) => this.#onData(data));
    socket.on('error', (error) => this.#onLost(error));
    socket.on('close', () => this.#onLost(new Error('the connection was closed')));
  }

  static async open(url: string): Promise<Wire> {
    const { hostname, port } = new URL(url);
    const socket = connect({ host: hostname, port: Number(port) });
    await once(socket, 'connect');
    return new Wire(socket);
  }

  /** Asks and reads a streamed answer to its end. Rejects any answer but a 200 with a chunked body that contains `mark`. */
  ask(request: Buffer, mark: string): Promise<Took> {
    const { promise, resolve, reject } = Promise.withResolvers<Took>();
    const startedAt = performance.now();
    let firstMs: number | undefined;
    let seen = '';
    this.#onLost = reject;
    this.#onData = (data) => {
      seen += data;
      if (firstMs === undefined) {
        if (!seen.startsWith('HTTP/1.1 200'.slice(0, seen.length)))
          return reject(new Error(seen.slice(0, 600)));
        if (seen.includes(mark)) firstMs = performance.now() - startedAt;
      }
      if (firstMs !== undefined) seen = seen.slice(-END.length);
      if (!seen.endsWith(END)) return;
      if (firstMs === undefined) reject(new Error(`an answer without ${mark}: ${seen.slice(0, 600)}`));
      else resolve({ firstMs, totalMs: performance.now() - startedAt });
    };
    this.#socket.write(request);
    return promise;
  }

  close(): void {
    this.#onLost = () => undefined;
    this.#socket.destroy();
  }
}

/** A complete POST with a JSON body. */
export function postRequest(url: string, body: unknown, headers: Record<string, string> = {}): Buffer {
  const { host, pathname } = new URL(url);
  const json = JSON.stringify(body);
  const lines = Object.entries({
    host,
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(json)),
    ...headers,
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.from(`POST ${pathname} HTTP/1.1\r\n${lines.join('')}\r\n${json}`);
}
