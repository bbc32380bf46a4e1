/** What arrives in the mailbox, and what the gateway gets of it: each mail once, in order, whatever happens in between. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import manifest from '../../../plugins/email/parley.plugin.json' with { type: 'json' };
import { MAX_TEXT } from '../../../plugins/email/inbound.ts';
import { createChannel, MAX_PER_HOUR } from '../../../plugins/email/main.ts';
import type { PluginChannel } from '../../../src/protocol/plugin.ts';
import { AUTHSERV_ID, FakeMail, type MailOptions } from '../../fakes/email/mail.ts';
import { FakeHost } from '../../fakes/plugins/host.ts';

const ADA = 'ada@example.com';
const WAIT = { timeout: 10_000, interval: 10 };
const TIMING = { pollMs: 20, retryMs: 10, maxRetryMs: 50 };
let mail: FakeMail;
let host: FakeHost;
let email: PluginChannel;

async function open(options: MailOptions = {}, more: Record<string, string | boolean> = {}): Promise<void> {
  mail = await FakeMail.open(options);
  host = new FakeHost(manifest, { ...mail.settings, ...more });
  email = createChannel(host, TIMING);
  await email.start();
}

/** The plug-in after a restart: `stored` is all that it knows. */
async function restart(stored = host.stored): Promise<void> {
  await email.stop();
  host = new FakeHost(manifest, host.settings, stored);
  email = createChannel(host, TIMING);
  await email.start();
}

const head = (more = '', id = 'x'): string =>
  `From: Ada <${ADA}>\r\nTo: parley@example.org\r\nMessage-ID: <${id}@example.com>\r\n${more}`;
const arrive = (raw: string): unknown => mail.arrives(Buffer.from(raw), ADA);
const contents = async (...expected: unknown[]): Promise<void> =>
  await vi.waitFor(() => expect(host.contents).toEqual(expected), WAIT);

beforeEach(() => open());
afterEach(async () => {
  await email.stop();
  await mail.close();
});

describe('the mailbox', () => {
  it('counts from the first start on, and goes on after a restart where it was', async () => {
    await email.stop();
    await mail.close();
    mail = await FakeMail.open();
    await mail.says(ADA, 'before the first start');
    host = new FakeHost(manifest, mail.settings);
    email = createChannel(host, TIMING);
    await email.start();
    await mail.says(ADA, 'one');
    await contents('one');
    await vi.waitFor(() => expect(mail.imap.folder('INBOX').mails[1]?.flags).toContain('\\Seen'), WAIT);
    await email.stop();
    await mail.says(ADA, 'two, while it was away');
    await restart();
    await contents('two, while it was away');
  });

  it('is read again after a crash before a mail was noted as taken, under the same id', async () => {
    const stored = new Map(host.stored);
    await mail.says(ADA, 'twice');
    await contents('twice');
    const [first] = host.received;
    await restart(stored);
    await contents('twice');
    expect(host.received[0]?.id).toBe(first?.id);
  });

  it('keeps a mail until the gateway can store it', async () => {
    let isAway = true;
    host.verdict = () =>
      isAway ? Promise.reject(new Error('no database')) : Promise.resolve({ kind: 'accepted' });
    await mail.says(ADA, 'wait for me');
    await vi.waitFor(() => expect(host.received.length).toBeGreaterThan(2), WAIT);
    isAway = false;
    await mail.says(ADA, 'after it');
    await vi.waitFor(() => expect(host.contents.at(-1)).toBe('after it'), WAIT);
    expect(new Set(host.contents)).toEqual(new Set(['wait for me', 'after it']));
    expect(host.states.map(([state]) => state)).toContain('degraded');
    expect(host.states.at(-1)?.[0]).toBe('up');
  });

  it('whose numbers begin again is read by time, and what was answered has its old id', async () => {
    await mail.says(ADA, 'old');
    await contents('old');
    const [old] = host.received;
    mail.imap.rebuild('INBOX');
    await mail.says(ADA, 'new');
    await vi.waitFor(() => expect(host.contents.at(-1)).toBe('new'), WAIT);
    expect(host.received.filter(({ content }) => content === 'old').map(({ id }) => id)).toEqual([
      old?.id,
      old?.id,
    ]);
    await restart();
    await mail.says(ADA, 'newer');
    await contents('newer');
  });

  it('is watched after every lost connection, and by polls where the server has no IDLE', async () => {
    mail.imap.cut();
    await mail.says(ADA, 'after the cut');
    await contents('after the cut');
    mail.imap.fetchFailures.push('malformed');
    await mail.says(ADA, 'after nonsense');
    await contents('after the cut', 'after nonsense');
    await email.stop();
    await mail.close();
    await open({ idle: false });
    await mail.says(ADA, 'polled');
    await contents('polled');
    expect(mail.imap.transcript.join()).not.toContain('IDLE');
  });
});

describe('a mail', () => {
  it('with encoded headers and another charset is read as it was meant', async () => {
    const text = Buffer.concat([
      Buffer.from(
        'From: =?utf-8?Q?Ad=C3=A4_L=C3=B6?= <ADA@Example.com>\r\nSubject: =?iso-8859-1?B?R3L832U=?=\r\n' +
          'Message-ID: <c@example.com>\r\nContent-Type: text/plain; charset=iso-8859-1\r\n' +
          'Content-Transfer-Encoding: 8bit\r\n\r\nSch',
      ),
      Buffer.from([0xf6]),
      Buffer.from('n'),
    ]);
    mail.arrives(text, ADA);
    await contents('Subject: Grüße\n\nSchön');
    expect(host.received).toMatchObject([{ senderId: ADA, senderName: 'Adä Lö' }]);
  });

  it('of HTML alone is read as text; a subject alone is the text; a command is nothing but the command', async () => {
    arrive(
      `${head('Content-Type: text/html\r\n', 'a')}\r\n<p>Hello <b>there</b></p><div style="display:none">x</div>`,
    );
    arrive(`${head('Subject: only this\r\n', 'b')}\r\n`);
    arrive(`${head('Subject: stop it\r\n', 'c')}\r\n/stop\r\n`);
    await contents('Hello there', 'only this', '/stop');
    expect(new Set(host.received.map(({ id }) => id)).size).toBe(3);
  });

  it.each([
    ['two senders', `From: ${ADA}, bob@example.com\r\nMessage-ID: <a@b>\r\n\r\nx`],
    ['two headers From', `From: ${ADA}\r\nFrom: bob@example.com\r\nMessage-ID: <a@b>\r\n\r\nx`],
    ['a sender that is no address', 'From: nobody\r\nMessage-ID: <a@b>\r\n\r\nx'],
    ['a name that looks like someone else', `From: "${ADA}" <x@evil.example>\r\nMessage-ID: <a@b>\r\n\r\nx`],
    ['the bot as its sender', 'From: parley@example.org\r\nMessage-ID: <a@b>\r\n\r\nx'],
    ['Auto-Submitted', head('Auto-Submitted: auto-generated\r\n\r\nx')],
    ['Precedence', head('Precedence: bulk\r\n\r\nx')],
    ['a list', head('List-Unsubscribe: <mailto:x@y>\r\n\r\nx')],
    ['no return path', head('Return-Path: <>\r\n\r\nx')],
    ['a report', head('Content-Type: multipart/report; boundary=b\r\n\r\n--b--')],
    ['a sender that takes no answers', `From: no-reply@example.com\r\nMessage-ID: <a@b>\r\n\r\nx`],
    ['parts nested without end', head(nested(200))],
    ['headers without end', head(`${'X-A: '.padEnd(998, 'a')}\r\n`.repeat(400)) + '\r\nx'],
  ])('with %s is left out, and the next one is read', async (_, raw) => {
    arrive(raw);
    await mail.says(ADA, 'the next one');
    await contents('the next one');
    expect(host.lines.join()).toContain('email_left_out');
    expect(host.lines.join()).not.toContain(ADA);
  });

  it(`is cut after ${MAX_TEXT} characters, and says how many follow`, async () => {
    await mail.says(ADA, `${'y'.repeat(MAX_TEXT)}${'z'.repeat(1_000_000)}`);
    await vi.waitFor(() => expect(host.contents).toHaveLength(1), WAIT);
    expect(host.contents[0]).toBe(`${'y'.repeat(MAX_TEXT)}\n\n[the mail goes on for 1000000 characters]`);
  });

  it('that is too large is named, and not read', async () => {
    await mail.says(ADA, 'huge', {
      subject: 'Film',
      attachments: [{ filename: 'a', content: Buffer.alloc(20_000_000) }],
    });
    await vi.waitFor(() => expect(host.contents).toHaveLength(1), { ...WAIT, timeout: 30_000 });
    expect(host.contents[0]).toBe('[a mail about "Film" with 26 MB, too large to be read]');
    expect(host.received[0]?.media).toEqual([]);
  });

  it('brings its files, without paths in their names and without the logos of signatures', async () => {
    const logo = { filename: 'logo.png', content: Buffer.alloc(500), cid: 'logo' };
    await mail.says(ADA, 'files', {
      html: '<p>files</p><img src="cid:logo">',
      attachments: [
        logo,
        { filename: '../../etc/pass\u0007wd', content: 'x' },
        { filename: 'Ü.txt', content: 'ü' },
      ],
    });
    await vi.waitFor(() => expect(host.received).toHaveLength(1), WAIT);
    expect(host.received[0]?.media).toMatchObject([{ bytes: 1 }, { name: 'Ü.txt', bytes: 2, kind: 'file' }]);
    expect(host.received[0]?.media?.[0]?.name).not.toMatch(/[/\\]|\p{Cc}/u);
    const bytes = await email.download?.(
      host.received[0]?.media?.[1] ?? { kind: 'file', url: '' },
      AbortSignal.timeout(5_000),
    );
    const parts: Uint8Array[] = [];
    for await (const part of bytes as AsyncIterable<Uint8Array>) parts.push(part);
    expect(Buffer.concat(parts).toString()).toBe('ü');
  });

  it('of a program that answers every mail ends after an hour’s worth', async () => {
    for (let at = 0; at < MAX_PER_HOUR + 2; at += 1) await mail.says(ADA, `${at}`);
    await mail.says('bob@example.com', 'someone else');
    await vi.waitFor(() => expect(host.contents.at(-1)).toBe('someone else'), { ...WAIT, timeout: 30_000 });
    expect(host.contents).toHaveLength(MAX_PER_HOUR + 1);
  });
});

describe('threads', () => {
  it('follow the first mail that is named, and the id of a mail of the bot in any place', async () => {
    const first = await mail.says(ADA, 'one', { subject: 'A' });
    const second = await mail.says(ADA, 'two', { references: [first], inReplyTo: first });
    await mail.says(ADA, 'other');
    await vi.waitFor(() => expect(host.received).toHaveLength(3), WAIT);
    const [a, b, c] = host.received.map(({ threadId }) => threadId);
    expect(b).toBe(a);
    expect(c).not.toBe(a);
    const body = { text: '<p>x</p>', plain: 'x' };
    const { id } = await email.send({
      chatId: ADA,
      threadId: a,
      body,
      plain: false,
      buttons: [],
      nonce: 'n',
    });
    expect(mail.inbox(ADA)[0]).toMatchObject({ inReplyTo: second, subject: 'Re: A' });
    // A program that has lost the first references.
    await mail.says(ADA, 'three', { references: ['<lost@elsewhere.example>', id] });
    await vi.waitFor(() => expect(host.received).toHaveLength(4), WAIT);
    expect(host.received[3]?.threadId).toBe(a);
  });

  it('can be one for each person', async () => {
    await email.stop();
    await mail.close();
    await open({}, { sessions: 'correspondent' });
    await mail.says(ADA, 'one');
    await vi.waitFor(() => expect(host.received).toHaveLength(1), WAIT);
    expect(host.received[0]).not.toHaveProperty('threadId');
  });
});

it('tells `parley doctor` when the mails name another server than EMAIL_AUTHSERV_ID', async () => {
  const signal = AbortSignal.timeout(10_000);
  await mail.says(ADA, 'one');
  expect(await email.check?.(signal)).toMatchObject([{ level: 'ok' }]);
  const other = createChannel(
    new FakeHost(manifest, { ...host.settings, EMAIL_AUTHSERV_ID: 'mx.other.example' }),
    TIMING,
  );
  const findings = await other.check?.(signal);
  expect(findings).toMatchObject([
    { level: 'ok' },
    { level: 'error', text: expect.stringContaining(AUTHSERV_ID) },
  ]);
  await other.stop();
  const wrong = createChannel(new FakeHost(manifest, { ...host.settings, EMAIL_PASSWORD: 'no' }), TIMING);
  expect(await wrong.check?.(signal)).toMatchObject([
    { level: 'error', text: expect.stringContaining('EMAIL_PASSWORD') },
  ]);
  await expect(wrong.identify?.(signal)).rejects.toMatchObject({ code: 'unauthorized' });
});

/** Parts in parts in parts. */
function nested(depth: number): string {
  const opens = Array.from(
    { length: depth },
    (_, at) => `Content-Type: multipart/mixed; boundary=b${at}\r\n\r\n--b${at}\r\n`,
  );
  return `${opens.join('')}Content-Type: text/plain\r\n\r\nboom\r\n`;
}
