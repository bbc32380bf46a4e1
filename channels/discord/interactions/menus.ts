/** Menus: those below the replies to commands without an argument, and the commands in the menu of a message. */
import { ComponentType, Routes } from 'discord.js';
import { type CommandListing, MAX_SUGGESTIONS, type Suggest } from '../../../src/protocol/command.ts';
import { ChannelError, GatewayError } from '../../../src/protocol/errors.ts';
import { boundQuote, type InboundMessage, MAX_QUOTED_CHARS } from '../../../src/protocol/message.ts';
import type { Form } from '../../../src/protocol/receive.ts';
import { type Say, textRef } from '../../../src/protocol/texts/say.ts';
import { waitAtMost } from '../../../src/lib/async/sleep.ts';
import { TtlCache } from '../../../src/lib/ttl-cache.ts';
import { type RawMessage, readMessage, readMessages, textOf } from '../receiving/inbound.ts';
import { mediaOf, nameOf, quotedOf } from '../receiving/message-parts.ts';
import { listMessages } from '../receiving/messages.ts';
import type { DiscordRest } from '../rest.ts';
import { ASK_ABOUT, SUMMARISE } from './commands.ts';
import {
  fieldsOf,
  filesOf,
  MAX_OPTION,
  messageBy,
  placeholderOf,
  type RawForm,
  type RawInteraction,
} from './read.ts';

/** Longest wait for the options, in milliseconds: they must not delay the reply. */
const SUGGEST_MS = 800;
/** For these, a suggestion is only the beginning of the argument. */
const NOT_WHOLE = ['schedule'];

/** The rows below the reply to a command: none if it got an argument, or no options are known. Never throws. */
export async function menuUnder(
  message: InboundMessage,
  commands: readonly CommandListing[],
  suggest: Suggest,
): Promise<object[]> {
  const name = /^\/([-_a-z0-9]{1,32})$/.exec(message.content)?.[1];
  const argument = commands.find((one) => one.name === name)?.argument;
  if (name === undefined || argument === undefined || NOT_WHOLE.includes(name)) return [];
  const choices = argument.choices ?? (argument.suggests === true ? await suggestions(message, suggest) : []);
  const values = [...new Set(choices)].filter((one) => one !== '' && one.length <= MAX_OPTION);
  if (values.length < 2) return [];
  const options = values.slice(0, MAX_SUGGESTIONS).map((one) => ({ label: one, value: one }));
  const select = { type: ComponentType.StringSelect, custom_id: `choose:${name}`, options };
  return [{ type: ComponentType.ActionRow, components: [select] }];
}

/** Nothing if that fails or takes too long: the reply says what can be typed. */
async function suggestions(message: InboundMessage, suggest: Suggest): Promise<readonly string[]> {
  const answer = suggest({ ...message, content: `${message.content} ` }).catch(() => []);
  const first = await waitAtMost(SUGGEST_MS, answer);
  return first === 'late' ? [] : first;
}

/** Messages with an open form that are remembered, and for how long in milliseconds; then Discord is asked for them. */
export const MAX_TARGETS = 500;
const REMEMBERED_MS = 15 * 60_000;
/** Messages in one summary: as many as one call to Discord returns. */
export const MAX_SUMMARISED = 100;
/** Longest question in a form: Discord's limit. */
const MAX_QUESTION = 4_000;
const QUESTION = 'question';
const FORM = /^about:(\d{1,20})$/;

/** Shown to the person who asked, instead of an answer. */
export class CannotRead extends GatewayError {}

/** Commands in the menu of a message: a question about it, and a summary of everything said since. */
export class OnMessages {
  readonly #rest: DiscordRest;
  readonly #epochNow: () => number;
  readonly #targets: TtlCache<RawMessage>;

  constructor(rest: DiscordRest, epochNow: () => number) {
    this.#rest = rest;
    this.#epochNow = epochNow;
    this.#targets = new TtlCache(REMEMBERED_MS, MAX_TARGETS, epochNow);
  }

  /** The form that asks for the question; undefined for another command. */
  formOf(command: RawInteraction, say: Say): Form | undefined {
    const target = targetOf(command);
    if (command.data.name !== ASK_ABOUT || target === undefined) return undefined;
    this.#targets.set(target.id, target);
    const label = say('menu.your_question');
    return {
      title: say('menu.ask_about'),
      value: `about:${target.id}`,
      fields: [{ name: QUESTION, label, maxLength: MAX_QUESTION, lines: 'many', required: true }],
      files: say('menu.files'),
    };
  }

  /** True for the form of such a command. */
  isOwn({ data }: RawForm): boolean {
    return FORM.test(data.custom_id);
  }

  /** The question in a form, with the message that it is about. Throws `CannotRead`. */
  async question(form: RawForm, botId: string): Promise<InboundMessage | undefined> {
    const inbound = messageBy(form, fieldsOf(form.data)[QUESTION] ?? '');
    const id = FORM.exec(form.data.custom_id)?.[1] ?? '';
    if (inbound === undefined) return undefined;
    const target = this.#targets.get(id) ?? (await this.#readAgain(form.channel_id, id));
    const quoted = quotedOf(target, botId, inbound.senderId);
    const media = mediaOf({ attachments: filesOf(form.data) });
    return { ...inbound, media, quoted, placeholder: placeholderOf(form, this.#epochNow()) };
  }

  /** The request for a summary, with the messages to summarize; undefined for another command. Throws `CannotRead`. */
  async summary(command: RawInteraction, say: Say): Promise<InboundMessage | undefined> {
    const target = targetOf(command);
    if (command.data.name !== SUMMARISE || target === undefined) return undefined;
    const messages = await this.#readAfter(command.channel_id, target.id);
    const lines = [target, ...messages].map(
      (message) => `${nameOf(message.author) ?? ''}: ${textOf(message)}`,
    );
    const text = lines.join('\n');
    const request = [
      say('summary.prompt'),
      ...(messages.length >= MAX_SUMMARISED ? [say('summary.more', { messages: lines.length })] : []),
      ...(text.length > MAX_QUOTED_CHARS ? [say('summary.cut')] : []),
    ];
    const quoted = boundQuote({ text, by: 'other', author: 'several people', media: [] });
    const inbound = messageBy(command, request.join(' '));
    return inbound && { ...inbound, quoted, placeholder: placeholderOf(command, this.#epochNow()) };
  }

  async #readAgain(channelId: string, id: string): Promise<RawMessage> {
    const path = Routes.channelMessage(channelId, id);
    const message = readMessage(
      await readOrSay(() => this.#rest.call({ method: 'get', path, bucket: 'read' })),
    );
    if (message !== undefined) return message;
    throw new CannotRead('cannot_read', textRef('read.gone'));
  }

  async #readAfter(channelId: string, id: string): Promise<RawMessage[]> {
    const range = { limit: MAX_SUMMARISED, after: id };
    return readMessages(
      await readOrSay(() => listMessages(this.#rest, channelId, range, { bucket: 'read' })),
    );
  }
}

/** Throws `CannotRead` with what the person who asked is told. */
async function readOrSay<Answer>(read: () => Promise<Answer>): Promise<Answer> {
  try {
    return await read();
  } catch (error) {
    if (!(error instanceof ChannelError)) throw error;
    const text =
      error.code === 'blocked'
        ? textRef('read.forbidden')
        : textRef('read.not_given', { network: 'Discord' });
    throw new CannotRead('cannot_read', text, { cause: error });
  }
}

function targetOf({ data }: RawInteraction): RawMessage | undefined {
  return readMessage(data.resolved?.messages[data.target_id ?? '']);
}
