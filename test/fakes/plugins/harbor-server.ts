/** The server of the plug-in `harbor`: a chat network over real sockets, with what tests can make it do wrong. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { z } from 'zod';

/** How long an empty poll is held, in milliseconds. */
const POLL_MS = 20_000;
const MAX_TEXT = 2_000;
const MAX_FILE_BYTES = 1_000_000;
const MAX_CAPTION = 200;

const messageShape = z.object({
  chat: z.string(),
  text: z.string(),
  nonce: z.string().optional(),
  plain: z.boolean(),
});
const fileShape = z.object({ chat: z.string(), name: z.string(), nonce: z.string(), caption: z.string() });

interface Update {
  seq: number;
  id: string;
  chat: string;
  user: string;
  text: string;
  sentAt: number;
  by?: 'self' | 'bot';
  file?: { url: string; name: string; bytes: number };
}

interface Shown {
  id: string;
  chat: string;
  text: string;
  nonce: string | undefined;
  plain: boolean;
  file?: { name: string; bytes: Buffer };
}

/** What the next call gets instead of its answer; 0 applies it and cuts the connection. */
interface NextAnswer {
  status: number;
  retryAfterS?: number;
}

/** The marks of its manifest, as people see them. */
export function readMarks(text: string): string {
  return text.replaceAll(/\\([*_~`\\])|```\n?|[*_~`]/g, (_, escaped: string | undefined) => escaped ?? '');
}

export class HarborServer {
  readonly key: string;
  url = '';
  readonly blocked = new Set<string>();
  readonly admins = new Map<string, string[]>();
  readonly downloadFailures: ('cut' | number)[] = [];
  readonly #updates: Update[] = [];
  readonly #shown: Shown[] = [];
  readonly #files = new Map<string, Buffer>();
  readonly #polls = new Set<() => void>();
  readonly #next: NextAnswer[] = [];
  readonly #nextFile: NextAnswer[] = [];
  #ids = 0;
  #confirmed = 0;
  readonly #server = createServer((request, response) => {
    this.#answer(request, response).catch(() => response.destroy());
  });

  constructor(key: string) {
    this.key = key;
  }

  static async start(key: string): Promise<HarborServer> {
    const server = new HarborServer(key);
    server.#server.listen(0, '127.0.0.1');
    await once(server.#server, 'listening');
    const address = server.#server.address();
    server.url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
    return server;
  }

  says(chat: string, user: string, text: string, more: Partial<Pick<Update, 'by' | 'file'>> = {}): void {
    const seq = this.#updates.length + 1;
    this.#updates.push({ seq, id: `q${seq}`, chat, user, text, sentAt: Date.now(), ...more });
    for (const wake of this.#polls) wake();
  }

  sendsFile(chat: string, user: string, name: string, bytes: Uint8Array): void {
    const url = `/files/f${(this.#ids += 1)}`;
    this.#files.set(url, Buffer.from(bytes));
    this.says(chat, user, '', { file: { url, name, bytes: bytes.length } });
  }

  /** The newest update is delivered once more. */
  again(): void {
    const newest = this.#updates.at(-1);
    if (newest === undefined) throw new Error('nothing was said yet');
    this.#updates.push({ ...newest, seq: this.#updates.length + 1 });
    for (const wake of this.#polls) wake();
  }

  screen(chat: string): string[] {
    const here = this.#shown.filter((one) => one.chat === chat && one.file === undefined);
    return here.map(({ text, plain }) => (plain ? text : readMarks(text)));
  }

  files(chat: string): { name: string; bytes: Buffer; caption: string }[] {
    return this.#shown.flatMap((one) =>
      one.chat === chat && one.file !== undefined ? [{ ...one.file, caption: one.text }] : [],
    );
  }

  answerNext(next: NextAnswer, what: 'call' | 'file' = 'call'): void {
    (what === 'file' ? this.#nextFile : this.#next).push(next);
  }

  get polls(): number {
    return this.#polls.size;
  }

  get allConfirmed(): boolean {
    return this.#confirmed >= this.#updates.length;
  }

  async close(): Promise<void> {
    const closed = once(this.#server, 'close');
    for (const wake of this.#polls) wake();
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await buffer(request);
    const { pathname, searchParams } = new URL(request.url ?? '', this.url);
    const [, what = '', id = ''] = pathname.split('/');
    const send = (value: unknown, status = 200, more: Record<string, string> = {}): void =>
      void response
        .writeHead(status, { 'content-type': 'application/json', ...more })
        .end(JSON.stringify(value));
    if (request.headers.authorization !== `Bearer ${this.key}`) return send({}, 401);
    if (what === 'updates') return await this.#poll(Number(searchParams.get('after')), response, send);
    if (what === 'me') return send({ id: 'bot1', name: 'Harbor bot' });
    if (what === 'admins') return send(this.admins.get(id) ?? []);
    if (request.method === 'GET') return this.#download(pathname, response, send);
    const next =
      (what === 'files' ? this.#nextFile : []).shift() ??
      (what === 'typing' ? undefined : this.#next.shift());
    if (next !== undefined && next.status !== 0)
      return send('<html>', next.status, { 'retry-after': String(next.retryAfterS ?? 0) });
    const { status, value } =
      what === 'files' ? this.#takeFile(request, body) : this.#act(request.method, what, id, body);
    if (next?.status === 0) response.destroy();
    else send(value, status);
  }

  #act(
    method: string | undefined,
    what: string,
    id: string,
    body: Buffer,
  ): { status: number; value: unknown } {
    if (what !== 'messages') return { status: 200, value: {} };
    const at = this.#shown.findIndex((one) => one.id === id);
    if (method === 'DELETE') {
      this.#shown.splice(at, at === -1 ? 0 : 1);
      return { status: at === -1 ? 404 : 200, value: {} };
    }
    const { chat, text, nonce, plain } = messageShape.parse(JSON.parse(body.toString('utf8')));
    if (this.blocked.has(chat)) return { status: 403, value: {} };
    if (readMarks(text).length > MAX_TEXT && text.length > MAX_TEXT) return { status: 413, value: {} };
    const known = this.#shown.find((one) => one.id === id || (nonce !== undefined && one.nonce === nonce));
    if (method === 'PUT' && known === undefined) return { status: 404, value: {} };
    if (known !== undefined) Object.assign(known, { text, plain });
    else this.#shown.push({ id: `m${(this.#ids += 1)}`, chat, text, nonce, plain });
    return { status: 200, value: { id: (known ?? this.#shown.at(-1))?.id } };
  }

  #takeFile({ headers }: IncomingMessage, bytes: Buffer): { status: number; value: unknown } {
    const { chat, name, nonce, caption } = fileShape.parse(
      JSON.parse(decodeURIComponent(String(headers['x-file']))),
    );
    if (this.blocked.has(chat)) return { status: 403, value: {} };
    if (bytes.length > MAX_FILE_BYTES || caption.length > MAX_CAPTION) return { status: 413, value: {} };
    const known = this.#shown.find((one) => one.nonce === nonce);
    const id = known?.id ?? `m${(this.#ids += 1)}`;
    if (known === undefined)
      this.#shown.push({ id, chat, text: caption, nonce, plain: true, file: { name, bytes } });
    return { status: 200, value: { id } };
  }

  async #poll(after: number, response: ServerResponse, send: (value: unknown) => void): Promise<void> {
    this.#confirmed = Math.max(this.#confirmed, after);
    const waiting = (): Update[] => this.#updates.filter(({ seq }) => seq > after);
    if (waiting().length === 0)
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, POLL_MS);
        const wake = (): void => {
          clearTimeout(timer);
          this.#polls.delete(wake);
          resolve();
        };
        this.#polls.add(wake);
        response.once('close', wake);
      });
    if (!response.destroyed) send(waiting());
  }

  #download(path: string, response: ServerResponse, send: (value: unknown, status: number) => void): void {
    const failure = this.downloadFailures.shift();
    const bytes = this.#files.get(path);
    if (typeof failure === 'number' || bytes === undefined)
      return send({}, typeof failure === 'number' ? failure : 404);
    response.writeHead(200, { 'content-length': bytes.length });
    if (failure === undefined) return void response.end(bytes);
    return void response.write(bytes.subarray(0, bytes.length >> 1), () => response.destroy());
  }
}
