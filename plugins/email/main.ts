/** E-mail: a mailbox of the bot's own, read over IMAP and answered over SMTP. */
import type {
  PluginChannel,
  PluginChannelHost,
  PluginFinding,
  PluginMedia,
} from '../../src/protocol/plugin.ts';
import { readResults } from './authentication.ts';
import { MailFailure, maskedAddress } from './failures.ts';
import { bytesOf, parseMail, readMail, type StoredMail } from './inbound.ts';
import { MAIL_TIMING, Mailbox, type MailTiming } from './mailbox.ts';
import { Sending } from './sending.ts';
import { type EmailSettings, Settings } from './settings.ts';
import { Threads } from './threads.ts';

/** A person's mails that are read in one hour: two programs that answer each other stop there. */
export const MAX_PER_HOUR = 60;
const HOUR_MS = 3_600_000;
/** Mails whose headers `parley doctor` looks at. */
const LOOKED_AT = 20;
/** Size of the pieces in which a file is passed on, in bytes. */
const PIECE = 65_536;

export function channel(host: PluginChannelHost): PluginChannel {
  return createChannel(host, MAIL_TIMING);
}

/** With other waits, for tests. */
export function createChannel(host: PluginChannelHost, timing: MailTiming): PluginChannel {
  const settings = Settings.parse(host.settings);
  const { EMAIL_ADDRESS: address, EMAIL_PASSWORD: secret } = settings;
  const threads = new Threads(host.store, { address, secret });
  const take = takingMails(host, settings, threads);
  const mailbox = new Mailbox({ settings, host, take, timing });
  const sending = new Sending({ settings, threads, mailbox, host });
  return {
    async identify() {
      await mailbox.verify();
      return { id: address, name: address };
    },
    start: async () => await mailbox.start(),
    stop: async () => await mailbox.stop(),
    send: async (part) => await sending.send(part),
    sendFile: async (file) => await sending.sendFile(file),
    download: async (media, signal) => await download(mailbox, media, signal),
    check: async () => await check(mailbox, settings),
  };
}

/** Passes on what the mails of people say, and nothing else. */
function takingMails(host: PluginChannelHost, settings: EmailSettings, threads: Threads) {
  const times = new Map<string, number[]>();
  const isLoop = (from: string): boolean => {
    const now = Date.now();
    const recent = (times.get(from) ?? []).filter((time) => time > now - HOUR_MS);
    if (times.size > 5_000) times.clear();
    times.set(from, [...recent, now]);
    return recent.length >= MAX_PER_HOUR;
  };
  return async (mail: StoredMail): Promise<void> => {
    const read = await readMail(mail, settings, threads).catch((error: unknown) => {
      const reason = error instanceof Error ? error.message.slice(0, 200) : '';
      return { ignored: `it cannot be read: ${reason}` };
    });
    const ignore = (reason: string, from = ''): void =>
      host.log('info', 'email_left_out', { place: mail.place, reason, from: maskedAddress(from) });
    if ('ignored' in read) return ignore(read.ignored, 'from' in read ? read.from : '');
    const { message, threadId, mailId, subject, references } = read;
    if (isLoop(message.senderId))
      return ignore(`its sender wrote more than ${MAX_PER_HOUR} mails in an hour`, message.senderId);
    await threads.add(message.chatId, threadId, { id: mailId, subject, references });
    await host.receive(message);
  };
}

async function download(
  mailbox: Mailbox,
  { url }: PluginMedia,
  signal: AbortSignal,
): Promise<AsyncIterable<Uint8Array>> {
  const [, place = '', index = ''] = /^(\d+\/\d+)\/(\d+)$/.exec(url) ?? [];
  const source = place === '' ? undefined : await mailbox.source(place);
  const attachment = source && (await parseMail(source)).attachments[Number(index)];
  if (attachment === undefined)
    throw new MailFailure(
      'rejected',
      'The mail with this file is no longer in the inbox. Please send it again.',
    );
  return piecesOf(bytesOf(attachment), signal);
}

async function* piecesOf(bytes: Uint8Array, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += PIECE) {
    if (signal.aborted) throw new MailFailure('unavailable', 'The file is no longer wanted.');
    yield bytes.subarray(at, at + PIECE);
  }
}

async function check(mailbox: Mailbox, settings: EmailSettings): Promise<PluginFinding[]> {
  const subject = 'E-mail';
  const ids = settings.EMAIL_AUTHSERV_ID;
  try {
    await mailbox.verify();
    const headers = await mailbox.newestHeaders('authentication-results', LOOKED_AT);
    const login: PluginFinding = {
      subject,
      level: 'ok',
      text: `The mailbox of ${settings.EMAIL_ADDRESS} opens.`,
    };
    const servers = headers.flatMap((text) => authservIdsIn(text));
    const names = [...new Set(servers)];
    if (names.length === 0 || names.some((id) => ids.includes(id))) return [login];
    const text = `No mail in the inbox has Authentication-Results of ${ids.join(', ')}: the bot reads none of them. Its mails name ${names.slice(0, 5).join(', ')}.`;
    const remedy = 'set EMAIL_AUTHSERV_ID to the name of your own mail server (docs/email.md)';
    return [login, { subject, level: 'error', text, remedy }];
  } catch (error) {
    const text =
      error instanceof MailFailure ? error.message : 'The mail server gave an answer that is none.';
    return [{ subject, level: 'error', text, remedy: 'see docs/email.md' }];
  }
}

function authservIdsIn(headers: string): string[] {
  const [first] = /^authentication-results:((?:.|\r?\n[ \t])*)/im.exec(headers)?.slice(1) ?? [];
  const id = first && readResults(first.replaceAll(/\r?\n/g, ' '))?.authservId;
  return id ? [id] : [];
}
