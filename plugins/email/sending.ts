/** Sends mails over SMTP: each once, in its thread, as text and as HTML. */
import { readFile } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { createTransport } from 'nodemailer';
import MailComposer, { type MailComposerOptions } from 'nodemailer/lib/mail-composer';
import type { PluginChannelHost, PluginFile, PluginPart, PluginSent } from '../../src/protocol/plugin.ts';
import { fromSmtp, MailFailure } from './failures.ts';
import type { Mailbox } from './mailbox.ts';
import { digest } from './records.ts';
import { ADDRESS, connectionOf, type EmailSettings } from './settings.ts';
import type { Threads } from './threads.ts';

/** As the manifest promises: characters of a text and of a caption, bytes of a file. */
const MAX_LENGTH = 100_000;
const MAX_CAPTION = 20_000;
const MAX_FILE_BYTES = 10 * 1_024 * 1_024;
/** Longest subject of a mail that begins a thread, in UTF-16 units. */
const MAX_SUBJECT = 78;
/** Sends that this process remembers. */
const MAX_SENT = 2_000;

interface SendingParts {
  settings: EmailSettings;
  threads: Threads;
  mailbox: Mailbox;
  host: Pick<PluginChannelHost, 'log'>;
}

interface Content extends Pick<MailComposerOptions, 'html' | 'attachments'> {
  text: string;
}
type Target = Pick<PluginPart, 'chatId' | 'threadId' | 'replyTo' | 'nonce'>;

export class Sending {
  readonly #parts: SendingParts;
  readonly #sent = new Set<string>();

  constructor(parts: SendingParts) {
    this.#parts = parts;
  }

  async send(part: PluginPart): Promise<PluginSent> {
    if (part.body.plain.length > MAX_LENGTH || part.body.text.length > 4 * MAX_LENGTH)
      throw new MailFailure('rejected', `A mail may have at most ${MAX_LENGTH} characters.`);
    const { threads, settings } = this.#parts;
    const words = await threads.offer(part, this.#idOf(part).messageId);
    const intro = words.length === 0 ? '' : settings.buttonsIntro;
    const lines = words.map(({ word, label }) => `${word}   ${label}`);
    const text = [part.body.plain, ...(intro === '' ? [] : ['', intro, '', ...lines])].join('\n');
    const list = words.map(({ word, label }) => `<li><b>${escaped(word)}</b> &nbsp; ${escaped(label)}</li>`);
    const choices = intro === '' ? '' : `<p>${escaped(intro)}</p><ul>${list.join('')}</ul>`;
    return await this.#mail(part, { text, ...(!part.plain && { html: page(part.body.text + choices) }) });
  }

  async sendFile(file: PluginFile): Promise<PluginSent> {
    const { caption, name, mimeType: contentType } = file;
    if ((caption?.plain.length ?? 0) > MAX_CAPTION)
      throw new MailFailure('rejected', `The text with a file may have at most ${MAX_CAPTION} characters.`);
    if (file.bytes > MAX_FILE_BYTES)
      throw new MailFailure('rejected', `The file ${name} is larger than ${MAX_FILE_BYTES / 1_048_576} MB.`);
    const content = await readFile(file.path).catch(() => {
      throw new MailFailure('rejected', `The file ${name} cannot be read.`);
    });
    const attachments = [{ filename: name, contentType, content, contentTransferEncoding: 'base64' }];
    const html = caption && { html: page(caption.text) };
    return await this.#mail(file, { text: caption?.plain ?? '', ...html, attachments });
  }

  /** A mail without a thread begins one, which its id names. */
  #idOf({ nonce, chatId, threadId }: Target): { threadId: string; messageId: string } {
    const thread = threadId ?? digest(`${chatId}\n${nonce}`);
    return { threadId: thread, messageId: this.#parts.threads.messageIdOf(`${chatId}\n${nonce}`, thread) };
  }

  /** An attempt before this one, perhaps of another process, is recognized by the id of its mail. */
  async #mail(target: Target, content: Content): Promise<PluginSent> {
    const { threads, mailbox, settings, host } = this.#parts;
    if (!ADDRESS.test(target.chatId)) throw new MailFailure('rejected', 'The chat is no mail address.');
    const { threadId, messageId } = this.#idOf(target);
    const message = { id: messageId };
    if (this.#sent.has(messageId) || (await mailbox.hasSent(messageId))) return message;
    const mail = await this.#compose(target, { threadId, messageId }, content);
    await this.#transfer(target.chatId, mail.source);
    this.#remember(messageId);
    if (settings.keepSent)
      // The mail is on its way: that its copy is missing must not send it again.
      await mailbox.keepSent(mail.source).catch((error: unknown) => {
        host.log('warn', 'email_copy_not_kept', { detail: error instanceof Error ? error.message : '' });
      });
    await threads.add(target.chatId, threadId, { id: messageId, subject: mail.subject });
    return message;
  }

  async #compose(
    { chatId, replyTo }: Target,
    { threadId, messageId }: { threadId: string; messageId: string },
    content: Content,
  ): Promise<{ source: Buffer; subject: string }> {
    const { threads, settings } = this.#parts;
    const thread = await threads.get(chatId, threadId);
    const inReplyTo = replyTo ?? thread?.last;
    const subject = thread?.subject ?? subjectOf(content.text);
    const isReply = inReplyTo !== undefined;
    const references = [...new Set([...(thread?.references ?? []), ...(isReply ? [inReplyTo] : [])])];
    const composer = new MailComposer({
      ...content,
      from: settings.EMAIL_ADDRESS,
      to: chatId,
      subject: isReply ? answering(subject) : subject,
      messageId,
      ...(isReply && { inReplyTo, references }),
      // No program answers a mail that says this. [RFC 3834, 5]
      headers: {
        'Auto-Submitted': isReply ? 'auto-replied' : 'auto-generated',
        'X-Auto-Response-Suppress': 'All',
      },
      disableUrlAccess: true,
      disableFileAccess: true,
    });
    return { source: await composer.compile().build(), subject };
  }

  async #transfer(chatId: string, source: Buffer): Promise<void> {
    const { settings } = this.#parts;
    const { EMAIL_SMTP_HOST: host, EMAIL_SMTP_PORT: port, EMAIL_ADDRESS: from, EMAIL_TLS: mode } = settings;
    const transport = createTransport({
      ...connectionOf(settings, host, port),
      requireTLS: mode === 'starttls',
      ignoreTLS: mode === 'none',
      connectionTimeout: 30_000,
      greetingTimeout: 15_000,
      socketTimeout: 60_000,
    });
    let isWritten = false;
    const raw = Readable.from(
      (function* () {
        // It is read once the server has accepted sender and recipient.
        isWritten = true;
        yield source;
      })(),
    );
    try {
      await transport.sendMail({ raw, envelope: { from, to: [chatId] } });
    } catch (error) {
      throw fromSmtp(error, isWritten);
    } finally {
      transport.close();
    }
  }

  #remember(messageId: string): void {
    if (this.#sent.size >= MAX_SENT) this.#sent.clear();
    this.#sent.add(messageId);
  }
}

function subjectOf(text: string): string {
  const line = text.trim().split('\n', 1)[0]?.trim() ?? '';
  return line.length > MAX_SUBJECT ? `${line.slice(0, MAX_SUBJECT - 1)}…` : line || 'Parley';
}

/** Answers have one `Re:`, whatever the program before called it. */
function answering(subject: string): string {
  return `Re: ${subject.replace(/^((re|aw|sv|antw|ref|rif|r)\s*:\s*)+/i, '')}`;
}

function page(body: string): string {
  return `<!DOCTYPE html><html><head><meta charset="utf-8"></head><body>${body}</body></html>`;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
