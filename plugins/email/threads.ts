/** Threads of mails, and the words by which a question in one can be answered. */
import { createHmac } from 'node:crypto';
import * as z from 'zod';
import type { PluginChannelHost, PluginPart, PluginSent } from '../../src/protocol/plugin.ts';
import { digest, Records } from './records.ts';

/** Ids of earlier mails that an answer names: the first one, and the newest. */
const MAX_REFERENCES = 20;
const MAX_SUBJECT = 200;
/** Longest id of a mail that is used: longer ones are no one's who wants an answer in the right place. */
const MAX_ID = 250;
/** Characters of codes: none can be mistaken for another. */
const LETTERS = 'ABCDEFGHJKMNPQRSTVWXYZ23456789';
const CODE_LENGTH = 5;
const MAX_WORD = 12;

const Thread = z.object({
  subject: z.string(),
  /** The newest mail. */
  last: z.string().optional(),
  references: z.array(z.string()),
});
export type Thread = z.infer<typeof Thread>;

const Choice = z.object({ value: z.string(), under: z.string() });

export class Threads {
  readonly #threads: Records<Thread>;
  readonly #choices: Records<z.infer<typeof Choice>>;
  readonly #domain: string;
  /** Secret. */
  readonly #secret: string;

  constructor(store: PluginChannelHost['store'], { address, secret }: { address: string; secret: string }) {
    this.#threads = new Records(store, 'threads', Thread);
    this.#choices = new Records(store, 'choices', Choice);
    this.#domain = address.split('@')[1] ?? '';
    this.#secret = secret;
  }

  /** The thread of a mail by the ids that it names, its own last: one of the bot's says it, else the first mail is its name. */
  idOf(messageIds: readonly string[]): string {
    for (const id of messageIds.toReversed()) {
      const [, thread, domain] = /^<p\.[0-9a-f]{24}\.([0-9a-f]{24})@(.+)>$/.exec(id) ?? [];
      if (thread !== undefined && domain === this.#domain) return thread;
    }
    return digest(messageIds[0] ?? '');
  }

  /** The id of a mail of the bot: the same for every attempt to send it. */
  messageIdOf(nonce: string, threadId: string): string {
    return `<p.${digest(nonce)}.${threadId}@${this.#domain}>`;
  }

  async get(chatId: string, threadId: string): Promise<Thread | undefined> {
    return await this.#threads.get(chatId, threadId);
  }

  /** A mail is the newest of its thread. */
  async add(
    chatId: string,
    threadId: string,
    mail: { id: string; subject: string; references?: readonly string[] },
  ): Promise<void> {
    const existing = await this.get(chatId, threadId);
    const ids = [...new Set([...(mail.references ?? existing?.references ?? []), mail.id])].filter(isUsable);
    const references =
      ids.length > MAX_REFERENCES ? [...ids.slice(0, 1), ...ids.slice(1 - MAX_REFERENCES)] : ids;
    const subject = (existing?.subject ?? mail.subject).slice(0, MAX_SUBJECT);
    await this.#threads.set({ subject, last: mail.id, references }, chatId, threadId);
  }

  /** The words that stand for buttons; replies with one of them press it. */
  async offer(part: PluginPart, messageId: string): Promise<{ word: string; label: string }[]> {
    return await Promise.all(
      part.buttons.map(async ({ label, value }) => {
        const word = this.#wordOf(label, `${part.chatId}\n${part.nonce}\n${value}`);
        await this.#choices.set({ value, under: messageId }, part.chatId, word);
        return { word, label };
      }),
    );
  }

  /** The button that a line presses, if it is one of the words. */
  async choiceOf(chatId: string, line: string): Promise<{ value: string; under: PluginSent } | undefined> {
    const word = line.toUpperCase().replaceAll(/^[^\p{L}\p{N}]+|[^\p{L}\p{N}]+$/gu, '');
    if (!/^(\p{L}{1,12}-)?[A-Z0-9]{5}$/u.test(word)) return undefined;
    const choice = await this.#choices.get(chatId, word);
    return choice && { value: choice.value, under: { id: choice.under } };
  }

  /** `APPROVE-K7QM2`: no one can guess it, and it is the same for every attempt. */
  #wordOf(label: string, name: string): string {
    const bytes = createHmac('sha256', this.#secret).update(name).digest();
    const code = Array.from({ length: CODE_LENGTH }, (_, at) => LETTERS[(bytes[at] ?? 0) % LETTERS.length]);
    const [word = ''] = label.toUpperCase().match(/\p{L}+/u) ?? [];
    return `${word === '' || word.length > MAX_WORD ? '' : `${word}-`}${code.join('')}`;
  }
}

/** The ids in a header, in their order. */
export function idsIn(header: string | undefined): string[] {
  return (header?.match(/<[^<>\s]+>/g) ?? []).filter(isUsable);
}

function isUsable(id: string): boolean {
  return id.length <= MAX_ID;
}
