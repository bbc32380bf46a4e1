/** A Slack workspace over real sockets, controlled by tests: Web API, Socket Mode and file servers, as strict as Slack. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { buttonsOf, checkBlocks, visibleOf } from './blocks.ts';
import { serveFile, takeUpload } from './files.ts';
import { readArgs } from './arguments.ts';
import { Limits } from './limits.ts';
import { shown } from './described.ts';
import { METHODS } from './methods.ts';
import { SocketMode } from './socket-mode.ts';
import { Views } from './views.ts';
import { type FakeChat, type FakeMessage, type FakePerson, Refusal, Workspace } from './workspace.ts';

export const SLACK_TOKEN = 'xoxb-1234567890-fake-bot-token';
export const SLACK_APP_TOKEN = 'xapp-1-A0FAKE-1234567890-fake-app-token';

/** All scopes of the app's manifest in docs/slack.md. */
const SCOPES =
  'app_mentions:read,channels:history,channels:read,chat:write,commands,files:read,files:write,groups:history,groups:read,im:history,mpim:history,mpim:read,reactions:read,reactions:write,users:read';

/** How the next call of a matching method fails: `drop` applies it, then cuts the connection; `late` answers it later. */
export type Failure = { match: RegExp } & (
  | { kind: 'drop' }
  | { kind: 'cut' }
  | { kind: 'status'; status: number }
  | { kind: 'refuse'; code: string }
  | { kind: 'late'; until: Promise<void> }
);

export interface FakeSlackOptions {
  limits?: boolean;
  repeatAfterMs?: number;
  now?: () => number;
}

interface TextRef {
  threadTs?: string;
  files?: { name: string; bytes: Uint8Array; mimetype?: string; subtype?: string }[];
  attachments?: object[];
}

export class FakeSlack {
  readonly workspace = new Workspace();
  readonly limits: Limits;
  readonly views: Views;
  readonly socketMode: SocketMode;
  readonly failures: Failure[] = [];
  /** How the next downloads fail: cut off in the middle, or answered with a status. */
  readonly downloadFailures: ('cut' | number)[] = [];
  /** Methods that were called, in order. */
  readonly calls: string[] = [];
  /** Answers to slash commands by the id of their envelope. */
  readonly answers = new Map<string, Record<string, unknown> | undefined>();
  scopes = SCOPES.split(',');
  root = '';
  #newest: object = {};
  readonly #server = createServer((request, response) => {
    this.#handle(request, response).catch((error: unknown) => {
      response.destroy();
      this.unexpected.push(error);
    });
  });
  /** Errors of the fake itself: checked at the end of a test. */
  readonly unexpected: unknown[] = [];

  private constructor({ limits = false, repeatAfterMs = 3_000, now = Date.now }: FakeSlackOptions) {
    this.limits = new Limits(limits, now);
    this.views = new Views(now);
    this.socketMode = new SocketMode({
      repeatAfterMs,
      answered: (id, payload) => this.#answered(id, payload),
    });
  }

  static async open(options: FakeSlackOptions = {}): Promise<FakeSlack> {
    const slack = new FakeSlack(options);
    slack.#server.on('upgrade', (request, socket, head) => slack.socketMode.upgrade(request, socket, head));
    slack.#server.listen(0, '127.0.0.1');
    await once(slack.#server, 'listening');
    const address = slack.#server.address();
    slack.root = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
    return slack;
  }

  get apiRoot(): string {
    return `${this.root}/api`;
  }

  /** Someone writes in a chat. Throws for what clients keep to themselves: use `commands`. */
  says(
    chat: FakeChat,
    text: string,
    person: FakePerson,
    { threadTs, files = [], attachments }: TextRef = {},
  ): FakeMessage {
    if (text.startsWith('/'))
      throw new Error(`Slack takes "${text}" for a slash command, and sends no message.`);
    const given = files.map(({ name, bytes, ...more }) => this.workspace.file(name, bytes, more));
    const message = this.workspace.add(chat, {
      user: person.id,
      text,
      files: given,
      ...(person.botId !== undefined && { botId: person.botId }),
      ...(given.length > 0 && { subtype: 'file_share' }),
      ...(threadTs !== undefined && { threadTs }),
      ...(attachments !== undefined && { attachments }),
    });
    this.#event({ ...shown(message, this.root), ...this.#placeIn(chat, message) });
    return message;
  }

  /** The bot's own message arrives as an event, as Slack sends it. */
  echoes(chat: FakeChat, text: string): void {
    const { userId, botId } = this.workspace.bot;
    const message = this.workspace.add(chat, { user: userId, botId, text });
    this.#event({ ...shown(message), ...this.#placeIn(chat, message) });
    chat.messages.splice(chat.messages.indexOf(message), 1);
  }

  /** Someone edits what they wrote. */
  edits(chat: FakeChat, message: FakeMessage, text: string): void {
    const before = shown(message);
    Object.assign(message, { text, editedAt: this.workspace.newTs() });
    const change = { subtype: 'message_changed', message: shown(message), previous_message: before };
    this.#event({ type: 'message', ...change, channel: chat.id, ts: this.workspace.newTs() });
  }

  reacts(chat: FakeChat, ts: string, reaction: string, person: FakePerson): void {
    const item = { type: 'message', channel: chat.id, ts };
    this.#event({
      type: 'reaction_added',
      user: person.id,
      reaction,
      item,
      event_ts: this.workspace.newTs(),
    });
  }

  /** The newest event again, as after an acknowledgement that was lost. */
  redelivers(): void {
    this.socketMode.deliver('events_api', this.#newest);
  }

  /** Sends any event of the Events API. */
  event(event: object): void {
    this.#event(event);
  }

  /** Someone uses `/parley`; returns the envelope's id. */
  commands(chat: FakeChat, text: string, person: FakePerson): string {
    return this.socketMode.deliver('slash_commands', {
      command: '/parley',
      text,
      user_id: person.id,
      user_name: person.name,
      channel_id: chat.id,
      team_id: this.workspace.teamId,
      trigger_id: `${this.workspace.newTs()}.trigger`,
      response_url: 'https://hooks.slack.com/commands/fake',
    });
  }

  /** Someone presses the button with this label under a message; returns the envelope's id. Throws if there is none. */
  presses(chat: FakeChat, message: FakeMessage, label: string, person: FakePerson): string {
    const button = buttonsOf(message.blocks).find((one) => one.label === label);
    if (button === undefined) throw new Error(`no button ${label}`);
    const { ts, threadTs } = message;
    const trigger = `${this.workspace.newTs()}.trigger`;
    this.views.triggered(trigger, person.id);
    return this.socketMode.deliver('interactive', {
      type: 'block_actions',
      user: { id: person.id, name: person.name },
      trigger_id: trigger,
      container: {
        type: 'message',
        message_ts: ts,
        channel_id: chat.id,
        ...(threadTs !== undefined && { thread_ts: threadTs }),
      },
      actions: [{ type: 'button', action_id: 'any', value: button.value, action_ts: this.workspace.newTs() }],
    });
  }

  /** The bot's messages in a chat, oldest first. */
  visible(chat: FakeChat): FakeMessage[] {
    return chat.messages.filter(({ user }) => user === this.workspace.bot.userId);
  }

  /** What people see of them. */
  screen(chat: FakeChat): string[] {
    return this.visible(chat).map((message) => textOf(message));
  }

  async close(): Promise<void> {
    this.socketMode.close();
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }

  #placeIn(chat: FakeChat, { threadTs }: FakeMessage): object {
    const parent = chat.messages.find(({ ts }) => ts === threadTs);
    return {
      channel: chat.id,
      channel_type: chat.kind,
      ...(parent !== undefined && { parent_user_id: parent.user }),
    };
  }

  #event(event: object): void {
    this.#newest = {
      type: 'event_callback',
      team_id: this.workspace.teamId,
      event,
      event_id: this.workspace.newId('Ev'),
    };
    this.socketMode.deliver('events_api', this.#newest);
  }

  #answered(id: string, payload: Record<string, unknown> | undefined): void {
    if (payload?.['blocks'] !== undefined) checkBlocks(payload['blocks']);
    this.views.answered(id, payload);
    this.answers.set(id, payload);
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', this.root);
    const body = await buffer(request);
    if (url.pathname.startsWith('/upload/')) return takeUpload(this.workspace, { url, body, response });
    if (url.pathname.startsWith('/files-pri/')) {
      const isAllowed =
        request.headers.authorization === `Bearer ${SLACK_TOKEN}` && this.scopes.includes('files:read');
      serveFile(this.workspace, { url, isAllowed, failure: this.downloadFailures.shift(), response });
      return;
    }
    const method = url.pathname.replace('/api/', '');
    this.calls.push(method);
    const at = this.failures.findIndex(({ match }) => match.test(method));
    const failure = at === -1 ? undefined : this.failures.splice(at, 1)[0];
    if (failure?.kind === 'cut') return void request.socket.destroy();
    if (failure?.kind === 'status') {
      response.writeHead(failure.status, { 'content-type': 'text/html' }).end('<html>error</html>');
      return;
    }
    const answer = this.#answer(request, method, body.toString('utf8'), failure);
    if (failure?.kind === 'late') await failure.until;
    if (failure?.kind === 'drop') return void request.socket.destroy();
    const scopes = { 'x-oauth-scopes': this.scopes.join(',') };
    if (typeof answer === 'number') response.writeHead(429, { 'retry-after': String(answer) }).end('');
    else
      response.writeHead(200, { 'content-type': 'application/json', ...scopes }).end(JSON.stringify(answer));
  }

  /** The JSON of the answer; a number of seconds for "too many". */
  #answer(
    request: IncomingMessage,
    name: string,
    body: string,
    failure: Failure | undefined,
  ): object | number {
    try {
      const method = METHODS[name];
      if (method === undefined) throw new Refusal('unknown_method');
      if (failure?.kind === 'refuse') throw new Refusal(failure.code);
      const token = method.token === 'bot' ? SLACK_TOKEN : SLACK_APP_TOKEN;
      if (request.headers.authorization !== `Bearer ${token}`) throw new Refusal('invalid_auth');
      const args = readArgs(body);
      const channel = typeof args['channel'] === 'string' ? args['channel'] : '';
      const wait = this.limits.refusal(name, method.tier, channel);
      if (wait !== undefined) return wait;
      const needed = method.scopes(this.workspace.chats.get(channel));
      const provided = method.token === 'app' ? ['connections:write'] : this.scopes;
      if (needed.length > 0 && !needed.some((scope) => provided.includes(scope)))
        throw new Refusal('missing_scope', { needed: needed.join(','), provided: provided.join(',') });
      const socketUrl = (): string =>
        `${this.root.replace('http', 'ws')}/link?ticket=${this.socketMode.ticket()}`;
      const { workspace, views, root } = this;
      return { ok: true, ...method.effect({ workspace, views, args, root, socketUrl }) };
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      return { ok: false, error: error.code, ...error.more };
    }
  }
}

/** What people see of a message of the bot. */
export function textOf({ blocks, text }: FakeMessage): string {
  if (blocks !== undefined && blocks.length > 0) return visibleOf(blocks);
  return text.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&');
}
