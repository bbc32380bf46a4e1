/** Slash commands and pressed buttons: acknowledged within Discord's three seconds, answered at once or in a deferred reply. */
import { ComponentType, InteractionResponseType, MessageFlags, TextInputStyle } from 'discord-api-types/v10';
import { ChannelError, wordError } from '../../../src/protocol/errors.ts';
import { hasCode } from '../errors.ts';
import { type CommandListing, MAX_SUGGESTIONS, type Suggest } from '../../../src/protocol/command.ts';
import type { Log } from '../../../src/protocol/log.ts';
import { type InboundMessage, userIdOf } from '../../../src/protocol/message.ts';
import type { Form, Receipt, Receive } from '../../../src/protocol/receive.ts';
import { CannotRead, OnMessages } from './on-messages.ts';
import {
  fromForm,
  fromInteraction,
  fromPress,
  placeholderOf,
  type RawForm,
  type RawInteraction,
  type RawPress,
  readForm,
  readInteraction,
  readMessageCommand,
  readPress,
  readTyping,
} from './read.ts';
import { fromChoice, readChoice, Selects } from './selects.ts';
import type { Replies } from '../replies.ts';
import { contentOfText, type Sending } from '../sending.ts';
import type { DiscordRest } from '../rest/rest.ts';
import { type ChannelLanguages, sayToPerson } from '../../../src/protocol/texts/languages.ts';
import type { Say } from '../../../src/protocol/texts/say.ts';

/** Discord's limits: fields, characters of a title or label, of a description, and of a value. */
const MAX_FIELDS = 5;

const MAX_LABEL = 45;

const MAX_DESCRIPTION = 100;

const MAX_VALUE = 4_000;

/** Commands whose reply everyone in the channel sees. */
const PUBLIC_COMMANDS = ['/stop', '/new'];
/** Longest suggestion that Discord accepts. */
const MAX_CHOICE = 100;

/** The part of an interaction that is needed to answer it. */
type Interaction = Pick<RawInteraction, 'id' | 'token' | 'application_id'>;

export class Interactions {
  readonly #rest: DiscordRest;
  readonly #replies: Replies;
  readonly #sending: Pick<Sending, 'noteGuest'>;
  readonly #log: Log;
  readonly #epochNow: () => number;
  readonly #deferAfterMs: number;
  readonly #suggest: Suggest;
  readonly #selects: Selects;
  readonly #onMessages: OnMessages;
  readonly #languages: ChannelLanguages;

  constructor(parts: {
    rest: DiscordRest;
    replies: Replies;
    sending: Pick<Sending, 'noteGuest'>;
    log: Log;
    epochNow: () => number;
    deferAfterMs: number;
    suggest: Suggest;
    languages: ChannelLanguages;
    commands: readonly CommandListing[];
  }) {
    this.#languages = parts.languages;
    this.#selects = new Selects(parts);
    this.#suggest = parts.suggest;
    this.#onMessages = new OnMessages(parts);
    this.#deferAfterMs = parts.deferAfterMs;
    this.#rest = parts.rest;
    this.#replies = parts.replies;
    this.#sending = parts.sending;
    this.#log = parts.log;
    this.#epochNow = parts.epochNow;
  }

  /** Acts on a command, a command that is being typed, a press or a form, and on nothing else. Never throws. */
  async takeEvent(event: unknown, receive: Receive, botId: string): Promise<void> {
    const command = readInteraction(event);
    const onMessage = readMessageCommand(event);
    const typing = readTyping(event);
    const press = readPress(event);
    const form = readForm(event);
    if (command !== undefined) await this.#onCommand(command, receive);
    if (onMessage !== undefined) await this.#onMessageCommand(onMessage, receive);
    if (typing !== undefined) await this.#onTyping(typing);
    if (form !== undefined) await this.#onForm(form, receive, botId);
    if (press !== undefined) await this.#onPress(press, receive);
    const choice = readChoice(event);
    if (choice !== undefined)
      await this.#publish(choice, fromChoice(choice, this.#epochNow()), receive, true);
  }

  /** Publishes a command and answers it. Never throws. */
  async #onCommand(interaction: RawInteraction, receive: Receive): Promise<void> {
    await this.#publish(interaction, fromInteraction(interaction, this.#epochNow()), receive);
  }

  /** Publishes a pressed button; only the person who pressed it sees the reply. Never throws. */
  async #onPress(press: RawPress, receive: Receive): Promise<void> {
    await this.#publish(press, fromPress(press), receive);
  }

  /** Shows the form of a command on a message, or publishes its request. Never throws. */
  async #onMessageCommand(command: RawInteraction, receive: Receive): Promise<void> {
    const say = await this.#sayTo(fromInteraction(command, this.#epochNow()));
    const form = this.#onMessages.formOf(command, say);
    if (form === undefined) {
      const asked = fromInteraction(command, this.#epochNow());
      // Everyone sees the answer, unlike that of a gateway command.
      await this.#publish(command, asked && { ...asked, content: '' }, async () => {
        const summary = await this.#onMessages.summary(command, say);
        return summary === undefined
          ? { kind: 'handled', reply: say('press.unknown_command') }
          : await receive(summary);
      });
      return;
    }
    try {
      await this.#respond(command, { type: InteractionResponseType.Modal, data: modalOf(form) });
    } catch (error) {
      this.#log.warn({ err: error, chatId: command.channel_id }, 'discord_command_unacknowledged');
    }
  }

  /** Publishes a form that was filled in. Never throws. */
  async #onForm(form: RawForm, receive: Receive, botId: string): Promise<void> {
    const message = fromForm(form);
    if (!this.#onMessages.isOwn(form)) await this.#publish(form, message, receive);
    else {
      // It is answered like a command, in a reply that everyone sees.
      const question = message && { ...message, button: undefined };
      await this.#publish(form, question, async () => {
        const asked = await this.#onMessages.asked(form, botId);
        return asked === undefined ? { kind: 'handled' } : await receive(asked);
      });
    }
  }

  /** Suggests arguments for a command that is being typed; none if that fails. Never throws. */
  async #onTyping(typing: RawInteraction): Promise<void> {
    const { data } = typing;
    const isTyped = data.options.some(({ focused }) => focused === true);
    const message = isTyped ? fromInteraction(typing, this.#epochNow()) : undefined;
    try {
      const found = message === undefined ? [] : await this.#suggest(message);
      const fitting = found.filter((one) => one !== '' && one.length <= MAX_CHOICE).slice(0, MAX_SUGGESTIONS);
      const choices = fitting.map((one) => ({ name: one, value: one }));
      const type = InteractionResponseType.ApplicationCommandAutocompleteResult;
      await this.#respond(typing, { type, data: { choices } });
    } catch (error) {
      this.#log.debug({ err: error, chatId: typing.channel_id }, 'discord_suggestions_failed');
    }
  }

  async #publish(
    interaction: Interaction,
    message: InboundMessage | undefined,
    receive: Receive,
    isChoice = false,
  ): Promise<void> {
    if (message === undefined) return;
    if (message.isGuest === true) this.#sending.noteGuest(message.threadId ?? message.chatId);
    // Set before the commit: a turn that starts at once finds it and waits.
    const acknowledged = this.#replies.holdBack(interaction.token);
    try {
      await this.#answer(interaction, message, receive, { acknowledged, isChoice });
    } catch (error) {
      this.#log.warn({ err: error, chatId: message.chatId }, 'discord_command_unacknowledged');
    } finally {
      acknowledged();
    }
  }

  /**
   * Commits first, then defers. After 1.5 s it defers without waiting for the commit, because Discord shows a command
   * that is not acknowledged in 3 s as failed; if the commit then fails, the deferred reply says so.
   */
  async #answer(
    interaction: Interaction,
    message: InboundMessage,
    receive: Receive,
    { acknowledged, isChoice }: { acknowledged: () => void; isChoice: boolean },
  ): Promise<void> {
    const saying = this.#sayTo(message);
    const receipt = receive(message).catch(async (error: unknown): Promise<Receipt> => {
      const say = await saying;
      if (error instanceof CannotRead) return { kind: 'handled', reply: wordError(error, 'person', say) };
      this.#log.error({ err: error, chatId: message.chatId }, 'discord_command_not_stored');
      return { kind: 'handled', reply: say('press.not_stored') };
    });
    const first = await Promise.race([receipt, afterMs(this.#deferAfterMs)]);
    if (first === 'late' || first.kind === 'accepted' || first.kind === 'duplicate') {
      const type = InteractionResponseType.DeferredChannelMessageWithSource;
      const isHidden = message.button !== undefined || (first === 'late' && isPrivateCommand(message));
      await this.#respond(interaction, {
        type,
        ...(isHidden && { data: { flags: MessageFlags.Ephemeral } }),
      });
      acknowledged();
    } else if (first.kind === 'handled' && first.form !== undefined) {
      await this.#respond(interaction, { type: InteractionResponseType.Modal, data: modalOf(first.form) });
    } else {
      const components = first.kind === 'handled' && !isChoice ? await this.#selects.under(message) : [];
      const data = {
        ...contentOfText(replyTo(first, await saying)),
        flags: flagsFor(message, first),
        components,
      };
      // The choice replaces the menu.
      const { ChannelMessageWithSource, UpdateMessage } = InteractionResponseType;
      await this.#respond(interaction, { type: isChoice ? UpdateMessage : ChannelMessageWithSource, data });
    }
    if (first !== 'late') return;
    const late = await receipt;
    if (late.kind === 'accepted' || late.kind === 'duplicate') return;
    const deferred = placeholderOf(interaction, this.#epochNow());
    await this.#replies.edit(
      deferred,
      message.threadId ?? message.chatId,
      contentOfText(replyTo(late, await saying)),
    );
  }

  async #sayTo(message: InboundMessage | undefined): Promise<Say> {
    return await sayToPerson(
      this.#languages,
      message === undefined ? '' : userIdOf(message),
      message?.language,
    );
  }

  /** Sends the first answer. An answer that was already sent is not an error: Discord repeats events after a resume. */
  async #respond(interaction: Interaction, body: object): Promise<void> {
    const path = `/interactions/${interaction.id}/${interaction.token}/callback` as const;
    try {
      await this.#rest.call({
        method: 'post',
        path,
        bucket: `callback ${interaction.id}`,
        body,
        auth: false,
      });
    } catch (error) {
      if (!isAlreadyAcknowledged(error)) throw error;
    }
  }
}

function replyTo(receipt: Receipt, say: Say): string {
  // A form can be shown only in place of the first answer.
  if (receipt.kind === 'handled' && receipt.form !== undefined) return say('press.too_late');
  if (receipt.kind === 'handled') return receipt.reply ?? say('press.done');
  return receipt.kind === 'refused' ? (receipt.reply ?? say('press.not_answered')) : say('press.done');
}

/** True for a gateway command whose reply only the person who asked may see: its deferred reply must not be public either. */
function isPrivateCommand({ content }: InboundMessage): boolean {
  return content.startsWith('/') && !PUBLIC_COMMANDS.includes(content.split(/\s/, 1)[0] ?? '');
}

/** Everyone in the channel sees that an answer was stopped; only the person who asked sees the other replies. */
function flagsFor(message: InboundMessage, receipt: Receipt): number {
  const open = receipt.kind === 'handled' && message.content.startsWith('/') && !isPrivateCommand(message);
  return open ? MessageFlags.SuppressEmbeds : MessageFlags.SuppressEmbeds | MessageFlags.Ephemeral;
}

function isAlreadyAcknowledged(error: unknown): boolean {
  return error instanceof ChannelError && hasCode(error.cause, 40_060);
}

async function afterMs(ms: number): Promise<'late'> {
  return await new Promise((resolve) => {
    setTimeout(resolve, ms, 'late').unref();
  });
}

/** The data of a modal (`InteractionResponseType.Modal`), within Discord's limits. */
function modalOf({ title, value, fields }: Form): object {
  return {
    custom_id: value,
    title: cut(title, MAX_LABEL),
    components: fields.slice(0, MAX_FIELDS).map((field) => ({
      type: ComponentType.Label,
      label: cut(field.label, MAX_LABEL),
      ...(field.description !== undefined && { description: cut(field.description, MAX_DESCRIPTION) }),
      component: {
        type: ComponentType.TextInput,
        custom_id: field.name,
        style: field.lines === 'one' ? TextInputStyle.Short : TextInputStyle.Paragraph,
        max_length: Math.min(field.maxLength, MAX_VALUE),
        required: field.required,
        ...(field.value !== undefined && { value: cut(field.value, MAX_VALUE) }),
      },
    })),
  };
}

function cut(text: string, most: number): string {
  return text.slice(0, most).toWellFormed();
}
