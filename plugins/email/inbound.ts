/** Reads a mail: who wrote it, whether they did, and what they say. */
import { domainToASCII } from 'node:url';
import PostalMime, { addressParser, type Attachment, type Email } from 'postal-mime';
import type { PluginMedia, PluginMessage } from '../../src/protocol/plugin.ts';
import { forgeryOf } from './authentication.ts';
import { textOfHtml } from './html-text.ts';
import { ownText } from './quoting.ts';
import { digest } from './records.ts';
import { ADDRESS, type EmailSettings } from './settings.ts';
import { idsIn, type Threads } from './threads.ts';

/** Bounds on what one mail may contain; whatever exceeds the first three is not read at all. */
const LIMITS = { maxNestingDepth: 30, maxHeadersSize: 256 * 1_024, forceRfc822Attachments: true };
/** Largest mail, in bytes: what is longer is told, not read. */
export const MAX_MAIL_BYTES = 25 * 1_024 * 1_024;
const MAX_ATTACHMENTS = 20;
/** Longest text that is passed on, in UTF-16 units. */
export const MAX_TEXT = 100_000;
/** Pictures in the text that are smaller are logos of signatures, in bytes. */
const MIN_PICTURE = 10 * 1_024;

/** A mail as the mailbox keeps it. */
export interface StoredMail {
  source: Uint8Array;
  /** Of the whole mail, in bytes; `source` is its beginning if this is more than `MAX_MAIL_BYTES`. */
  size: number;
  /** `<uidvalidity>/<uid>`. */
  place: string;
  /** When the server received it, in epoch milliseconds. */
  receivedAt: number;
}

export type ReadMail =
  | { ignored: string; from?: string }
  | { message: PluginMessage; threadId: string; subject: string; references: string[]; mailId: string };

/** Parses within the limits. Rejects for a mail that exceeds them. */
export async function parseMail(source: Uint8Array): Promise<Email> {
  return await PostalMime.parse(source, LIMITS);
}

/** Reads a mail that was received. Rejects only for one that cannot be parsed. */
export async function readMail(
  mail: StoredMail,
  settings: EmailSettings,
  threads: Threads,
): Promise<ReadMail> {
  const email = await parseMail(mail.source);
  const [sender, ...others] = senders(email);
  if (sender === undefined || others.length > 0) return { ignored: 'it does not have exactly one sender' };
  const from = normalized(sender.address);
  if (from === undefined) return { ignored: 'the address of its sender is none' };
  const reason =
    from === settings.EMAIL_ADDRESS
      ? 'the bot wrote it itself'
      : (automaticReason(email, from) ?? forgery(email, from, settings));
  if (reason !== undefined) return { ignored: reason, from };
  const ownId = email.messageId ?? '';
  const references = idsIn(`${email.references ?? ''} ${email.inReplyTo ?? ''}`);
  const mailId = idsIn(ownId)[0] ?? `<${digest(mail.place)}@unnamed.invalid>`;
  const threadId = threads.idOf([...references, mailId]);
  const subject = (email.subject ?? '').replaceAll(/\s+/g, ' ').trim();
  const content = contentOf(email, mail, subject, references.length === 0);
  const choice = await threads.choiceOf(from, content.split('\n', 1)[0]?.trim() ?? '');
  const message: PluginMessage = {
    id: digest(`${from}\n${ownId === '' ? mail.place : ownId}`),
    chatId: from,
    ...(settings.sessions === 'thread' && { threadId }),
    senderId: from,
    ...(sender.name !== '' && { senderName: sender.name.slice(0, 100) }),
    timestamp: mail.receivedAt,
    place: 'private',
    mentioned: true,
    messageId: mailId,
    ...(choice === undefined
      ? { content, media: mail.size > MAX_MAIL_BYTES ? [] : mediaOf(email, mail.place) }
      : { content: '', button: choice.value, buttonUnder: choice.under }),
  };
  return { message, threadId, subject, references, mailId };
}

function senders(email: Email): { name: string; address: string }[] {
  const all = headersOf(email, 'from').flatMap((value) => addressParser(value, { flatten: true }));
  return all.flatMap(({ name, address }) => (address === undefined ? [] : [{ name, address }]));
}

/** In lower case, with an ASCII domain; undefined for what is no address. */
function normalized(address: string): string | undefined {
  const at = address.lastIndexOf('@');
  const text = `${address.slice(0, at)}@${domainToASCII(address.slice(at + 1))}`.toLowerCase();
  return ADDRESS.test(text) ? text : undefined;
}

function headersOf(email: Email, name: string): string[] {
  return email.headers.filter(({ key }) => key === name).map(({ value }) => value);
}

/** Why a mail was written by a program, which must not get an answer. [RFC 3834, 2; RFC 5230, 4.6] */
function automaticReason(email: Email, from: string): string | undefined {
  const first = (name: string): string => headersOf(email, name)[0]?.toLowerCase().trim() ?? '';
  const submitted = first('auto-submitted');
  if (submitted !== '' && submitted.split(/[;\s]/, 1)[0] !== 'no') return 'it is automatic (Auto-Submitted)';
  if (/^(bulk|junk|list|auto_reply)\b/.test(first('precedence'))) return 'it is automatic (Precedence)';
  if (first('x-autoreply') !== '' || first('x-autorespond') !== '') return 'it is an automatic reply';
  if (email.headers.some(({ key }) => /^list-(id|post|unsubscribe|help)$/.test(key)))
    return 'it is from a list';
  if (headersOf(email, 'return-path').some((value) => value.trim() === '<>'))
    return 'it is a notification (no return path)';
  if (/^multipart\/report\b/.test(first('content-type'))) return 'it is a report of a mail server';
  if (/^(mailer-daemon|postmaster|no-?reply|do-?not-?reply|bounces?)([+-][^@]*)?@/.test(from))
    return 'its sender takes no answers';
  return undefined;
}

function forgery(email: Email, from: string, settings: EmailSettings): string | undefined {
  const results = headersOf(email, 'authentication-results');
  return forgeryOf(results, settings.EMAIL_AUTHSERV_ID, from.slice(from.lastIndexOf('@') + 1));
}

function contentOf(email: Email, mail: StoredMail, subject: string, isFirst: boolean): string {
  if (mail.size > MAX_MAIL_BYTES)
    return `[a mail about ${JSON.stringify(subject)} with ${Math.round(mail.size / 1_048_576)} MB, too large to be read]`;
  const whole = email.text?.trim() ? email.text : textOfHtml(email.html ?? '');
  const words = ownText(whole);
  const rest = email.attachments.length - MAX_ATTACHMENTS;
  const more = rest > 0 ? `\n\n[${rest} more attachments were left out]` : '';
  const text =
    words.length > MAX_TEXT
      ? `${words.slice(0, MAX_TEXT)}\n\n[the mail goes on for ${words.length - MAX_TEXT} characters]`
      : words;
  // Commands are commands only alone; the subject of an answer is that of the thread.
  if (!isFirst || subject === '' || text.startsWith('/')) return text + more;
  return (text === '' ? subject : `Subject: ${subject}\n\n${text}`) + more;
}

function mediaOf(email: Email, place: string): PluginMedia[] {
  return email.attachments
    .map((attachment, index) => ({ attachment, index }))
    .filter(({ attachment }) => !isLogo(attachment))
    .slice(0, MAX_ATTACHMENTS)
    .map(({ attachment, index }) => ({
      kind: kindOf(attachment.mimeType),
      url: `${place}/${index}`,
      name: nameOf(attachment, index),
      mimeType: attachment.mimeType,
      bytes: bytesOf(attachment).length,
    }));
}

function isLogo(attachment: Attachment): boolean {
  return attachment.related === true && bytesOf(attachment).length < MIN_PICTURE;
}

function kindOf(mimeType: string): PluginMedia['kind'] {
  const family = mimeType.split('/', 1)[0];
  return family === 'image' || family === 'audio' || family === 'video' ? family : 'file';
}

/** Names are claims: no path, no control characters. */
function nameOf({ filename, mimeType }: Attachment, index: number): string {
  const name = (filename ?? '').replaceAll(/[\p{Cc}\\/]+/gu, ' ').trim();
  return name === ''
    ? `attachment-${index + 1}${mimeType === 'message/rfc822' ? '.eml' : ''}`
    : name.slice(0, 200);
}

export function bytesOf({ content }: Attachment): Uint8Array {
  return typeof content === 'string' ? Buffer.from(content) : new Uint8Array(content);
}
