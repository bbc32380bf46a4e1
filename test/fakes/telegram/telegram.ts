/** A Bot API server over real HTTP, as strict as Telegram's own, which the test controls: people write, chats are read. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { FakePresses } from './buttons.ts';
import { FakeBusiness } from './business.ts';
import { type FakeChat, FakeChats, type FakeMessage } from './chats.ts';
import { FakeIntroduction } from './commands.ts';
import { FakeFiles } from './files.ts';
import { botMessage, personMessage, type Saying } from './json.ts';
import { FakeDrafts } from './drafts.ts';
import { FakeElsewhere } from './elsewhere.ts';
import { type Failure, Failures, giveNoAnswer, isOutage, type Outage } from './failures.ts';
import { FloodControl, type FloodLimits } from './limits.ts';
import { answeredBy, FakeHidden } from './hidden.ts';
import { answer, readParams } from './http.ts';
import { badRequest, checkToken, type Params, Refusal } from './refusal.ts';
import { setReaction } from './reactions.ts';
import { FakeTopics } from './topics.ts';
import { UpdateQueue } from './updates.ts';
import { UPLOADS } from './uploads.ts';
import { FakeWebhook } from './webhook.ts';

export const FAKE_TOKEN = '987654321:fake_token_of_the_test_bot_1234567890';
export const FAKE_BOT = { id: 987_654_321, username: 'parley_test_bot' };
const ABOUT_BOT = {
  ...FAKE_BOT,
  is_bot: true,
  first_name: 'Parley',
  can_join_groups: true,
};

/** The server, and the test's control of it. */
export class FakeTelegram {
  readonly chats = new FakeChats();
  readonly updates = new UpdateQueue();
  readonly drafts = new FakeDrafts(this.chats);
  readonly webhook = new FakeWebhook(this.updates);
  readonly files = new FakeFiles();
  readonly flood: FloodControl;
  readonly pressed = new FakePresses();
  /** Calls by method. */
  readonly calls = new Map<string, number>();
  /** Parameters of the last call of each method. */
  readonly last = new Map<string, Params>();
  readonly introduction = new FakeIntroduction(this.chats);
  readonly topics = new FakeTopics(this.chats);
  readonly hidden = new FakeHidden(this.chats);
  readonly elsewhere = new FakeElsewhere(this.updates);
  readonly business = new FakeBusiness(this.updates, FAKE_BOT);
  /** The server supports rich messages (Bot API 10.1). */
  knowsRich = false;
  /** As `/setprivacy` of @BotFather left it. */
  privacyOff = false;
  /** The maximum number of connections that were open at once. */
  peakConnections = 0;
  /** False: every call is 401, as after the token was revoked. */
  tokenValid = true;
  /** While it is set, no call is applied. */
  outage: Outage | undefined;
  /** Calls that wait for an answer they will not get. */
  silenced = 0;
  readonly #server = createServer((request, response) => void this.#serve(request, response));
  readonly #failures = new Failures();

  constructor(limits?: FloodLimits) {
    this.flood = new FloodControl(limits);
    const open = new Set<Socket>();
    this.#server.on('connection', (socket: Socket) => {
      this.peakConnections = Math.max(this.peakConnections, open.add(socket).size);
      socket.on('close', () => open.delete(socket));
    });
  }

  static async start(options: { limits?: FloodLimits; port?: number } = {}): Promise<FakeTelegram> {
    const fake = new FakeTelegram(options.limits);
    await new Promise<void>((resolve) => {
      fake.#server.listen(options.port ?? 0, '127.0.0.1', resolve);
    });
    return fake;
  }

  get port(): number {
    const address: AddressInfo | string | null = this.#server.address();
    return typeof address === 'object' && address !== null ? address.port : 0;
  }

  /** For `apiRoot`. */
  get root(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** A person writes; returns the update's id. `from` is a person's id. */
  says(chatId: string, text: string, from: string, more: Saying = {}): number {
    const chat = this.chats.open(chatId);
    const { threadId, replyTo } = more;
    const place = {
      from,
      ...(threadId !== undefined && { threadId }),
      ...(replyTo !== undefined && { replyTo }),
    };
    const message = this.chats.post(chat, text, place);
    return this.updates.add({ message: personMessage(chat, message, from, more) });
  }

  /** A person sends a file, a sticker, a place, …: any fields in place of a text. */
  sends(chatId: string, fields: Params, from: string, more: Saying = {}): number {
    return this.says(chatId, '', from, { ...more, fields: { text: undefined, ...fields, ...more.fields } });
  }

  /** A person sends an album: each part is a separate update. Telegram accepts 2 to 10 parts. */
  sendsAlbum(chatId: string, parts: readonly Params[], from: string, id = String(this.port)): void {
    if (parts.length < 2 || parts.length > 10) throw new Error('an album has 2 to 10 parts');
    for (const part of parts) this.sends(chatId, { media_group_id: id, ...part }, from);
  }

  /** Any update at all. */
  update(body: Params): number {
    return this.updates.add(body);
  }

  /** A person presses the newest button with that label; returns the press's id. Throws if there is none. */
  press(chatId: string, label: string, from: string): string {
    const under = this.messages(chatId).findLast(({ buttons }) => buttons.some(({ text }) => text === label));
    const button = under?.buttons.find(({ text }) => text === label);
    if (under === undefined || button === undefined) throw new Error(`no button "${label}" in ${chatId}`);
    return this.presses(chatId, from, button.data, under);
  }

  /** A press with any data, of a button under any message. */
  presses(chatId: string, from: string, data: string, under: Pick<FakeMessage, 'id'> = { id: 1 }): string {
    const id = this.pressed.open();
    const { type, messages } = this.chats.open(chatId);
    const { fromBot, threadId } = messages.get(under.id) ?? {};
    const author = fromBot === true ? { from: { ...FAKE_BOT, is_bot: true, first_name: 'Parley' } } : {};
    const topic = threadId === undefined ? {} : { message_thread_id: threadId, is_topic_message: true };
    const message = {
      message_id: under.id,
      date: 1,
      chat: { id: Number(chatId), type },
      ...author,
      ...topic,
    };
    const person = { id: Number(from), is_bot: false, first_name: `Person ${from}` };
    this.updates.add({ callback_query: { id, from: person, message, chat_instance: '1', data } });
    return id;
  }

  /** The person presses the button of the draft. Throws if none with a button is shown. */
  stopsDraft(chatId: string): void {
    const draft = this.drafts.now(chatId);
    if (draft?.canStop !== true) throw new Error(`no draft with a button in ${chatId}`);
    const thread = draft.threadId === undefined ? {} : { message_thread_id: draft.threadId };
    const chat = { id: Number(chatId), type: 'private', first_name: `Person ${chatId}` };
    this.updates.add({ stopped_message_generation: { chat, ...thread, draft_id: draft.draftId } });
  }

  /** The bot's messages visible in a chat, oldest first: their texts, a file as `[photo a.png]` before its caption. */
  screen(chatId: string): string[] {
    return this.messages(chatId).map(({ file, text }) =>
      file === undefined ? text : `[${file.as} ${file.name}] ${text}`.trimEnd(),
    );
  }

  /** The bot's messages visible in a chat, oldest first. */
  messages(chatId: string): FakeMessage[] {
    return [...(this.chats.peek(chatId)?.messages.values() ?? [])].filter((message) => message.fromBot);
  }

  /** The bot may no longer write in the chat; `why` follows "Forbidden: ". */
  closeChat(chatId: string, why = 'bot was blocked by the user'): void {
    this.chats.open(chatId).closed = why;
  }

  /** The bot may write there again. */
  openChat(chatId: string): void {
    delete this.chats.open(chatId).closed;
  }

  /** The next `times` calls that change a chat are refused with a wait. */
  rateLimit(retryAfterS: number, times = 1): void {
    for (let i = 0; i < times; i += 1) this.flood.force(retryAfterS * 1_000);
  }

  /** Makes the next matching calls fail. */
  failure(failure: Failure): void {
    this.#failures.add(failure);
  }

  /** The next `times` answers are lost after their calls were applied. */
  drop(times = 1): void {
    this.failure({ kind: 'drop', times });
  }

  count(method: string): number {
    return this.calls.get(method) ?? 0;
  }

  /** Stops listening and cuts every connection. Throws if a call came before its wait was over. */
  async close(): Promise<void> {
    this.updates.end();
    this.webhook.close();
    this.#server.closeAllConnections();
    await new Promise((resolve) => {
      this.#server.close(resolve);
    });
    if (this.flood.violations.length > 0) throw new Error(`Impatient: ${this.flood.violations.join('; ')}`);
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [, fileToken, path = ''] = /^\/file\/bot([^/]*)\/(.+)$/.exec(request.url ?? '') ?? [];
    if (fileToken !== undefined) {
      this.files.serve(fileToken === FAKE_TOKEN && this.tokenValid ? path : '', response);
      return;
    }
    const [, token = '', name = ''] = /^\/bot([^/]*)\/(\w+)/.exec(request.url ?? '') ?? [];
    const method = name.toLowerCase() === 'getupdates' ? 'getUpdates' : name;
    this.calls.set(method, this.count(method) + 1);
    try {
      const params = await readParams(request);
      this.last.set(method, params);
      const failure: Failure | undefined =
        this.outage === undefined ? this.#failures.next(method) : { kind: this.outage };
      if (failure !== undefined && isOutage(failure.kind)) {
        if (failure.kind === 'silence') {
          this.silenced += 1;
          response.on('close', () => (this.silenced -= 1));
        }
        giveNoAnswer(failure.kind, failure.status, response);
        return;
      }
      this.flood.assertPatient(method, method);
      if (failure?.status === 429) throw this.flood.pause(method, failure.ms ?? 1_000);
      if (failure?.kind === 'status') {
        throw new Refusal(failure.status ?? 500, failure.description ?? 'Internal Server Error: restart');
      }
      checkToken(token, this.tokenValid ? FAKE_TOKEN : undefined);
      const result = await this.#call(method, params, response);
      if (failure?.kind === 'delay') await new Promise((next) => setTimeout(next, failure.ms));
      if (failure?.kind === 'drop') request.socket.destroy();
      else answer(response, 200, { ok: true, result });
    } catch (error) {
      if (request.socket.destroyed) return;
      if (!(error instanceof Refusal)) throw error;
      const { status, message: description, parameters } = error;
      if (parameters?.['retry_after']) response.setHeader('Retry-After', parameters['retry_after']);
      answer(response, status, { ok: false, error_code: status, description, parameters });
    }
  }

  async #call(method: string, params: Params, response: ServerResponse): Promise<unknown> {
    const inAccount = this.business.call(method, params);
    if (inAccount !== undefined) return inAccount;
    const upload = UPLOADS.get(method);
    if (upload !== undefined) {
      this.#admit(method, params);
      return botMessage(this.chats.sendFile(upload, params), FAKE_BOT);
    }
    const said = answeredBy([this.introduction, this.topics, this.hidden, this.elsewhere], method, params);
    if (said !== undefined) return said;
    if (method.startsWith('sendRich') && !this.knowsRich)
      throw new Refusal(404, 'Not Found: method not found');
    switch (method) {
      case 'getMe':
        return {
          ...ABOUT_BOT,
          ...this.topics.ofBot(),
          can_read_all_group_messages: this.privacyOff,
          can_connect_to_business: this.business.isOffered,
        };
      case 'getWebhookInfo':
        return this.webhook.info();
      case 'getUpdates': {
        const gone = new AbortController();
        response.on('close', () => gone.abort());
        return await this.updates.poll(params, gone.signal);
      }
      case 'sendMessage':
      case 'sendRichMessage':
        this.#admit(method, params);
        return botMessage(this.chats.send(params), FAKE_BOT);
      case 'editMessageText':
        if (params['rich_message'] !== undefined && !this.knowsRich)
          throw badRequest('message text is empty');
        this.#admit(method, params);
        return botMessage(this.chats.edit(params), FAKE_BOT);
      case 'deleteMessage':
        return this.chats.remove(params);
      case 'sendMessageDraft':
      case 'sendRichMessageDraft':
        // Drafts have their own limit, which is not published.
        this.flood.admit(method, `draft ${this.chats.find(params['chat_id']).id}`, false);
        return this.drafts.show(params);
      case 'setMessageReaction':
        return setReaction(this.chats, params);
      case 'sendChatAction':
        return this.chats.act(params);
      case 'answerCallbackQuery':
        return this.pressed.answer(params);
      case 'getFile':
        return this.files.describe(params);
      case 'setWebhook':
        return this.webhook.set(params);
      case 'deleteWebhook':
        return this.webhook.remove(params);
      default:
        throw new Refusal(404, 'Not Found: method not found');
    }
  }

  #admit(method: string, params: Params): void {
    const chat: FakeChat = this.chats.find(params['chat_id']);
    this.flood.admit(method, chat.id, chat.type !== 'private');
  }
}
