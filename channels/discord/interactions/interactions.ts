/** Slash commands, pressed buttons, menus and forms: acknowledged within Discord's three seconds, answered at once or in a deferred reply. */
import {
  ComponentType,
  InteractionResponseType,
  MessageFlags,
  RESTJSONErrorCodes,
  Routes,
  TextInputStyle,
} from 'discord.js';
import type { ChannelDeps } from '../../../src/protocol/channel.ts';
import { isPublicCommand, replyTo } from '../../../src/protocol/channel-parts.ts';
import { MAX_SUGGESTIONS } from '../../../src/protocol/command.ts';
import { ChannelError, wordError } from '../../../src/protocol/errors.ts';
import { type InboundMessage, userIdOf } from '../../../src/protocol/message.ts';
import type { Form, Receipt, Receive } from '../../../src/protocol/receive.ts';
import { sayToPerson } from '../../../src/protocol/texts/languages.ts';
import type { Say } from '../../../src/protocol/texts/say.ts';
import { waitAtMost } from '../../../src/lib/async/sleep.ts';
import type { DiscordTiming } from '../config.ts';
import { hasCode } from '../errors.ts';
import type { Replies } from '../replies.ts';
import type { DiscordRest } from '../rest.ts';
import { contentOfText, type Sending } from '../sending.ts';
import { CannotRead, menuUnder, OnMessages } from './menus.ts';
import {
  fromChoice,
  fromForm,
  fromInteraction,
  fromPress,
  type InteractionHandle,
  placeholderOf,
  type RawForm,
  type RawInteraction,
  readInteraction,
} from './read.ts';

/** Discord's limits: fields, characters of a title or label, of a description, and of a value. */
const MAX_FIELDS = 5;
/** Files of one upload field. */
const MAX_FILES = 10;
const MAX_LABEL = 45;
const MAX_DESCRIPTION = 100;
const MAX_VALUE = 4_000;

/** Longest suggestion that Discord accepts. */
const MAX_CHOICE = 100;

export class Interactions {
  readonly #rest: DiscordRest;
  readonly #sending: Sending;
  readonly #replies: Replies;
  readonly #deps: ChannelDeps;
  readonly #timing: DiscordTiming;
  readonly #onMessages: OnMessages;

  constructor(
    rest: DiscordRest,
    sending: Sending,
    replies: Replies,
    deps: ChannelDeps,
    timing: DiscordTiming,
  ) {
    this.#rest = rest;
    this.#sending = sending;
    this.#replies = replies;
    this.#deps = deps;
    this.#timing = timing;
    this.#onMessages = new OnMessages(rest, timing.epochNow);
  }

  /** Acts on a command, a command that is being typed, a press, a choice or a form, and on nothing else. Never throws. */
  async takeEvent(event: unknown, receive: Receive, botId: string): Promise<void> {
    const read = readInteraction(event);
    const now = this.#timing.epochNow();
    switch (read?.kind) {
      case 'command':
        await this.#publish(read.interaction, fromInteraction(read.interaction, now), receive);
        return;
      case 'message_command':
        await this.#onMessageCommand(read.interaction, receive);
        return;
      case 'typing':
        await this.#onTyping(read.interaction);
        return;
      case 'form':
        await this.#onForm(read.interaction, receive, botId);
        return;
      case 'press':
        // Only the person who pressed it sees the reply.
        await this.#publish(read.interaction, fromPress(read.interaction), receive);
        return;
      case 'choice':
        await this.#publish(read.interaction, fromChoice(read.interaction, now), receive, true);
        return;
      default:
    }
  }

  /** Shows the form of a command on a message, or publishes its request. Never throws. */
  async #onMessageCommand(command: RawInteraction, receive: Receive): Promise<void> {
    const message = fromInteraction(command, this.#timing.epochNow());
    const say = await this.#sayTo(message);
    const form = this.#onMessages.formOf(command, say);
    if (form === undefined) {
      // Everyone sees the answer, unlike that of a gateway command.
      await this.#publish(command, message && { ...message, content: '' }, async () => {
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
      this.#deps.log.warn({ err: error, chatId: command.channel_id }, 'discord_command_unacknowledged');
    }
  }

  async #onForm(form: RawForm, receive: Receive, botId: string): Promise<void> {
    const message = fromForm(form);
    if (!this.#onMessages.isOwn(form)) await this.#publish(form, message, receive);
    else {
      // It is answered like a command, in a reply that everyone sees.
      const command = message && { ...message, button: undefined };
      await this.#publish(form, command, async () => {
        const question = await this.#onMessages.question(form, botId);
        return question === undefined ? { kind: 'handled' } : await receive(question);
      });
    }
  }

  /** Suggests arguments for a command that is being typed; none if that fails. Never throws. */
  async #onTyping(typing: RawInteraction): Promise<void> {
    const { data } = typing;
    const isTyped = data.options.some(({ focused }) => focused === true);
    const message = isTyped ? fromInteraction(typing, this.#timing.epochNow()) : undefined;
    try {
      const suggestions = message === undefined ? [] : await this.#deps.gateway.suggest(message);
      const valid = suggestions.filter((one) => one !== '' && one.length <= MAX_CHOICE);
      const choices = valid.slice(0, MAX_SUGGESTIONS).map((one) => ({ name: one, value: one }));
      const type = InteractionResponseType.ApplicationCommandAutocompleteResult;
      await this.#respond(typing, { type, data: { choices } });
    } catch (error) {
      this.#deps.log.debug({ err: error, chatId: typing.channel_id }, 'discord_suggestions_failed');
    }
  }

  async #publish(
    interaction: InteractionHandle,
    message: InboundMessage | undefined,
    receive: Receive,
    isChoice = false,
  ): Promise<void> {
    if (message === undefined) return;
    if (message.isGuest === true) this.#sending.noteGuest(message.threadId ?? message.chatId);
    // Set before the commit: a turn that starts at once finds it and waits.
    const acknowledged = this.#replies.holdBack(interaction.token);
    try {
      await this.#answer(interaction, message, receive, acknowledged, isChoice);
    } catch (error) {
      this.#deps.log.warn({ err: error, chatId: message.chatId }, 'discord_command_unacknowledged');
    } finally {
      acknowledged();
    }
  }

  /** Commits, then defers; after 1.5 s it defers first, because Discord waits only 3 s: a failed commit is then the reply. */
  async #answer(
    interaction: InteractionHandle,
    message: InboundMessage,
    receive: Receive,
    acknowledged: () => void,
    isChoice: boolean,
  ): Promise<void> {
    const sayPromise = this.#sayTo(message);
    const receipt = receive(message).catch(async (error: unknown): Promise<Receipt> => {
      const say = await sayPromise;
      if (error instanceof CannotRead) return { kind: 'handled', reply: wordError(error, 'person', say) };
      this.#deps.log.error({ err: error, chatId: message.chatId }, 'discord_command_not_stored');
      return { kind: 'handled', reply: say('press.not_stored') };
    });
    const first = await waitAtMost(this.#timing.deferAfterMs, receipt);
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
      const { commands, suggest } = this.#deps.gateway;
      const components =
        first.kind === 'handled' && !isChoice ? await menuUnder(message, commands, suggest) : [];
      const data = {
        ...contentOfText(replyTo(first, await sayPromise)),
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
    const deferred = placeholderOf(interaction, this.#timing.epochNow());
    const content = contentOfText(replyTo(late, await sayPromise));
    await this.#replies.edit(deferred, message.threadId ?? message.chatId, content);
  }

  async #sayTo(message: InboundMessage | undefined): Promise<Say> {
    const userId = message === undefined ? '' : userIdOf(message);
    return await sayToPerson(this.#deps.languages, userId, message?.language);
  }

  /** Sends the first answer. An answer that was already sent is not an error: Discord repeats events after a resume. */
  async #respond(interaction: InteractionHandle, body: object): Promise<void> {
    const { id, token } = interaction;
    const path = Routes.interactionCallback(id, token);
    try {
      await this.#rest.call({ method: 'post', path, bucket: `callback ${id}`, body, auth: false });
    } catch (error) {
      const cause = error instanceof ChannelError ? error.cause : undefined;
      if (!hasCode(cause, RESTJSONErrorCodes.InteractionHasAlreadyBeenAcknowledged)) throw error;
    }
  }
}

/** True for a gateway command whose reply only the person who asked may see: its deferred reply must not be public either. */
function isPrivateCommand(message: InboundMessage): boolean {
  return message.content.startsWith('/') && !isPublicCommand(message);
}

/** Everyone in the channel sees that an answer was stopped; only the person who asked sees the other replies. */
function flagsFor(message: InboundMessage, receipt: Receipt): number {
  const open = receipt.kind === 'handled' && isPublicCommand(message);
  return open ? MessageFlags.SuppressEmbeds : MessageFlags.SuppressEmbeds | MessageFlags.Ephemeral;
}

/** The data of a modal (`InteractionResponseType.Modal`), within Discord's limits. */
function modalOf({ title, value, fields, files }: Form): object {
  const upload = {
    type: ComponentType.FileUpload,
    custom_id: 'files',
    max_values: MAX_FILES,
    required: false,
  };
  const uploads =
    files === undefined
      ? []
      : [{ type: ComponentType.Label, label: cut(files, MAX_LABEL), component: upload }];
  const inputs = fields.slice(0, MAX_FIELDS - uploads.length);
  return {
    custom_id: value,
    title: cut(title, MAX_LABEL),
    components: inputs
      .map((field): object => ({
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
      }))
      .concat(uploads),
  };
}

function cut(text: string, most: number): string {
  return text.slice(0, most).toWellFormed();
}
