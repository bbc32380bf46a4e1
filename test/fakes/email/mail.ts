/** A mail provider: SMTP by smtp-server, IMAP by the fake beside this, and people with mailboxes elsewhere. */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import PostalMime, { type Email } from 'postal-mime';
import MailComposer, { type MailComposerOptions } from 'nodemailer/lib/mail-composer';
import { SMTPServer } from 'smtp-server';
import type { StoredMail } from './folder.ts';
import { FakeImap } from './imap.ts';

const MAIL_ADDRESS = 'parley@example.org';
export const MAIL_PASSWORD = 'the-password-of-the-mailbox';
export const AUTHSERV_ID = 'mx.example.org';

export interface SentMail {
  to: string[];
  raw: Buffer;
  email: Email;
}

export interface MailOptions {
  tls?: { key: string; cert: string };
  idle?: boolean;
}

/** What happens to the next mail that is to be sent. */
export type SendFailure =
  | { kind: 'refuse'; at: 'connect' | 'auth' | 'rcpt' | 'data'; status: number; text: string }
  | { kind: 'drop' }
  | { kind: 'late'; until: Promise<void> };

export class FakeMail {
  readonly sent: SentMail[] = [];
  readonly blocked = new Set<string>();
  readonly failures: SendFailure[] = [];
  readonly imap: FakeImap;
  #imapPort = 0;
  #ids = 0;
  readonly #smtp: SMTPServer;
  readonly #options: MailOptions;

  private constructor(options: MailOptions) {
    this.#options = options;
    this.imap = new FakeImap({
      user: MAIL_ADDRESS,
      password: MAIL_PASSWORD,
      tls: options.tls,
      idle: options.idle ?? true,
    });
    this.#smtp = this.#createSmtp();
  }

  static async open(options: MailOptions = {}): Promise<FakeMail> {
    const mail = new FakeMail(options);
    mail.#imapPort = await mail.imap.listen();
    mail.#smtp.listen(0, '127.0.0.1');
    await once(mail.#smtp.server, 'listening');
    return mail;
  }

  /** The settings of a plug-in in front of this. */
  get settings(): Record<string, string | number> {
    const { port } = this.#smtp.server.address() as AddressInfo;
    return {
      EMAIL_ADDRESS: MAIL_ADDRESS,
      EMAIL_PASSWORD: MAIL_PASSWORD,
      EMAIL_IMAP_HOST: '127.0.0.1',
      EMAIL_IMAP_PORT: this.#imapPort,
      EMAIL_SMTP_HOST: '127.0.0.1',
      EMAIL_SMTP_PORT: port,
      EMAIL_AUTHSERV_ID: AUTHSERV_ID,
      EMAIL_TLS: this.#options.tls === undefined ? 'none' : 'implicit',
    };
  }

  /** A person sends a mail, and the receiving server finds it authentic. Gives its Message-ID. */
  async says(from: string, text: string, more: MailComposerOptions = {}): Promise<string> {
    this.#ids += 1;
    const messageId = `<mail-${this.#ids}@${from.split('@')[1]}>`;
    const options = { from, to: MAIL_ADDRESS, messageId, text, ...more };
    const raw = await new MailComposer(options).compile().build();
    this.arrives(raw, from);
    return messageId;
  }

  /** A mail arrives as it is, below what the receiving server writes above it. */
  arrives(raw: Buffer | string, from: string, results?: string): StoredMail {
    const domain = from.split('@').at(-1);
    const verdict =
      results ??
      `dkim=pass header.d=${domain}; spf=pass smtp.mailfrom=${from}; dmarc=pass header.from=${domain}`;
    const head =
      `Return-Path: <${from}>\r\nAuthentication-Results: ${AUTHSERV_ID}; ${verdict}\r\n` +
      `Received: from mail.${domain} by ${AUTHSERV_ID}; ${new Date().toUTCString()}\r\n`;
    return this.imap.deliver(Buffer.concat([Buffer.from(head), Buffer.from(raw)]));
  }

  /** The mails that a person has got from the bot, oldest first. */
  inbox(address: string): Email[] {
    return this.sent.filter(({ to }) => to.includes(address)).map(({ email }) => email);
  }

  async close(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#smtp.close(() => resolve());
    });
    await this.imap.close();
  }

  #fails(at: 'connect' | 'auth' | 'rcpt' | 'data'): Error | undefined {
    const [failure] = this.failures;
    if (failure?.kind !== 'refuse' || failure.at !== at) return undefined;
    this.failures.shift();
    return Object.assign(new Error(failure.text), { responseCode: failure.status });
  }

  #createSmtp(): SMTPServer {
    const { tls } = this.#options;
    return new SMTPServer({
      secure: tls !== undefined,
      ...(tls ?? { hideSTARTTLS: true, allowInsecureAuth: true }),
      authMethods: ['PLAIN', 'LOGIN'],
      logger: false,
      size: 25 * 1_024 * 1_024,
      closeTimeout: 100,
      onConnect: (_session, done) => done(this.#fails('connect')),
      onAuth: (auth, _session, done) => {
        const failure = this.#fails('auth');
        if (failure !== undefined) return done(failure);
        if (auth.username === MAIL_ADDRESS && auth.password === MAIL_PASSWORD)
          return done(null, { user: MAIL_ADDRESS });
        return done(Object.assign(new Error('5.7.8 Invalid credentials'), { responseCode: 535 }));
      },
      onRcptTo: ({ address }, _session, done) => {
        const failure = this.#fails('rcpt');
        if (failure !== undefined) return done(failure);
        if (!this.blocked.has(address)) return done();
        return done(Object.assign(new Error('5.1.1 The mailbox does not exist'), { responseCode: 550 }));
      },
      onData: (stream, session, done) => {
        void (async () => {
          const raw = await buffer(stream);
          const failure = this.#fails('data');
          if (failure !== undefined) return done(failure);
          if (stream.sizeExceeded)
            return done(Object.assign(new Error('5.3.4 Too large'), { responseCode: 552 }));
          const to = session.envelope.rcptTo.map(({ address }) => address);
          this.sent.push({ to, raw, email: await PostalMime.parse(raw) });
          const [later] = this.failures;
          if (later?.kind !== 'drop' && later?.kind !== 'late') return done();
          this.failures.shift();
          if (later.kind === 'late') {
            await later.until;
            return done();
          }
          for (const connection of this.#smtp.connections) connection.close();
          return undefined;
        })();
      },
    });
  }
}
