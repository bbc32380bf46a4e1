/** E-mail, from what a person writes to what they get, through a whole gateway. */
import { afterAll, expect, it, vi } from 'vitest';
import { riskyTools } from '../../fakes/agent/risky-tools.ts';
import { AUTHSERV_ID, FakeMail, MAIL_PASSWORD } from '../../fakes/email/mail.ts';
import { describeGateway, WAIT } from '../setup.ts';
import { killPlugin, withPlugin } from './added.ts';

const mail = await FakeMail.open();
afterAll(() => mail.close());
const people = ['ada', 'bob', 'carl', 'olga', 'kim', 'nora', 'tom'].map((name) => `${name}@example.com`);
const [ada = '', bob = '', carl = '', olga = '', kim = '', nora = '', tom = ''] = people;
const furnish = withPlugin('email', { access: { email: { dm: 'allowlist', allow: people } } });
const env = Object.fromEntries(Object.entries(mail.settings).map(([name, value]) => [name, String(value)]));
const ran: string[] = [];
const call = (name: string, args: object) => ({ toolCalls: [{ name, args }] });

describeGateway('e-mail', { env, furnish, tools: riskyTools(ran) }, (fixture) => {
  const texts = (address: string): string[] => mail.inbox(address).map(({ text }) => (text ?? '').trim());

  it('answers in the thread of the question, as text and as HTML', async () => {
    fixture().ollama.answer({ text: 'It is **ready**.' }, { when: 'How far is the report' });
    const question = await mail.says(ada, 'How far is the report?\n\n-- \nAda\n+49 170 0000000', {
      subject: 'The report',
    });
    await vi.waitFor(() => expect(mail.inbox(ada)).toHaveLength(1), WAIT);
    const [answer] = mail.inbox(ada);
    expect(answer).toMatchObject({ subject: 'Re: The report', inReplyTo: question, references: question });
    expect(answer?.text?.trim()).toBe('It is ready.');
    expect(answer?.html).toContain('<strong>ready</strong>');
    expect(answer?.headers.find(({ key }) => key === 'auto-submitted')?.value).toBe('auto-replied');
    const asked = await fixture().modelCall('How far is the report');
    expect(JSON.stringify(asked.body)).toContain('Subject: The report');
    expect(JSON.stringify(asked.body)).not.toContain('+49 170');
    await vi.waitFor(() => expect(mail.imap.folder('Sent').mails).toHaveLength(1), WAIT);
    expect(fixture().log.join('\n')).not.toContain(MAIL_PASSWORD);
  });

  it('keeps two threads of one person separate, and stays in the one that is answered', async () => {
    await mail.says(bob, 'about cats', { subject: 'Cats' });
    await mail.says(bob, 'about dogs', { subject: 'Dogs' });
    await vi.waitFor(() => expect(mail.inbox(bob)).toHaveLength(2), WAIT);
    const cats = mail.inbox(bob).find(({ subject }) => subject === 'Re: Cats');
    const quoted = (cats?.text ?? '').trim().replaceAll(/^/gm, '> ');
    await mail.says(bob, `and more of it\n\nOn Monday, Parley wrote:\n${quoted}`, {
      subject: 'Re: Cats',
      inReplyTo: cats?.messageId ?? '',
      references: [cats?.references ?? '', cats?.messageId ?? ''],
    });
    await vi.waitFor(() => expect(mail.inbox(bob)).toHaveLength(3), WAIT);
    const asked = await fixture().modelCall('and more of it');
    const body = JSON.stringify(asked.body);
    expect(body).toContain('about cats');
    expect(body).not.toContain('about dogs');
    expect(body).not.toContain('On Monday');
    expect(mail.inbox(bob).at(-1)).toMatchObject({ subject: 'Re: Cats' });
  });

  it('reads no mail that someone else has sent in the name of a person, and answers no program', async () => {
    const forged = `From: ${carl}\r\nTo: parley@example.org\r\nSubject: forged\r\nMessage-ID: <f@evil.example>\r\n`;
    // What came with the mail stands below what the server wrote.
    const claim = `Authentication-Results: ${AUTHSERV_ID}; dmarc=pass header.from=example.com\r\n`;
    mail.arrives(`${claim}${forged}\r\nforged one`, 'x@evil.example', 'dmarc=fail header.from=example.com');
    mail.arrives(`${forged}\r\nforged two`, 'x@evil.example', 'spf=pass smtp.mailfrom=x@evil.example');
    const reply = { 'Auto-Submitted': 'auto-replied' };
    await mail.says(carl, 'I am on vacation', { headers: reply });
    await mail.says(carl, 'the newsletter', { headers: { 'List-Id': '<news.example.com>' } });
    await mail.says('stranger@example.net', 'hello?');
    await mail.says(carl, 'it is really me');
    await vi.waitFor(() => expect(texts(carl)).toEqual(['echo: it is really me']), WAIT);
    expect(mail.inbox('stranger@example.net')).toEqual([]);
    const calls = JSON.stringify(fixture().ollama.calls.map(({ body }) => body));
    for (const text of ['forged one', 'forged two', 'on vacation', 'newsletter', 'hello?'])
      expect(calls).not.toContain(text);
  });

  it('takes files, and sends them', async () => {
    const said = { when: 'what does it say' };
    fixture().ollama.answer(call('read_file', { path: 'inbox/report.txt' }), said);
    fixture().ollama.answer(call('write_file', { path: 'kurz für dich.txt', content: 'short' }), said);
    fixture().ollama.answer(
      call('send_file', { path: 'kurz für dich.txt', caption: 'The short version' }),
      said,
    );
    fixture().ollama.answer({ text: 'There it is.' }, said);
    await mail.says(kim, 'what does it say', {
      attachments: [{ filename: 'report.txt', content: 'a long report' }],
    });
    await vi.waitFor(() => expect(texts(kim)).toContain('There it is.'), WAIT);
    const [file] = mail.inbox(kim).flatMap(({ attachments }) => attachments);
    expect(file?.filename).toBe('kurz für dich.txt');
    expect(Buffer.from(file?.content as ArrayBuffer).toString()).toBe('short');
  });

  it('asks before a dangerous call, and takes the answer as a word on the first line', async () => {
    fixture().ollama.answer(call('wipe', { word: 'clean up' }), { when: 'clean up' });
    await mail.says(olga, 'clean up');
    const question = await vi.waitFor(() => {
      const one = mail.inbox(olga).find(({ text }) => /^APPROVE-\w{5}/m.test(text ?? ''));
      if (one === undefined) throw new Error('nothing was asked');
      return one;
    }, WAIT);
    const [word = ''] = /^APPROVE-\w{5}/m.exec(question.text ?? '') ?? [];
    const inReplyTo = question.messageId ?? '';
    // Only the person who was asked may use it.
    await mail.says(tom, word, { inReplyTo });
    await vi.waitFor(() => expect(texts(tom)).toHaveLength(1), WAIT);
    expect(ran).toEqual([]);
    await mail.says(olga, `${word.toLowerCase()}\n\n> ${question.text}`, { inReplyTo });
    await vi.waitFor(() => expect(texts(olga)).toContain('echo: clean up'), WAIT);
    expect(ran).toEqual(['wipe clean up']);
  });

  it('loses no mail and answers none twice when its process is killed', async () => {
    await mail.says(nora, 'before the end');
    await vi.waitFor(() => expect(texts(nora)).toEqual(['echo: before the end']), WAIT);
    await killPlugin(fixture().home, 'email');
    await mail.says(nora, 'while it was dead');
    await vi.waitFor(() => expect(texts(nora)).toContain('echo: while it was dead'), WAIT);
    expect(texts(nora)).toEqual(['echo: before the end', 'echo: while it was dead']);
  });

  it('sends a mail again under its old id when its process is killed before the server has confirmed it', async () => {
    const held = Promise.withResolvers<void>();
    fixture().ollama.answer({ text: 'once or twice' }, { when: 'unlucky' });
    mail.failures.push({ kind: 'late', until: held.promise });
    await mail.says(tom, 'unlucky', { subject: 'Luck' });
    const copies = () => mail.inbox(tom).filter(({ text }) => text?.includes('once or twice'));
    await vi.waitFor(() => expect(copies()).toHaveLength(1), WAIT);
    await killPlugin(fixture().home, 'email');
    await vi.waitFor(() => expect(copies()).toHaveLength(2), WAIT);
    held.resolve();
    // Mail programs show what has the same id once.
    expect(new Set(copies().map(({ messageId }) => messageId)).size).toBe(1);
  });
});
