/** Commands in the menu of a message: a question about it, and a summary of everything said since. */
import {
  boundQuote,
  type InboundMessage,
  MAX_QUOTED_CHARS,
  type Quoted,
} from '../../../src/protocol/message.ts';
import { ChannelError, GatewayError } from '../../../src/protocol/errors.ts';
import type { Form } from '../../../src/protocol/receive.ts';
import { Recent } from '../../../src/lib/recent.ts';
import { type RawMessage, readMessage, textOf } from '../receiving/inbound.ts';
import { nameOf, quotedOf } from '../receiving/quoted.ts';
import type { DiscordRest } from '../rest/rest.ts';
import { ASK_ABOUT, SUMMARISE } from './commands.ts';
import { byWhom, fieldsOf, placeholderOf, type RawForm, type RawInteraction } from './read.ts';
import { type Say, textRef, type TextRef } from '../../../src/protocol/texts/say.ts';

/**
 * Maximum number of messages with an open form that are remembered, and for how long in milliseconds; later, Discord
 * is asked for them.
 */
export const MAX_TARGETS = 500;
const REMEMBERED_MS = 15 * 60_000;
/** Messages in one summary: as many as one call to Discord returns. */
export const MAX_SUMMARISED = 100;
const QUESTION = 'question';
const FORM = /^about:(\d{1,20})$/;

/** Shown to the person who asked, instead of an answer. */
export class CannotRead extends GatewayError {
  constructor(message: TextRef, options: { cause?: unknown } = {}) {
    super('cannot_read', message, options);
  }
}

export interface OnMessagesParts {
  rest: Pick<DiscordRest, 'call'>;
  epochNow: () => number;
}

export class OnMessages {
  readonly #parts: OnMessagesParts;
  readonly #targets: Recent<RawMessage>;

  constructor(parts: OnMessagesParts) {
    this.#parts = parts;
    this.#targets = new Recent(REMEMBERED_MS, MAX_TARGETS, parts.epochNow);
  }

  /** The form that asks for the question; undefined for another command. */
  formOf(command: RawInteraction, say: Say): Form | undefined {
    const target = targetOf(command);
    if (command.data.name !== ASK_ABOUT || target === undefined) return undefined;
    this.#targets.set(target.id, target);
    return {
      title: say('menu.ask_about'),
      value: `about:${target.id}`,
      fields: [
        {
          name: QUESTION,
          label: say('menu.your_question'),
          maxLength: MAX_QUESTION,
          lines: 'many',
          required: true,
        },
      ],
    };
  }

  /** True for the form of such a command. */
  isOwn({ data }: RawForm): boolean {
    return FORM.test(data.custom_id);
  }

  /** The question in a form, with the message that it is about. Throws `CannotRead`. */
  async asked(form: RawForm, botId: string): Promise<InboundMessage | undefined> {
    const by = byWhom(form);
    const id = FORM.exec(form.data.custom_id)?.[1] ?? '';
    if (by === undefined) return undefined;
    const target = this.#targets.get(id) ?? (await this.#readAgain(form.channel_id, id));
    const quoted = quotedOf(target, { botId, sender: by.senderId });
    const content = fieldsOf(form.data)[QUESTION] ?? '';
    return {
      ...by,
      content,
      ...(quoted && { quoted }),
      placeholder: placeholderOf(form, this.#parts.epochNow()),
    };
  }

  /** The request for a summary, with the messages to summarize; undefined for another command. Throws `CannotRead`. */
  async summary(command: RawInteraction, say: Say): Promise<InboundMessage | undefined> {
    const by = byWhom(command);
    const target = targetOf(command);
    if (command.data.name !== SUMMARISE || by === undefined || target === undefined) return undefined;
    const later = await this.#after(command.channel_id, target.id);
    const written = [target, ...later].map(
      (message) => `${nameOf(message.author) ?? ''}: ${textOf(message)}`,
    );
    const text = written.join('\n');
    const asked = [
      say('summary.prompt'),
      ...(later.length >= MAX_SUMMARISED ? [say('summary.more', { messages: written.length })] : []),
      ...(text.length > MAX_QUOTED_CHARS ? [say('summary.cut')] : []),
    ];
    const quoted: Quoted | undefined = boundQuote({ text, by: 'other', author: 'several people', media: [] });
    const content = asked.join(' ');
    return {
      ...by,
      content,
      ...(quoted && { quoted }),
      placeholder: placeholderOf(command, this.#parts.epochNow()),
    };
  }

  async #readAgain(channelId: string, id: string): Promise<RawMessage> {
    const path = `/channels/${channelId}/messages/${id}` as const;
    const message = readMessage(await this.#read(path));
    if (message !== undefined) return message;
    throw new CannotRead(textRef('read.gone'));
  }

  async #after(channelId: string, id: string): Promise<RawMessage[]> {
    const query = new URLSearchParams({ after: id, limit: String(MAX_SUMMARISED) });
    const answer = await this.#read(`/channels/${channelId}/messages`, query);
    return (Array.isArray(answer) ? answer : [])
      .map(readMessage)
      .filter((message) => message !== undefined)
      .sort((a, b) => (BigInt(a.id) < BigInt(b.id) ? -1 : 1));
  }

  async #read(path: `/${string}`, query?: URLSearchParams): Promise<unknown> {
    try {
      return await this.#parts.rest.call({ method: 'get', path, bucket: 'read', ...(query && { query }) });
    } catch (error) {
      if (!(error instanceof ChannelError)) throw error;
      const text =
        error.code === 'blocked'
          ? textRef('read.forbidden')
          : textRef('read.not_given', { network: 'Discord' });
      throw new CannotRead(text, { cause: error });
    }
  }
}

/** Longest question in a form: Discord's limit. */
const MAX_QUESTION = 4_000;

function targetOf({ data }: RawInteraction): RawMessage | undefined {
  return readMessage(data.resolved?.messages[data.target_id ?? '']);
}
