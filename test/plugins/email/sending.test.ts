/** Mails of the bot: well-formed whatever they say, each sent once, and encrypted on their way. */
import { readFile } from 'node:fs/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import manifest from '../../../plugins/email/parley.plugin.json' with { type: 'json' };
import { fromSmtp } from '../../../plugins/email/failures.ts';
import { createChannel } from '../../../plugins/email/main.ts';
import { MAIL_TIMING } from '../../../plugins/email/mailbox.ts';
import type { PluginChannel, PluginPart } from '../../../src/protocol/plugin.ts';
import { FakeMail } from '../../fakes/email/mail.ts';
import { makeCertificates } from '../../fakes/network/certificates.ts';
import { FakeHost } from '../../fakes/plugins/host.ts';

const ADA = 'ada@example.com';
let mail: FakeMail;
let host: FakeHost;
let email: PluginChannel;

beforeEach(async () => {
  mail = await FakeMail.open();
  host = new FakeHost(manifest, mail.settings);
  email = createChannel(host, MAIL_TIMING);
});
afterEach(async () => {
  await email.stop();
  await mail.close();
});

const part = (text: string, more: Partial<PluginPart> = {}): PluginPart => ({
  chatId: ADA,
  body: { text: `<p>${text}</p>`, plain: text },
  plain: false,
  buttons: [],
  nonce: text,
  ...more,
});
const failure = async (call: Promise<unknown>): Promise<unknown> =>
  await call.then(
    () => undefined,
    (error: unknown) => error,
  );

describe('a mail', () => {
  it('is sent once for one nonce, by whichever process, as long as its copy is in the folder for sent mails', async () => {
    const first = await email.send(part('once'));
    expect(await email.send(part('once'))).toEqual(first);
    const next = createChannel(new FakeHost(manifest, mail.settings), MAIL_TIMING);
    expect(await next.send(part('once'))).toEqual(first);
    expect(mail.inbox(ADA)).toHaveLength(1);
    expect(mail.inbox(ADA)[0]?.messageId).toBe(first.id);
    await next.stop();
  });

  it('has no header that its text or the mail before could bring in', async () => {
    const evil = 'Re: x\r\nBcc: all@example.net\r\n\r\nbody';
    await email.send(
      part(`${evil}\nrest`, { nonce: 'a\r\nX-B: c', replyTo: '<a@b>\r\nBcc: all@example.net' }),
    );
    const [{ raw, to } = { raw: Buffer.alloc(0), to: [] }] = mail.sent;
    expect(to).toEqual([ADA]);
    const headers = raw.toString('utf8').split('\r\n\r\n', 1)[0] ?? '';
    expect(headers).not.toMatch(/^(bcc|x-b):/im);
    expect(
      raw
        .toString('latin1')
        .split('\r\n')
        .filter((line) => line.length > 998),
    ).toEqual([]);
  });

  it('begins a thread with its first line as the subject, in any script', async () => {
    await email.send(part('Grüße aus Köln — 你好\n\nund mehr'));
    expect(mail.inbox(ADA)[0]).toMatchObject({ subject: 'Grüße aus Köln — 你好' });
    expect(mail.sent[0]?.raw.toString('latin1')).toMatch(/^Subject: =\?UTF-8\?/im);
    expect(mail.inbox(ADA)[0]?.headers.find(({ key }) => key === 'auto-submitted')?.value).toBe(
      'auto-generated',
    );
  });

  it('without markup, when the gateway asks for it, is text alone', async () => {
    await email.send(part('plain', { plain: true }));
    expect(mail.inbox(ADA)[0]?.html).toBeUndefined();
  });

  it('with buttons lists a word for each, the same in every attempt, and shows labels as they are', async () => {
    const buttons = [
      { label: 'Approve <b>', value: 'yes' },
      { label: 'Deny', value: 'no' },
      { label: '2', value: 'two' },
    ];
    await email.send(part('Run it?', { buttons }));
    const text = mail.inbox(ADA)[0]?.text ?? '';
    expect(text).toMatch(
      /^Run it\?\s+Reply with one of these words on the first line:\s+APPROVE-\w{5} {3}Approve <b>\r?\nDENY-\w{5} {3}Deny\r?\n[A-Z2-9]{5} {3}2/,
    );
    expect(mail.inbox(ADA)[0]?.html).toContain('Approve &lt;b&gt;');
    expect(mail.inbox(ADA)[0]?.html).not.toContain('href');
  });

  it('to something that is no address is refused', async () => {
    for (const chatId of ['', 'x', `${ADA}, b@c.de`, `${ADA}\r\nDATA`])
      expect(await failure(email.send(part('x', { chatId })))).toMatchObject({ code: 'rejected' });
  });
});

describe('encryption', () => {
  it('is required: a server whose certificate no one knows gets no password', async () => {
    const certificates = await makeCertificates('IP:127.0.0.1');
    const [key, cert, ca] = await Promise.all(
      [certificates.key, certificates.certificate, certificates.authority].map((file) =>
        readFile(file, 'utf8'),
      ),
    );
    const secure = await FakeMail.open({ tls: { key: key ?? '', cert: cert ?? '' } });
    const strict = createChannel(new FakeHost(manifest, secure.settings), MAIL_TIMING);
    expect(await failure(strict.start())).toMatchObject({ code: 'unavailable' });
    expect(secure.imap.transcript).toEqual([]);
    await strict.stop();
    const trusting = createChannel(
      new FakeHost(manifest, { ...secure.settings, EMAIL_CA: ca ?? '' }),
      MAIL_TIMING,
    );
    await trusting.start();
    await trusting.send(part('encrypted'));
    expect(secure.inbox(ADA)).toHaveLength(1);
    await trusting.stop();
    await secure.close();
    await certificates.remove();
  });

  it('is not left out for a server that offers none, or that is elsewhere', async () => {
    const open = (more: object) =>
      createChannel(new FakeHost(manifest, { ...mail.settings, ...more }), MAIL_TIMING);
    const starttls = open({ EMAIL_TLS: 'starttls' });
    expect(await failure(starttls.start())).toMatchObject({ code: 'unavailable' });
    expect(mail.imap.transcript.join()).not.toMatch(/LOGIN|AUTHENTICATE/);
    const elsewhere = open({ EMAIL_IMAP_HOST: 'imap.example.org' });
    expect(await failure(elsewhere.start())).toMatchObject({ message: expect.stringContaining('EMAIL_TLS') });
    mail.imap.unexpected.length = 0;
  });
});

it.each([
  [{ responseCode: 550, response: '550 5.1.1 no such user' }, false, 'blocked'],
  [{ responseCode: 550, response: '550 5.7.1 spam' }, false, 'rejected'],
  [{ responseCode: 552, response: '552 5.3.4 too large' }, true, 'rejected'],
  [{ responseCode: 451, response: '451 4.7.1 greylisted' }, false, 'rate_limited'],
  [{ responseCode: 421, response: '421 closing' }, false, 'unavailable'],
  [{ responseCode: 535, code: 'EAUTH', response: '535 no' }, false, 'unauthorized'],
  [{ code: 'ECONNREFUSED' }, false, 'unavailable'],
  [{ code: 'ETIMEDOUT' }, true, 'outcome_unknown'],
])('takes %j with the mail passed on: %s for %s', (error, isWritten, code) => {
  expect(fromSmtp(error, isWritten)).toMatchObject({ code });
});
