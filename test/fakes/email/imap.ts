/**
 * A small IMAP server over real sockets: one account, its folders and what a client may ask of them, as RFC 3501 says with
 * IDLE (2177), UIDPLUS (4315), SPECIAL-USE (6154), LITERAL+ (7888), ID (2971), NAMESPACE (2342) and the codes of RFC 5530.
 * Whatever else is asked is answered with BAD, and noted as unexpected.
 */
import { once } from 'node:events';
import net from 'node:net';
import tls from 'node:tls';
import { Folder, headerOf, isIn, itemOf, type StoredMail } from './folder.ts';
import { type Command, CommandReader, readCommand, type Word } from './imap-words.ts';

export interface ImapOptions {
  user: string;
  password: string;
  /** TLS from the first byte. */
  tls?: { key: string; cert: string } | undefined;
  idle?: boolean;
}

/** What a connection does to the next fetch of a whole mail. */
export type FetchFailure = 'cut' | 'unavailable' | 'limit' | 'gone' | 'malformed';

export class FakeImap {
  readonly folders = [new Folder('INBOX'), new Folder('Sent', '\\Sent')];
  /** Lines of clients, without literals and passwords. */
  readonly transcript: string[] = [];
  readonly unexpected: string[] = [];
  readonly fetchFailures: FetchFailure[] = [];
  readonly #options: ImapOptions;
  readonly #connections = new Set<Connection>();
  readonly #server: net.Server;

  constructor(options: ImapOptions) {
    this.#options = options;
    const serve = (socket: net.Socket): void => {
      const connection = new Connection(socket, this, options);
      this.#connections.add(connection);
      socket.on('close', () => this.#connections.delete(connection));
      socket.on('error', () => socket.destroy());
    };
    this.#server = options.tls === undefined ? net.createServer(serve) : tls.createServer(options.tls, serve);
    this.#server.on('tlsClientError', () => undefined);
  }

  async listen(): Promise<number> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    const address = this.#server.address();
    return typeof address === 'object' ? (address?.port ?? 0) : 0;
  }

  folder(name: string): Folder {
    const folder = this.folders.find((one) => one.name.toUpperCase() === name.toUpperCase());
    if (folder === undefined) throw new Error(`no folder ${name}`);
    return folder;
  }

  /** A mail arrives in the inbox; whoever looks at it is told. */
  deliver(raw: Buffer, date?: Date): StoredMail {
    const mail = this.folder('INBOX').add(raw, ['\\Recent'], date);
    for (const connection of this.#connections) connection.announce();
    return mail;
  }

  /** The folder is built again, as after a restore: old UIDs mean nothing. */
  rebuild(name: string): void {
    const folder = this.folder(name);
    folder.validity += 1;
    folder.next = 1;
    for (const mail of folder.mails) {
      mail.uid = folder.next;
      folder.next += 1;
    }
    this.cut();
  }

  /** Cuts all connections. */
  cut(): void {
    for (const connection of this.#connections) connection.destroy();
  }

  get connections(): number {
    return this.#connections.size;
  }

  async close(): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.cut();
    await closed;
    if (this.unexpected.length > 0)
      throw new Error(`unexpected of the client: ${this.unexpected.join('; ')}`);
  }

  get capabilities(): string {
    const more = this.#options.idle === false ? '' : ' IDLE';
    return `IMAP4rev1 ID NAMESPACE UIDPLUS SPECIAL-USE LITERAL+ UNSELECT AUTH=PLAIN${more}`;
  }
}

/** A refusal of the server: NO or BAD, with its code. */
class Refusal extends Error {
  readonly kind: 'NO' | 'BAD';

  constructor(kind: 'NO' | 'BAD', text: string) {
    super(text);
    this.kind = kind;
  }
}

class Connection {
  readonly #socket: net.Socket;
  readonly #server: FakeImap;
  readonly #options: ImapOptions;
  readonly #reader = new CommandReader();
  #isIn = false;
  #folder: Folder | undefined;
  /** Of mails in the folder, as the client was told. */
  #count: number | undefined;
  #idleTag: string | undefined;
  /** Of an AUTHENTICATE whose credentials come on a line of their own. */
  #loginTag: string | undefined;

  constructor(socket: net.Socket, server: FakeImap, options: ImapOptions) {
    this.#socket = socket;
    this.#server = server;
    this.#options = options;
    this.#write(`* OK [CAPABILITY ${server.capabilities}] ready`);
    socket.on('data', (chunk: Buffer) => {
      for (const parts of this.#reader.push(chunk, () => this.#write('+ go on'))) this.#take(parts);
    });
  }

  /** Tells of new mails: while it idles at once, else with the end of the next command. */
  announce(): void {
    if (this.#idleTag !== undefined) this.#tellCount();
  }

  #tellCount(): void {
    const count = this.#folder?.mails.length;
    if (count !== undefined && count !== this.#count) this.#write(`* ${count} EXISTS`);
    this.#count = count;
  }

  destroy(): void {
    this.#socket.destroy();
  }

  #write(line: string | Buffer): void {
    if (this.#socket.destroyed) return;
    this.#socket.write(line);
    this.#socket.write('\r\n');
  }

  #take(parts: (string | Buffer)[]): void {
    const [first = ''] = parts;
    if (this.#idleTag !== undefined) {
      if (String(first).toUpperCase() !== 'DONE')
        this.#server.unexpected.push(`while idle: ${String(first)}`);
      this.#write(`${this.#idleTag} OK done`);
      this.#idleTag = undefined;
      return;
    }
    if (this.#loginTag !== undefined) {
      const tag = this.#loginTag;
      this.#loginTag = undefined;
      try {
        this.#write(`${tag} OK ${this.#plain(String(first))}`);
      } catch (error) {
        this.#write(`${tag} NO ${error instanceof Error ? error.message : ''}`);
      }
      return;
    }
    let tag = '*';
    try {
      const command = readCommand(parts);
      ({ tag } = command);
      const isSecret = /^(LOGIN|AUTHENTICATE)$/.test(command.name);
      this.#server.transcript.push(
        isSecret ? command.name : `${command.name} ${JSON.stringify(command.words)}`.slice(0, 300),
      );
      const done = this.#run(command);
      this.#tellCount();
      if (done !== undefined) this.#write(`${tag} OK ${done}`);
    } catch (error) {
      const refusal = error instanceof Refusal ? error : new Refusal('BAD', String(error));
      if (refusal.kind === 'BAD')
        this.#server.unexpected.push(`${String(first).slice(0, 80)}: ${refusal.message}`);
      this.#write(`${tag} ${refusal.kind} ${refusal.message}`);
    }
  }

  /** The text of its OK; undefined when it comes later. */
  #run({ tag, name, words }: Command): string | undefined {
    switch (name) {
      case 'CAPABILITY':
        this.#write(`* CAPABILITY ${this.#server.capabilities}`);
        return 'done';
      case 'NOOP':
        return 'done';
      case 'ID':
        this.#write('* ID NIL');
        return 'done';
      case 'LOGOUT':
        this.#write('* BYE');
        this.#write(`${tag} OK bye`);
        this.#socket.end();
        return undefined;
      case 'LOGIN':
        return this.#login(textAt(words, 0), textAt(words, 1));
      case 'AUTHENTICATE':
        if (textAt(words, 0).toUpperCase() !== 'PLAIN') throw new Refusal('NO', 'only PLAIN');
        if (words.length > 1) return this.#plain(textAt(words, 1));
        this.#loginTag = tag;
        this.#write('+ ');
        return undefined;
      default:
        if (!this.#isIn) throw new Refusal('BAD', 'log in first');
        return this.#runInside(tag, name, words);
    }
  }

  /** [RFC 4616] */
  #plain(credentials: string): string {
    const [, user = '', password = ''] = Buffer.from(credentials, 'base64').toString('utf8').split('\0');
    return this.#login(user, password);
  }

  #login(user: string, password: string): string {
    if (user !== this.#options.user || password !== this.#options.password)
      throw new Refusal('NO', '[AUTHENTICATIONFAILED] Invalid credentials');
    this.#isIn = true;
    return `[CAPABILITY ${this.#server.capabilities}] logged in`;
  }

  #runInside(tag: string, name: string, words: Word[]): string | undefined {
    switch (name) {
      case 'NAMESPACE':
        this.#write('* NAMESPACE (("" "/")) NIL NIL');
        return 'done';
      case 'LIST':
      case 'LSUB':
        return this.#list(name);
      case 'SELECT':
      case 'EXAMINE':
        return this.#select(name, textAt(words, 0));
      case 'CLOSE':
      case 'UNSELECT':
        this.#folder = undefined;
        this.#count = undefined;
        return 'done';
      case 'IDLE':
        if (this.#options.idle === false) throw new Refusal('BAD', 'no IDLE');
        this.#idleTag = tag;
        this.#write('+ idling');
        return undefined;
      case 'APPEND':
        return this.#append(words);
      case 'FETCH':
        return this.#fetch(words, false);
      case 'UID':
        return this.#uid(textAt(words, 0).toUpperCase(), words.slice(1));
      default:
        throw new Refusal('BAD', `no command ${name}`);
    }
  }

  #uid(name: string, words: Word[]): string | undefined {
    if (name === 'FETCH') return this.#fetch(words, true);
    if (name === 'SEARCH') return this.#search(words);
    if (name === 'STORE') return this.#store(words);
    throw new Refusal('BAD', `no command UID ${name}`);
  }

  #list(name: string): string {
    for (const folder of this.#server.folders)
      this.#write(
        `* ${name} (\\HasNoChildren${folder.use === '' ? '' : ` ${folder.use}`}) "/" "${folder.name}"`,
      );
    return 'done';
  }

  #select(name: string, folderName: string): string {
    const folder = this.#server.folders.find((one) => one.name.toUpperCase() === folderName.toUpperCase());
    if (folder === undefined) throw new Refusal('NO', '[NONEXISTENT] no such folder');
    this.#folder = folder;
    this.#write('* FLAGS (\\Answered \\Flagged \\Deleted \\Seen \\Draft)');
    this.#write('* OK [PERMANENTFLAGS (\\Answered \\Flagged \\Deleted \\Seen \\Draft \\*)] limited');
    this.#count = undefined;
    this.#tellCount();
    this.#write(`* OK [UIDVALIDITY ${folder.validity}] valid`);
    this.#write(`* OK [UIDNEXT ${folder.next}] next`);
    return `[${name === 'SELECT' ? 'READ-WRITE' : 'READ-ONLY'}] selected`;
  }

  get #selected(): Folder {
    if (this.#folder === undefined) throw new Refusal('BAD', 'no folder is selected');
    return this.#folder;
  }

  #append(words: Word[]): string {
    const folder = this.#server.folders.find((one) => one.name === textAt(words, 0));
    if (folder === undefined) throw new Refusal('NO', '[TRYCREATE] no such folder');
    const flags = words.slice(1, -1).flatMap((word) => (Array.isArray(word) ? word.map(String) : []));
    const { uid } = folder.add(Buffer.from(textAt(words, words.length - 1), 'latin1'), flags);
    return `[APPENDUID ${folder.validity} ${uid}] appended`;
  }

  #search(words: Word[]): string {
    const { mails } = this.#selected;
    const rest = words.map(String);
    let found = mails;
    while (rest.length > 0) {
      const key = (rest.shift() ?? '').toUpperCase();
      if (key === 'UID') {
        const set = rest.shift() ?? '';
        found = found.filter(({ uid }) => isIn(set, uid, mails.at(-1)?.uid ?? 0));
      } else if (key === 'SINCE') {
        const since = new Date(`${rest.shift()} UTC`).getTime();
        found = found.filter(({ date }) => date.getTime() >= since);
      } else if (key === 'HEADER') {
        const [header = '', value = ''] = rest.splice(0, 2);
        found = found.filter(({ raw }) => headerOf(raw, header).some((one) => one.includes(value)));
      } else if (key !== 'ALL') throw new Refusal('BAD', `no search key ${key}`);
    }
    this.#write(`* SEARCH${found.map(({ uid }) => ` ${uid}`).join('')}`);
    return 'done';
  }

  #store(words: Word[]): string {
    const [set, action, flags] = words;
    if (!/^\+FLAGS(\.SILENT)?$/i.test(String(action)) || !Array.isArray(flags))
      throw new Refusal('BAD', 'only +FLAGS');
    const { mails } = this.#selected;
    for (const [at, mail] of mails.entries()) {
      if (!isIn(String(set), mail.uid, mails.at(-1)?.uid ?? 0)) continue;
      for (const flag of flags) mail.flags.add(String(flag));
      if (!/SILENT/i.test(String(action)))
        this.#write(`* ${at + 1} FETCH (UID ${mail.uid} FLAGS (${[...mail.flags].join(' ')}))`);
    }
    return 'done';
  }

  #fetch(words: Word[], byUid: boolean): string | undefined {
    const [set, items] = words;
    const wanted = (Array.isArray(items) ? items : [items]).map((item) => String(item).toUpperCase());
    const { mails } = this.#selected;
    const isWhole = wanted.some((item) => item.startsWith('BODY.PEEK[]'));
    const failure = isWhole ? this.#server.fetchFailures.shift() : undefined;
    if (failure === 'unavailable') throw new Refusal('NO', '[UNAVAILABLE] try again later');
    if (failure === 'limit') throw new Refusal('NO', '[LIMIT] too many requests');
    for (const [at, mail] of mails.entries()) {
      const isWanted = isIn(
        String(set),
        byUid ? mail.uid : at + 1,
        byUid ? (mails.at(-1)?.uid ?? 0) : mails.length,
      );
      if (!isWanted || failure === 'gone') continue;
      const parts = wanted.flatMap((item) => itemOf(item, mail));
      const uid = byUid && !wanted.includes('UID') ? [Buffer.from(`UID ${mail.uid}`)] : [];
      const body = Buffer.concat(
        [...uid, ...parts].flatMap((part, index) => (index === 0 ? [part] : [Buffer.from(' '), part])),
      );
      const line = Buffer.concat([Buffer.from(`* ${at + 1} FETCH (`), body, Buffer.from(')')]);
      if (failure === 'malformed') {
        this.#write(Buffer.from(`* ${at + 1} FETCH (BODY[] {99999999999999999999}`));
        return undefined;
      }
      if (failure === 'cut') {
        this.#socket.write(line.subarray(0, Math.floor(line.length / 2)), () => this.#socket.destroy());
        return undefined;
      }
      this.#write(line);
    }
    return 'done';
  }
}

function textAt(words: readonly Word[], at: number): string {
  const word = words[at];
  if (typeof word !== 'string') throw new Refusal('BAD', 'a text is missing');
  return word;
}
