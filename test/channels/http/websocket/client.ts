/** A WebSocket client that keeps what it receives, for tests. */
import { once } from 'node:events';
import { WebSocket } from 'ws';
import type { AgentEvent } from '../../../../src/protocol/event.ts';

/** A frame of the server; fields by its type. */
export interface ServerFrame {
  type: string;
  ref?: string | number;
  id?: string;
  event?: AgentEvent & { delta?: string };
  error?: { code: string; message: string; param: string | null };
  resume?: Record<string, string>;
  [field: string]: unknown;
}

/** One socket. */
export class SocketClient {
  readonly webSocket: WebSocket;
  readonly frames: ServerFrame[] = [];
  /** Resolves with the close code and reason. */
  readonly closed: Promise<{ code: number; reason: string }>;
  #heard: (() => void) | undefined;

  constructor(url: string, headers: Record<string, string> = {}, query = '') {
    this.webSocket = new WebSocket(`${url.replace('http', 'ws')}/v1/ws${query}`, { headers });
    this.webSocket.on('message', (data: Buffer) => {
      this.frames.push(JSON.parse(data.toString('utf8')));
      this.#heard?.();
    });
    this.closed = new Promise((resolve) => {
      this.webSocket.on('close', (code, reason) => resolve({ code, reason: String(reason) }));
    });
    // A refused or broken connection shows in `closed`, and in `opened`.
    this.webSocket.on('error', () => undefined);
  }

  /** Resolves once the handshake is done; rejects with the status of a refusal. */
  async opened(): Promise<this> {
    const refused = Promise.withResolvers<never>();
    this.webSocket.once('unexpected-response', (_request, response) => {
      refused.reject(new Error(`refused with ${response.statusCode}`));
      this.webSocket.terminate();
    });
    await Promise.race([once(this.webSocket, 'open'), refused.promise]);
    return this;
  }

  send(frame: object): void {
    this.webSocket.send(JSON.stringify(frame));
  }

  /** The first received frame that satisfies `wanted`. */
  async frame(wanted: (frame: ServerFrame) => boolean): Promise<ServerFrame> {
    for (let at = 0; ; at += 1) {
      while (at >= this.frames.length) await this.#next();
      const frame = this.frames[at]!;
      if (wanted(frame)) return frame;
    }
  }

  /** The answer to the frame with this ref. */
  answer(ref: string | number): Promise<ServerFrame> {
    return this.frame((frame) => frame.ref === ref);
  }

  close(): void {
    this.webSocket.terminate();
  }

  async #next(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#heard = resolve;
    });
  }
}
