/** The mailbox over IMAP: new mails in their order, one at a time, each acknowledged by the place up to which all are read. */
import { setTimeout as pause } from 'node:timers/promises';
import { type FetchMessageObject, ImapFlow } from 'imapflow';
import * as z from 'zod';
import type { PluginChannelHost } from '../../src/protocol/plugin.ts';
import { fromImap, MailFailure } from './failures.ts';
import { MAX_MAIL_BYTES, type StoredMail } from './inbound.ts';
import { connectionOf, type EmailSettings } from './settings.ts';

const INBOX = 'INBOX';
/** What is read of a mail that is too large, in bytes. */
const HEAD_BYTES = 64 * 1_024;
/** How long a connection for single questions stays open, and how often the mailbox is looked at, in milliseconds. */
const SPARE_MS = 20_000;
const IDLE_MS = 240_000;
const DAY_MS = 24 * 3_600_000;

export interface MailTiming {
  /** Without IDLE, the mailbox is looked at this often, in milliseconds. */
  pollMs: number;
  /** Before the first new attempt after a failure, and at most. */
  retryMs: number;
  maxRetryMs: number;
}

export const MAIL_TIMING: MailTiming = { pollMs: 30_000, retryMs: 1_000, maxRetryMs: 60_000 };

/** How far the mailbox is read. UIDs count only within one UIDVALIDITY [RFC 9051, 2.3.1.1]: after a new one, the time does. */
const Offset = z.object({ validity: z.string(), uid: z.number(), at: z.number() });
type Offset = z.infer<typeof Offset>;
const OFFSET_KEY = 'offset';

interface MailboxParts {
  settings: EmailSettings;
  host: Pick<PluginChannelHost, 'store' | 'log' | 'health'>;
  /** Takes a mail; when it resolves, the mail is committed or of no use. Rejects for one that must come again. */
  take: (mail: StoredMail) => Promise<void>;
  timing: MailTiming;
}

export class Mailbox {
  readonly #parts: MailboxParts;
  #stop: AbortController | undefined;
  #running: Promise<void> = Promise.resolve();
  #spare: { client: ImapFlow; timer: NodeJS.Timeout } | undefined;
  #work: Promise<unknown> = Promise.resolve();
  #sentFolder: string | undefined;

  constructor(parts: MailboxParts) {
    this.#parts = parts;
  }

  /** Connects, and receives until `stop`. Throws if the first connection fails. */
  async start(): Promise<void> {
    await this.stop();
    const stop = new AbortController();
    this.#stop = stop;
    const client = await this.#open();
    try {
      const { uidValidity, uidNext } = await client.mailboxOpen(INBOX);
      // What arrives from now on is new.
      await this.#offset(String(uidValidity), uidNext);
    } catch (error) {
      client.close();
      throw fromImap(error);
    }
    this.#running = this.#receive(client, stop.signal);
  }

  async stop(): Promise<void> {
    this.#stop?.abort();
    this.#stop = undefined;
    await this.#running;
    await this.#work.catch(() => undefined);
    this.#closeSpare();
  }

  /** Whether the login works. */
  async verify(): Promise<void> {
    const client = await this.#open();
    await client.logout();
  }

  /** The mail at a place, whole; undefined when it is gone. */
  async source(place: string): Promise<Uint8Array | undefined> {
    const [validity, uid] = place.split('/');
    return await this.#ask(INBOX, async (client) => {
      const { mailbox } = client;
      if (mailbox === false || String(mailbox.uidValidity) !== validity) return undefined;
      const mail = await client.fetchOne(String(uid), { source: true }, { uid: true });
      return mail === false ? undefined : mail.source;
    });
  }

  /** Whether a mail with this id is in the folder for sent mails. */
  async hasSent(messageId: string): Promise<boolean> {
    return await this.#ask(await this.#sent(), async (client) => {
      const uids = await client.search({ header: { 'message-id': messageId } }, { uid: true });
      return Array.isArray(uids) && uids.length > 0;
    });
  }

  /** Puts a copy into the folder for sent mails. */
  async keepSent(mail: Buffer): Promise<void> {
    const folder = await this.#sent();
    await this.#ask(folder, async (client) => await client.append(folder, mail, ['\\Seen']));
  }

  /** What stands in the newest mails' headers of this name, newest first: for `parley doctor`. */
  async newestHeaders(name: string, count: number): Promise<string[]> {
    return await this.#ask(INBOX, async (client) => {
      const { mailbox } = client;
      const exists = mailbox === false ? 0 : mailbox.exists;
      if (exists === 0) return [];
      const range = `${Math.max(1, exists - count + 1)}:*`;
      const mails = client.fetch(range, { headers: [name] });
      const values: string[] = [];
      for await (const { headers } of mails) values.unshift(headers?.toString('utf8') ?? '');
      return values;
    });
  }

  async #open(): Promise<ImapFlow> {
    const { settings } = this.#parts;
    const { EMAIL_IMAP_HOST: host, EMAIL_IMAP_PORT: port, EMAIL_TLS: mode } = settings;
    const client = new ImapFlow({
      ...connectionOf(settings, host, port),
      doSTARTTLS: mode === 'starttls',
      disableAutoIdle: true,
      maxIdleTime: IDLE_MS,
      connectionTimeout: 30_000,
      greetingTimeout: 15_000,
      socketTimeout: IDLE_MS + 60_000,
      maxLiteralSize: MAX_MAIL_BYTES + 1_024 * 1_024,
      clientInfo: { name: 'Parley' },
    });
    // Whoever waits for a call gets the failure there.
    client.on('error', () => undefined);
    try {
      await client.connect();
      return client;
    } catch (error) {
      client.close();
      throw fromImap(error);
    }
  }

  async #receive(first: ImapFlow, signal: AbortSignal): Promise<void> {
    const { host, timing } = this.#parts;
    let client: ImapFlow | undefined = first;
    let failures = 0;
    while (!signal.aborted) {
      try {
        client ??= await this.#open();
        const close = (): void => client?.close();
        signal.addEventListener('abort', close, { once: true });
        await client.mailboxOpen(INBOX);
        host.health('up');
        const news = new News(client);
        for (;;) {
          news.isThere = false;
          await this.#takeNew(client, signal);
          failures = 0;
          await this.#news(client, news, signal);
        }
      } catch (error) {
        client?.close();
        client = undefined;
        if (signal.aborted) break;
        const failure = fromImap(error);
        host.health(failure.code === 'unauthorized' ? 'dead' : 'degraded', failure.message);
        host.log('warn', 'email_connection_lost', { code: failure.code, detail: failure.message });
        const waitMs = Math.min(timing.maxRetryMs, timing.retryMs * 2 ** Math.min(failures, 10));
        failures += 1;
        await pause(waitMs, undefined, { signal }).catch(() => undefined);
      }
    }
  }

  /** Waits until there may be new mails: the server says so, or time has passed. Throws when the connection is lost. */
  async #news(client: ImapFlow, news: News, signal: AbortSignal): Promise<void> {
    if (client.capabilities.has('IDLE')) {
      // It ends with the next command.
      const idling = client.idle().catch(() => undefined);
      await news.within(IDLE_MS, signal);
      await client.noop();
      await idling;
    } else {
      await news.within(this.#parts.timing.pollMs, signal);
      await client.noop();
    }
    if (!client.usable) throw new MailFailure('unavailable', 'The mail server closed the connection.');
  }

  async #takeNew(client: ImapFlow, signal: AbortSignal): Promise<void> {
    const { mailbox } = client;
    if (mailbox === false) throw new MailFailure('unavailable', 'The mail server closed the inbox.');
    const validity = String(mailbox.uidValidity);
    let offset = await this.#offset(validity, mailbox.uidNext);
    const matches = await client.search(searchFrom(offset, validity), { uid: true });
    const from = offset.validity === validity ? offset.uid : 0;
    // `n:*` also gives the last mail if all are older.
    const uids = (Array.isArray(matches) ? matches : [])
      .filter((uid) => uid > from)
      .toSorted((a, b) => a - b);
    for (const uid of uids) {
      signal.throwIfAborted();
      const mail = await this.#fetch(client, uid, validity);
      if (mail !== undefined) await this.#parts.take(mail);
      offset = { validity, uid, at: Math.max(offset.at, mail?.receivedAt ?? 0) };
      await this.#parts.host.store.set(OFFSET_KEY, JSON.stringify(offset));
      if (mail !== undefined && this.#parts.settings.markSeen)
        await client.messageFlagsAdd(String(uid), ['\\Seen'], { uid: true });
    }
    if (offset.validity !== validity) {
      const next = { validity, uid: mailbox.uidNext - 1, at: offset.at };
      await this.#parts.host.store.set(OFFSET_KEY, JSON.stringify(next));
    }
  }

  /** At the very first start, mails count from then on. */
  async #offset(validity: string, uidNext: number): Promise<Offset> {
    const { store } = this.#parts.host;
    const value = await store.get(OFFSET_KEY);
    if (value !== undefined) return Offset.parse(JSON.parse(value));
    const offset = { validity, uid: uidNext - 1, at: Date.now() };
    await store.set(OFFSET_KEY, JSON.stringify(offset));
    return offset;
  }

  /** Undefined for a mail that was deleted meanwhile. */
  async #fetch(client: ImapFlow, uid: number, validity: string): Promise<StoredMail | undefined> {
    const range = String(uid);
    const facts = await client.fetchOne(range, { size: true, internalDate: true }, { uid: true });
    if (facts === false) return undefined;
    const size = facts.size ?? 0;
    const source = size > MAX_MAIL_BYTES ? { start: 0, maxLength: HEAD_BYTES } : true;
    const mail: FetchMessageObject | false = await client.fetchOne(range, { source }, { uid: true });
    if (mail === false || mail.source === undefined) return undefined;
    const receivedAt = new Date(facts.internalDate ?? Date.now()).getTime();
    return { source: mail.source, size, place: `${validity}/${uid}`, receivedAt };
  }

  async #sent(): Promise<string> {
    this.#sentFolder ??= await this.#ask(undefined, async (client) => {
      const folders = await client.list();
      return folders.find(({ specialUse }) => specialUse === '\\Sent')?.path ?? 'Sent';
    });
    return this.#sentFolder;
  }

  /** One question after the other, over a connection of their own that stays open for a while. Throws `MailFailure`. */
  async #ask<T>(folder: string | undefined, question: (client: ImapFlow) => Promise<T>): Promise<T> {
    const work = this.#work.then(async () => {
      try {
        const client = await this.#spareClient();
        if (folder !== undefined) await client.mailboxOpen(folder, { readOnly: true });
        return await question(client);
      } catch (error) {
        this.#closeSpare();
        throw fromImap(error);
      }
    });
    this.#work = work.catch(() => undefined);
    return await work;
  }

  async #spareClient(): Promise<ImapFlow> {
    if (this.#spare?.client.usable === true) {
      this.#spare.timer.refresh();
      return this.#spare.client;
    }
    this.#closeSpare();
    const client = await this.#open();
    const timer = setTimeout(() => this.#closeSpare(), SPARE_MS);
    timer.unref();
    this.#spare = { client, timer };
    return client;
  }

  #closeSpare(): void {
    clearTimeout(this.#spare?.timer);
    this.#spare?.client.close();
    this.#spare = undefined;
  }
}

/** What the server tells about new mails, whatever is being asked of it meanwhile. */
class News {
  isThere = false;
  #wake: () => void = () => undefined;

  constructor(client: ImapFlow) {
    const note = (): void => {
      this.isThere = true;
      this.#wake();
    };
    client.on('exists', note);
    client.on('close', note);
  }

  /** Resolves when there is news, or the time has passed. Throws when the signal is aborted. */
  async within(ms: number, signal: AbortSignal): Promise<void> {
    const wake = new AbortController();
    this.#wake = () => wake.abort();
    if (!this.isThere)
      await pause(ms, undefined, { signal: AbortSignal.any([signal, wake.signal]) }).catch(() => undefined);
    signal.throwIfAborted();
  }
}

/** Everything after the offset; after a new UIDVALIDITY, from the day before the newest mail: repeats are recognized. */
function searchFrom(offset: Offset, validity: string): { uid: string } | { since: Date } {
  return offset.validity === validity
    ? { uid: `${offset.uid + 1}:*` }
    : { since: new Date(offset.at - DAY_MS) };
}
