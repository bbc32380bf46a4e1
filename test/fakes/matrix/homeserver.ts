/** A Matrix homeserver over real sockets, as strict as the specification; and the test's control of its rooms. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { z } from 'zod';
import type { BucketLimit } from './bucket.ts';
import { Limits } from './limits.ts';
import { readHtml } from './html.ts';
import { KeyServer } from './key-server.ts';
import { type FakeEvent, type FakePerson, type FakeRoom, Refusal, relationOf, Rooms } from './rooms.ts';
import { ROUTES } from './routes.ts';
import { syncAnswer } from './syncing.ts';

export const MATRIX_TOKEN = 'syt_cGFybGV5_FakeAccessToken_0a1b2c';

/**
 * How the next call with a matching path fails: `drop` applies it, then cuts the connection; `late` applies it, and
 * answers later.
 */
export type Failure = { match: RegExp } & (
  | { kind: 'drop' }
  | { kind: 'status'; status: number }
  | { kind: 'refuse'; status: number; errcode: string }
  | { kind: 'late'; until: Promise<void> }
);

const Sent = z.object({ url: z.string().optional(), filename: z.string().default(''), body: z.string() });

interface HomeserverOptions {
  /** True: some; default: none. */
  limits?: boolean | BucketLimit;
  now?: () => number;
}

interface TextRef {
  /** The root of a thread. */
  thread?: string | undefined;
  replyTo?: string;
  /** Mentions the bot as clients do. */
  mentions?: boolean;
  ts?: number;
  more?: Record<string, unknown>;
}

export interface ShownMessage {
  id: string;
  text: string;
  thread: string | undefined;
  edits: number;
  content: Record<string, unknown>;
}

export class FakeHomeserver {
  readonly rooms: Rooms;
  readonly keys: KeyServer;
  readonly limits: Limits;
  readonly failures: Failure[] = [];
  readonly downloadFailures: ('cut' | number)[] = [];
  /** Method and path of each call. */
  readonly calls: string[] = [];
  readonly typed: string[] = [];
  /** Everything that the homeserver has read in bodies and addresses. */
  readonly traffic: string[] = [];
  /** Syncs that are held open, and the newest position that a sync has started from. */
  syncing = 0;
  confirmed = 0;
  root = '';
  /** Errors of the fake itself: checked at the end of a test. */
  readonly unexpected: unknown[] = [];
  readonly #transactions = new Map<string, string>();
  #changed = Promise.withResolvers<void>();
  readonly #server = createServer((request, response) => {
    this.#handle(request, response).catch((error: unknown) => {
      response.destroy();
      this.unexpected.push(error);
    });
  });

  private constructor({ limits = false, now = Date.now }: HomeserverOptions) {
    this.limits = new Limits(limits, now);
    this.rooms = new Rooms(now, () => this.wake());
    this.keys = new KeyServer(() => this.rooms.tick());
  }

  static async open(options: HomeserverOptions = {}): Promise<FakeHomeserver> {
    const server = new FakeHomeserver(options);
    server.#server.listen(0, '127.0.0.1');
    await once(server.#server, 'listening');
    const address = server.#server.address();
    server.root = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
    return server;
  }

  /** Someone writes in a room. */
  says(
    room: FakeRoom,
    body: string,
    person: FakePerson,
    { thread, replyTo, mentions, ts, more }: TextRef = {},
  ): FakeEvent {
    const reply = replyTo === undefined ? {} : { 'm.in_reply_to': { event_id: replyTo } };
    const relation = thread === undefined ? reply : { rel_type: 'm.thread', event_id: thread, ...reply };
    const content = {
      msgtype: 'm.text',
      body,
      ...(mentions !== undefined && { 'm.mentions': mentions ? { user_ids: [this.rooms.bot.id] } : {} }),
      ...(Object.keys(relation).length > 0 && { 'm.relates_to': relation }),
      ...more,
    };
    return this.rooms.add(room, {
      type: 'm.room.message',
      sender: person.id,
      content,
      ...(ts !== undefined && { ts }),
    });
  }

  /** Someone sends a file. */
  sends(
    room: FakeRoom,
    name: string,
    bytes: Uint8Array,
    person: FakePerson,
    more: Record<string, unknown> = {},
  ): FakeEvent {
    const id = `sent${this.rooms.media.size + 1}`;
    this.rooms.media.set(id, { bytes: Buffer.from(bytes), mimeType: 'application/octet-stream', name });
    const info = { size: bytes.length, mimetype: 'application/octet-stream' };
    return this.says(room, name, person, {
      more: { msgtype: 'm.file', url: `mxc://fake.test/${id}`, info, ...more },
    });
  }

  /** Someone edits what they wrote. */
  edits(room: FakeRoom, { event_id, sender }: FakeEvent, body: string): FakeEvent {
    const fresh = { msgtype: 'm.text', body };
    const relation = { rel_type: 'm.replace', event_id };
    const content = { ...fresh, body: `* ${body}`, 'm.new_content': fresh, 'm.relates_to': relation };
    return this.rooms.add(room, { type: 'm.room.message', sender, content });
  }

  reacts(room: FakeRoom, about: string, key: string, person: FakePerson): FakeEvent {
    const content = { 'm.relates_to': { rel_type: 'm.annotation', event_id: about, key } };
    return this.rooms.add(room, { type: 'm.reaction', sender: person.id, content });
  }

  /** The bot's messages in a room with their last edits, oldest first. */
  visible(room: FakeRoom): ShownMessage[] {
    const isShown = ({ type, sender, content, redactedBy }: FakeEvent): boolean =>
      type === 'm.room.message' &&
      sender === this.rooms.bot.id &&
      redactedBy === undefined &&
      relationOf(content)['rel_type'] !== 'm.replace';
    return room.events.filter(isShown).map((event) => {
      const edit = this.rooms.editOf(room, event);
      const content: Record<string, unknown> = { ...Object(edit?.content['m.new_content'] ?? event.content) };
      const { rel_type: kind, event_id: root } = relationOf(event.content);
      const edits = room.events.filter(({ content: one }) => {
        const relation = relationOf(one);
        return relation['rel_type'] === 'm.replace' && relation['event_id'] === event.event_id;
      }).length;
      return {
        id: event.event_id,
        text: textOf(content),
        thread: kind === 'm.thread' ? String(root) : undefined,
        edits,
        content,
      };
    });
  }

  /** The files among them. */
  files(room: FakeRoom): { name: string; bytes: Buffer; caption: string }[] {
    return this.visible(room).flatMap(({ content, text }) => {
      const { url, filename, body } = Sent.parse(content);
      const file = this.rooms.media.get(url?.split('/').at(-1) ?? '');
      return file === undefined
        ? []
        : [{ name: filename, bytes: file.bytes, caption: body === filename ? '' : text }];
    });
  }

  /** What people see of them. */
  screen(room: FakeRoom): string[] {
    return this.visible(room).map(({ text }) => text);
  }

  /** Open syncs are answered now: something is new, or the fake closes. */
  wake(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }

  async close(): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.#server.closeAllConnections();
    this.wake();
    await closed;
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', this.root);
    const bytes = await buffer(request);
    this.traffic.push(decodeURIComponent(request.url ?? ''), bytes.toString('latin1'));
    this.calls.push(`${request.method} ${decodeURIComponent(url.pathname)}`);
    const at = this.failures.findIndex(({ match }) => match.test(url.pathname));
    const failure = at === -1 ? undefined : this.failures.splice(at, 1)[0];
    if (failure?.kind === 'status') {
      response.writeHead(failure.status, { 'content-type': 'text/html' }).end('<html>error</html>');
      return;
    }
    try {
      if (failure?.kind === 'refuse') throw new Refusal(failure.status, failure.errcode);
      if (request.headers.authorization !== `Bearer ${MATRIX_TOKEN}`)
        throw new Refusal(401, 'M_UNKNOWN_TOKEN', { soft_logout: false });
      if (url.pathname === '/_matrix/client/v3/sync')
        return await this.#syncs(url.searchParams, request, response);
      if (url.pathname.startsWith('/_matrix/client/v1/media/download/'))
        return this.#serveFile(url.pathname, response);
      const answer = this.#answer(request, url, bytes);
      if (failure?.kind === 'late') await failure.until;
      if (failure?.kind === 'drop') return void request.socket.destroy();
      send(response, 200, answer);
    } catch (error) {
      const refusal =
        error instanceof z.ZodError ? new Refusal(400, 'M_BAD_JSON', { why: error.message }) : error;
      if (!(refusal instanceof Refusal)) throw error;
      if (error instanceof z.ZodError) this.unexpected.push(error);
      send(response, refusal.status, refusal.body);
    }
  }

  #answer(request: IncomingMessage, url: URL, bytes: Buffer): object {
    for (const route of ROUTES) {
      const match = route.method === request.method ? route.path.exec(url.pathname) : null;
      if (match === null) continue;
      this.limits.check(route.limit);
      const contentType = request.headers['content-type'] ?? '';
      return route.answer({
        rooms: this.rooms,
        keys: this.keys,
        parts: match.slice(1).flatMap((part) => (part === undefined ? [] : decodeURIComponent(part))),
        query: url.searchParams,
        body: contentType === 'application/json' ? JSON.parse(bytes.toString('utf8')) : undefined,
        bytes,
        contentType,
        transactions: this.#transactions,
        typing: (roomId) => this.typed.push(roomId),
      });
    }
    throw new Refusal(404, 'M_UNRECOGNIZED');
  }

  async #syncs(query: URLSearchParams, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const since = query.get('since');
    const end = performance.now() + Number(query.get('timeout') ?? 0);
    if (since !== null) this.confirmed = Number(since.slice(1));
    this.syncing += 1;
    const closed = once(response, 'close').catch(() => undefined);
    try {
      for (;;) {
        const changed = this.#changed.promise;
        const { answer, isNew } = syncAnswer(this.rooms, this.keys, query);
        const left = end - performance.now();
        if (isNew || since === null || left <= 0 || request.socket.destroyed || !this.#server.listening) {
          send(response, 200, answer);
          return;
        }
        const over = Promise.withResolvers<void>();
        const timer = setTimeout(() => over.resolve(), left);
        await Promise.race([changed, over.promise, closed]);
        clearTimeout(timer);
      }
    } finally {
      this.syncing -= 1;
    }
  }

  #serveFile(pathname: string, response: ServerResponse): void {
    const failure = this.downloadFailures.shift();
    const file = this.rooms.media.get(pathname.split('/').at(-1) ?? '');
    if (typeof failure === 'number')
      return send(response, failure, failure === 404 ? { errcode: 'M_NOT_FOUND' } : {});
    if (file === undefined) throw new Refusal(404, 'M_NOT_FOUND');
    response.writeHead(200, { 'content-type': file.mimeType, 'content-length': String(file.bytes.length) });
    if (failure !== 'cut') return void response.end(file.bytes);
    response.write(file.bytes.subarray(0, file.bytes.length / 2), () => response.destroy());
  }
}

/** What people see of a message's content. */
function textOf({ formatted_body: html, body }: Record<string, unknown>): string {
  return typeof html === 'string' ? readHtml(html) : String(body);
}

function send(response: ServerResponse, status: number, answer: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
}
