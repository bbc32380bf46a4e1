/** The e-mail plug-in under the contract that every channel passes. */
import { afterAll } from 'vitest';
import { channelContract } from '../../contracts/channel.ts';
import { HostedPlugin, openBuiltPlugin } from '../../fakes/plugins/hosted-channel.ts';
import { FakeMail, MAIL_PASSWORD } from '../../fakes/email/mail.ts';
import { readHtml } from '../../fakes/matrix/html.ts';
import type { Email } from 'postal-mime';

const plugin = await openBuiltPlugin('email');
afterAll(() => plugin.remove());

channelContract(
  'email',
  async () => {
    const mail = await FakeMail.open();
    const hosted = new HostedPlugin(plugin, mail.settings);
    let newest: { from: string; raw: Buffer } | undefined;
    let posts: Promise<unknown> = Promise.resolve();
    const says = (from: string, text: string, more = {}): void => {
      posts = posts.then(async () => {
        await mail.says(from, text, more);
        const raw = mail.imap.folder('INBOX').mails.at(-1)?.raw;
        if (raw !== undefined) newest = { from, raw };
      });
    };
    const chat = (id: string) => ({ chatId: id, senderId: id });
    return {
      channel: hosted.channel,
      writeCommand: (name) => `/${name}`,
      chats: [chat('ada@example.com'), chat('bob@example.net')],
      secret: MAIL_PASSWORD,
      says: ({ senderId }, text) => says(senderId, text),
      types: ({ senderId }, text) => says(senderId, text),
      screen: (chatId) => mail.inbox(chatId).map(visibleOf),
      files: (chatId) =>
        mail
          .inbox(chatId)
          .filter(({ attachments }) => attachments.length > 0)
          .map((email) => ({
            name: email.attachments[0]?.filename ?? '',
            bytes: Buffer.from(email.attachments[0]?.content as ArrayBuffer),
            caption: visibleOf(email),
          })),
      reads: (text) => ({ visible: readHtml(text), length: text.length }),
      receiving: () => mail.imap.connections,
      acknowledged: () => {
        const { uid = 0 } = JSON.parse(hosted.stored.get('offset') ?? '{}');
        return uid === (mail.imap.folder('INBOX').mails.at(-1)?.uid ?? 0);
      },
      redelivers: () => {
        if (newest === undefined) throw new Error('nothing was sent yet');
        mail.imap.deliver(newest.raw);
      },
      sendsFile: ({ senderId }, name, bytes) =>
        says(senderId, 'see the file', { attachments: [{ filename: name, content: Buffer.from(bytes) }] }),
      failsDownload: (failure) =>
        void mail.imap.fetchFailures.push(
          failure === 'cut' ? 'cut' : failure === 404 ? 'gone' : failure === 429 ? 'limit' : 'unavailable',
        ),
      rateLimits: () =>
        void mail.failures.push({
          kind: 'refuse',
          at: 'rcpt',
          status: 450,
          text: '4.7.1 Rate limit exceeded',
        }),
      blocks: (chatId) => void mail.blocked.add(chatId),
      losesAnswer: () => void mail.failures.push({ kind: 'drop' }),
      losesFileAnswer: () => void mail.failures.push({ kind: 'drop' }),
      // A mail server has no status codes of HTTP: it refuses for now at four places.
      fails: (status) => {
        const at = ({ 500: 'connect', 502: 'auth', 503: 'rcpt', 504: 'data' } as const)[status];
        mail.failures.push({ kind: 'refuse', at: at ?? 'data', status: 451, text: '4.3.0 Try again later' });
      },
      refusesToken: () =>
        void mail.failures.push({
          kind: 'refuse',
          at: 'auth',
          status: 535,
          text: '5.7.8 Invalid credentials',
        }),
      async close() {
        await hosted.close();
        await posts;
        await mail.close();
      },
    };
  },
  {
    echoes: 'mails of programs are never answered: a test of its own shows which',
    deletes: 'no one can take back a mail',
    group: 'answers go to the sender alone',
    nonce: 'no mail can be changed: a test of its own shows that the same nonce sends once',
  },
);

function visibleOf({ html, text }: Email): string {
  const [, body] = /<body>(.*)<\/body>/s.exec(html ?? '') ?? [];
  return body === undefined ? (text ?? '').trimEnd() : readHtml(body);
}
