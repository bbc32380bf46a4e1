/**
 * Meta's Cloud API over a real socket, controlled by tests: it accepts what its reference says and nothing else, signs what
 * it posts, repeats what is not acknowledged, and reports what it was given. [developers.facebook.com, "Cloud API":
 * "Webhooks", "Error codes", "Media", "Customer service windows"; payloads as in github.com/facebook/openapi]
 */
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { readMultipart } from '../multipart.ts';
import { invalid, json, page, refuse, unescaped } from './answers.ts';
import { choicesOf, textOf } from './shown.ts';
import { kindOfUpload, Outgoing, ReadReceipt, UPLOADS } from './requests.ts';

export const WHATSAPP_TOKEN = 'EAAfakeTokenOfASystemUser0123456789abcdefghijklmnop';
export const WHATSAPP_SECRET = '0123456789abcdef0123456789abcdef';
export const VERIFY_TOKEN = 'a-word-of-my-own';
export const PHONE_ID = '106540352242922';
const BOT_NUMBER = '15550783881';
const VERSION = 'v25.0';
/** "URLs of media are only valid for 5 minutes". */
const MEDIA_URL_MS = 300_000;
/** Posts that fail are repeated; the first pauses, in milliseconds. */
const REPEAT_MS = [20, 100, 500];

/** How the next call whose path and body match fails: `drop` applies it, then cuts the connection; `late` answers it later. */
export type Failure = { match: RegExp } & (
  | { kind: 'drop' }
  | { kind: 'late'; until: Promise<void> }
  | { kind: 'status'; status: number }
  | { kind: 'refuse'; status: number; code: number; details?: string; headers?: Record<string, string> }
);

interface StoredFile {
  name: string;
  type: string;
  bytes: Buffer;
}

export interface ShownMessage {
  id: string;
  chatId: string;
  out: Outgoing;
  file?: StoredFile | undefined;
}

export class FakeWhatsApp {
  readonly messages: ShownMessage[] = [];
  readonly failures: Failure[] = [];
  readonly downloadFailures: ('cut' | number)[] = [];
  /** Ids of messages that were marked as read, and whether "typing…" was shown. */
  readonly reads: { id: string; typing: boolean }[] = [];
  /** What came with each message, so that reports can name it. */
  readonly nonces: string[] = [];
  readonly blocked = new Set<string>();
  /** People who wrote last more than 24 hours ago: `sync` refuses at once, `later` reports a failure. */
  readonly closedWindows = new Map<string, 'sync' | 'later'>();
  readonly templates = new Set<string>();
  /** Errors of the fake itself: checked at the end of a test. */
  readonly unexpected: unknown[] = [];
  /** Posts that are not acknowledged yet. */
  waiting = 0;
  /** Status codes of posts, in order. */
  readonly answers: number[] = [];
  /** Whether what was sent is reported. */
  reports = true;
  root = '';
  /** Where files are said to be, if not here. */
  mediaRoot: string | undefined;
  webhook = '';
  now: () => number = Date.now;
  readonly #files = new Map<string, StoredFile>();
  readonly #addresses = new Map<string, { id: string; until: number }>();
  #posts: Promise<void> = Promise.resolve();
  #newest: string | undefined;
  #ids = 0;
  #isClosed = false;
  readonly #server = createServer((request, response) => {
    this.#handle(request, response).catch((error: unknown) => {
      response.destroy();
      this.unexpected.push(error);
    });
  });

  static async open(): Promise<FakeWhatsApp> {
    const fake = new FakeWhatsApp();
    fake.#server.listen(0, '127.0.0.1');
    await once(fake.#server, 'listening');
    const address = fake.#server.address();
    fake.root = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
    return fake;
  }

  /** The settings of a plug-in in front of this. */
  get settings(): Record<string, string> {
    return {
      WHATSAPP_TOKEN,
      WHATSAPP_PHONE_ID: PHONE_ID,
      WHATSAPP_APP_SECRET: WHATSAPP_SECRET,
      WHATSAPP_VERIFY_TOKEN: VERIFY_TOKEN,
      WHATSAPP_API_ROOT: `${this.root}/${VERSION}`,
    };
  }

  /** A person writes. `content` is the part of a message that its type names. Gives the id of the message. */
  says(from: string, text: string, more: Record<string, unknown> = {}): string {
    return this.posts(from, { type: 'text', text: { body: text }, ...more });
  }

  posts(from: string, message: Record<string, unknown>): string {
    const id = this.#newId();
    const isPhone = /^\d+$/.test(from);
    const profile = { name: `Person ${from.slice(-2)}` };
    this.closedWindows.delete(from);
    this.post('messages', {
      contacts: [{ profile, ...(isPhone ? { wa_id: from } : { user_id: from }) }],
      messages: [
        {
          ...(isPhone ? { from } : { from_user_id: from }),
          id,
          timestamp: String(Math.floor(this.now() / 1_000)),
          ...message,
        },
      ],
    });
    return id;
  }

  /** A person sends a file. */
  sends(
    from: string,
    type: string,
    name: string,
    bytes: Uint8Array,
    more: Record<string, unknown> = {},
  ): string {
    const id = this.#store({ name, type: 'application/octet-stream', bytes: Buffer.from(bytes) });
    const filename = type === 'document' ? { filename: name } : {};
    return this.posts(from, {
      type,
      [type]: { id, mime_type: 'application/octet-stream', ...filename, ...more },
    });
  }

  /** A person presses a button, or picks a row, under a message. */
  presses(from: string, under: ShownMessage, title: string): string {
    const choice = choicesOf(under.out).find((one) => one.title === title);
    if (choice === undefined) throw new Error(`there is no button ${title}`);
    const kind = under.out.type === 'interactive' ? `${under.out.interactive.type}_reply` : '';
    return this.posts(from, {
      type: 'interactive',
      context: { from: BOT_NUMBER, id: under.id },
      interactive: { type: kind, [kind]: choice },
    });
  }

  /** Keeps a file as one that came with a message; gives its id. */
  keeps(name: string, bytes: Buffer): string {
    return this.#store({ name, type: 'text/plain', bytes });
  }

  /** Posts a change, signed; it is repeated until it is acknowledged. */
  post(field: string, value: Record<string, unknown>): void {
    const metadata = { display_phone_number: BOT_NUMBER, phone_number_id: PHONE_ID };
    const change = { field, value: { messaging_product: 'whatsapp', metadata, ...value } };
    const entry = [{ id: '102290129340398', changes: [change] }];
    const body = JSON.stringify({ object: 'whatsapp_business_account', entry });
    if (field === 'messages' && 'messages' in value) this.#newest = body;
    this.#queue(body);
  }

  /** The newest message of a person once more, as after a lost acknowledgement. */
  postAgain(): void {
    if (this.#newest === undefined) throw new Error('nothing was posted yet');
    this.#queue(this.#newest);
  }

  /** What a person sees of the bot, oldest first. */
  screen(chatId: string): string[] {
    return this.visible(chatId).map(({ out }) => textOf(out));
  }

  visible(chatId: string): ShownMessage[] {
    return this.messages.filter((message) => message.chatId === chatId);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
    if (this.unexpected.length > 0) throw this.unexpected[0];
  }

  #queue(body: string): void {
    this.waiting += 1;
    this.#posts = this.#posts.then(async () => await this.#deliver(body));
  }

  async #deliver(body: string): Promise<void> {
    const signature = `sha256=${createHmac('sha256', WHATSAPP_SECRET).update(body).digest('hex')}`;
    const headers = { 'content-type': 'application/json', 'x-hub-signature-256': signature };
    for (let at = 0; !this.#isClosed; at += 1) {
      const status = await fetch(this.webhook, { method: 'POST', headers, body }).then(
        async (answer) => {
          await answer.arrayBuffer();
          return answer.status;
        },
        () => 0,
      );
      this.answers.push(status);
      if (status >= 200 && status < 300) break;
      await new Promise((resolve) => setTimeout(resolve, REPEAT_MS[Math.min(at, REPEAT_MS.length - 1)]));
    }
    this.waiting -= 1;
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', this.root);
    const body = await buffer(request);
    if (url.pathname.startsWith('/media/')) return this.#serveMedia(request, url, response);
    const failure = this.#takeFailure(`${url.pathname} ${body.toString('latin1')}`);
    if (failure?.kind === 'status') return page(response, failure.status);
    if (request.headers.authorization !== `Bearer ${WHATSAPP_TOKEN}`)
      return refuse(response, 401, 190, 'Invalid OAuth access token.');
    if (failure?.kind === 'refuse')
      return refuse(response, failure.status, failure.code, failure.details, failure.headers);
    const [, version, id = '', action] = url.pathname.split('/');
    if (version !== VERSION) return refuse(response, 400, 2635, 'This version of the API does not exist.');
    const answer = this.#run(request, url, id, action, body);
    if (failure?.kind === 'drop') return void request.socket.destroy();
    if (failure?.kind === 'late') await failure.until;
    if ('code' in answer) return refuse(response, 400, answer.code, answer.details);
    json(response, 200, answer);
  }

  #takeFailure(request: string): Failure | undefined {
    const at = this.failures.findIndex(({ match }) => match.test(request));
    return at === -1 ? undefined : this.failures.splice(at, 1)[0];
  }

  #run(
    { method, headers }: IncomingMessage,
    url: URL,
    id: string,
    action: string | undefined,
    body: Buffer,
  ): object | { code: number; details: string } {
    if (method === 'GET' && action === undefined && id === PHONE_ID)
      return {
        id,
        display_phone_number: '+1 555-078-3881',
        verified_name: 'Parley',
        quality_rating: 'GREEN',
      };
    if (method === 'GET' && action === undefined) return this.#describe(id, url);
    if (method !== 'POST' || id !== PHONE_ID) return invalid(`Unsupported ${method} request.`);
    if (action === 'media') return this.#upload(String(headers['content-type']), body);
    if (action !== 'messages' || headers['content-type'] !== 'application/json')
      return invalid('Unsupported post request.');
    const value: unknown = JSON.parse(body.toString('utf8'));
    const { data: receipt } = ReadReceipt.safeParse(value);
    if (receipt !== undefined) {
      this.reads.push({ id: receipt.message_id, typing: receipt.typing_indicator !== undefined });
      return { success: true };
    }
    const { data: out, error } = Outgoing.safeParse(value);
    return out === undefined ? invalid(String(error)) : this.#send(out);
  }

  #send(out: Outgoing): object | { code: number; details: string } {
    const chatId = out.to ?? out.recipient ?? '';
    if (out.biz_opaque_callback_data !== undefined) this.nonces.push(out.biz_opaque_callback_data);
    const file = this.#fileOf(out);
    if (file !== undefined && 'code' in file) return file;
    if (out.context !== undefined && !this.#isOwn(out.context.message_id))
      return invalid('context.message_id is not a message of this conversation');
    if (this.blocked.has(chatId)) return { code: 131026, details: 'Message undeliverable.' };
    if (out.type === 'template' && !this.templates.has(out.template.name))
      return { code: 132001, details: 'Template name does not exist in the translation' };
    const window = out.type === 'template' ? undefined : this.closedWindows.get(chatId);
    if (window === 'sync') return { code: 131047, details: 'Re-engagement message' };
    const id = this.#newId();
    if (window === undefined) this.messages.push({ id, chatId, out, file });
    this.#report(out, id, chatId, window === 'later');
    const contact = out.to === undefined ? { user_id: chatId } : { wa_id: chatId };
    return {
      messaging_product: 'whatsapp',
      contacts: [{ input: chatId, ...contact }],
      messages: [{ id }],
    };
  }

  #report(out: Outgoing, id: string, chatId: string, isFailed: boolean): void {
    if (!this.reports || this.webhook === '') return;
    const title = 'Re-engagement message';
    const errors = { errors: [{ code: 131047, title, message: title, error_data: { details: title } }] };
    for (const status of isFailed ? ['failed'] : ['sent', 'delivered', 'read'])
      this.post('messages', {
        statuses: [
          {
            id,
            status,
            timestamp: String(Math.floor(this.now() / 1_000)),
            recipient_id: chatId,
            ...(out.biz_opaque_callback_data !== undefined && {
              biz_opaque_callback_data: out.biz_opaque_callback_data,
            }),
            ...(status === 'failed' && errors),
          },
        ],
      });
  }

  #fileOf(out: Outgoing): StoredFile | { code: number; details: string } | undefined {
    if (!('image' in out || 'video' in out || 'audio' in out || 'document' in out)) return undefined;
    const media =
      'image' in out ? out.image : 'video' in out ? out.video : 'audio' in out ? out.audio : out.document;
    const file = this.#files.get(media.id);
    if (file === undefined) return { code: 131053, details: 'Media upload error' };
    if (out.type !== 'document' && kindOfUpload(file.type) !== out.type)
      return { code: 131053, details: `${file.type} is no ${out.type}` };
    const name = 'document' in out ? (out.document.filename ?? '') : file.name;
    return { ...file, name };
  }

  /** Replies may refer to any message of the conversation; people's are numbered like the bot's. */
  #isOwn(id: string): boolean {
    return /^wamid\.[A-Za-z0-9=]+$/.test(id);
  }

  #upload(contentType: string, body: Buffer): object | { code: number; details: string } {
    const parts = readMultipart(contentType, body);
    const textIn = (name: string) => parts.find((part) => part.name === name)?.bytes.toString('utf8');
    const file = parts.find(({ name }) => name === 'file');
    if (textIn('messaging_product') !== 'whatsapp' || file?.filename === undefined)
      return invalid('(#100) The parameter file is required.');
    const type = file.contentType?.split(';', 1)[0] ?? 'application/octet-stream';
    const most = UPLOADS.find(([pattern]) => pattern.test(type))?.[1];
    if (most === undefined)
      return invalid(`(#100) Param file must be a file with one of the following types: … Received ${type}.`);
    if (file.bytes.length > most) return { code: 131053, details: 'The file is too large.' };
    return { id: this.#store({ name: unescaped(file.filename), type, bytes: file.bytes }) };
  }

  #store(file: StoredFile): string {
    this.#ids += 1;
    const id = `44907093273${String(this.#ids).padStart(5, '0')}`;
    this.#files.set(id, file);
    return id;
  }

  #describe(id: string, url: URL): object | { code: number; details: string } {
    const file = this.#files.get(id);
    const owner = url.searchParams.get('phone_number_id');
    if (file === undefined || (owner !== null && owner !== PHONE_ID))
      return invalid(`Unsupported get request. Object with ID '${id}' does not exist`);
    this.#ids += 1;
    const key = String(this.#ids);
    this.#addresses.set(key, { id, until: this.now() + MEDIA_URL_MS });
    return {
      id,
      messaging_product: 'whatsapp',
      mime_type: file.type,
      file_size: String(file.bytes.length),
      sha256: '',
      url: `${this.mediaRoot ?? this.root}/media/${key}`,
    };
  }

  #serveMedia(request: IncomingMessage, url: URL, response: ServerResponse): void {
    const failure = this.downloadFailures.shift();
    if (typeof failure === 'number') return page(response, failure);
    const address = this.#addresses.get(url.pathname.slice('/media/'.length));
    const file = address === undefined ? undefined : this.#files.get(address.id);
    if (file === undefined || (address?.until ?? 0) < this.now()) return page(response, 404);
    if (request.headers.authorization !== `Bearer ${WHATSAPP_TOKEN}`) return page(response, 401);
    response.writeHead(200, { 'content-type': file.type, 'content-length': file.bytes.length });
    if (failure !== 'cut') return void response.end(file.bytes);
    response.write(file.bytes.subarray(0, Math.floor(file.bytes.length / 2)), () => response.destroy());
  }

  #newId(): string {
    this.#ids += 1;
    return `wamid.${Buffer.from(`fake message ${this.#ids}`).toString('base64')}`;
  }
}
