/** What the fake Slack holds: people, channels, direct messages, their messages and files. */

export interface FakePerson {
  id: string;
  name: string;
  /** Another bot. */
  botId?: string;
  /** The language of their app; default: `en-US`. */
  locale?: string;
  role?: 'admin' | 'owner' | 'guest';
  /** Their own workspace, if they come from another. */
  teamId?: string;
  isDeleted?: boolean;
}

export interface FakeFile {
  id: string;
  name: string;
  bytes: Buffer;
  mimetype: string;
  /** Chats in which a message shows it. */
  shownIn: Set<string>;
  subtype?: string;
}

export interface FakeMessage {
  ts: string;
  user: string;
  botId?: string;
  subtype?: string;
  text: string;
  blocks?: unknown[];
  /** Shared messages, and the cards of apps. */
  attachments?: object[];
  threadTs?: string;
  metadata?: { event_type: string; event_payload: Record<string, unknown> };
  files: FakeFile[];
  editedAt?: string;
  /** Reactions of the bot, by name. */
  reactions: string[];
  /** Number of times its text was changed. */
  edits: number;
}

export interface FakeChat {
  id: string;
  kind: 'im' | 'mpim' | 'channel';
  /** Of a channel: what people call it, without the #. */
  name?: string;
  /** Where people see that the app is working, by thread. */
  statuses: Map<string, string>;
  /** The person of a direct message. */
  with?: string;
  hasBot: boolean;
  isArchived: boolean;
  /** Who created it; absent for direct messages. */
  creator?: string;
  /** A private channel. */
  isPrivate?: boolean;
  messages: FakeMessage[];
}

/** A refusal in Slack's form: HTTP status 200 and `ok: false`. */
export class Refusal extends Error {
  readonly code: string;
  readonly more: object;

  constructor(code: string, more: object = {}) {
    super(code);
    this.code = code;
    this.more = more;
  }
}

export class Workspace {
  readonly teamId = 'T0FAKE00001';
  readonly bot = { userId: 'U0BOT000001', botId: 'B0BOT000001', name: 'parley' };
  readonly people = new Map<string, FakePerson>();
  readonly chats = new Map<string, FakeChat>();
  readonly files = new Map<string, FakeFile>();
  /** Texts that only one person sees. */
  readonly ephemerals: { chat: string; user: string; text: string; threadTs?: string }[] = [];
  #ids = 0;
  #lastTs = 0;

  newId(prefix: string): string {
    return `${prefix}0${(++this.#ids).toString(36).toUpperCase().padStart(9, '0')}`;
  }

  /** The time of the next message: Slack never uses the same one twice. */
  newTs(): string {
    this.#lastTs = Math.max(this.#lastTs + 1, Date.now() * 1_000);
    return `${Math.floor(this.#lastTs / 1e6)}.${String(this.#lastTs % 1e6).padStart(6, '0')}`;
  }

  person(name: string, isBot = false): FakePerson {
    const person = { id: this.newId('U'), name, ...(isBot && { botId: this.newId('B') }) };
    this.people.set(person.id, person);
    return person;
  }

  /** A person's direct messages with the bot. */
  dm(name: string): { chat: FakeChat; person: FakePerson } {
    const person = this.person(name);
    return { chat: this.#add({ id: this.newId('D'), kind: 'im', with: person.id }), person };
  }

  /** A direct message of several people and the bot. */
  group(): FakeChat {
    return this.#add({ id: this.newId('G'), kind: 'mpim' });
  }

  channel(): FakeChat {
    return this.#add({ id: this.newId('C'), kind: 'channel' });
  }

  chat(id: string): FakeChat {
    const chat = this.chats.get(id);
    if (chat === undefined) throw new Refusal('channel_not_found');
    return chat;
  }

  /** A chat in which the bot may read and write. */
  open(id: unknown): FakeChat {
    const chat = this.chat(String(id));
    if (!chat.hasBot) throw new Refusal('not_in_channel');
    if (chat.isArchived) throw new Refusal('is_archived');
    return chat;
  }

  add(chat: FakeChat, said: Partial<FakeMessage> & Pick<FakeMessage, 'user' | 'text'>): FakeMessage {
    const message: FakeMessage = { ts: this.newTs(), files: [], reactions: [], edits: 0, ...said };
    if (message.threadTs !== undefined && !chat.messages.some(({ ts }) => ts === message.threadTs))
      throw new Refusal('thread_not_found');
    chat.messages.push(message);
    return message;
  }

  file(name: string, bytes: Uint8Array, more: Partial<FakeFile> = {}): FakeFile {
    const file: FakeFile = {
      id: this.newId('F'),
      name,
      bytes: Buffer.from(bytes),
      mimetype: 'application/octet-stream',
      shownIn: new Set(),
      ...more,
    };
    this.files.set(file.id, file);
    return file;
  }

  #add(chat: Pick<FakeChat, 'id' | 'kind' | 'with'>): FakeChat {
    const whole: FakeChat = { ...chat, hasBot: true, isArchived: false, messages: [], statuses: new Map() };
    this.chats.set(chat.id, whole);
    return whole;
  }
}
