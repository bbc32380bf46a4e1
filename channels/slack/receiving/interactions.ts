/**
 * Slash commands and pressed buttons: acknowledged within Slack's three seconds, answered to the person who used
 * them.
 */
import type { CommandListing } from '../../../src/protocol/command.ts';
import type { Log } from '../../../src/protocol/log.ts';
import { type InboundMessage, userIdOf } from '../../../src/protocol/message.ts';
import type { Form, Receipt, Receive } from '../../../src/protocol/receive.ts';
import { readCommand, readPress } from '../events.ts';
import { readSubmission, viewOf } from '../forms.ts';
import { fromCommand, fromPress } from '../inbound.ts';
import { fieldsOfText } from '../message-fields.ts';
import type { SlackApi } from '../web-api.ts';
import type { Sending } from '../sending.ts';
import type { Envelope } from './socket.ts';
import { type ChannelLanguages, sayToPerson } from '../../../src/protocol/texts/languages.ts';
import type { Say } from '../../../src/protocol/texts/say.ts';

/** Commands whose reply everyone in the channel sees. */
const PUBLIC_COMMANDS = ['/stop', '/new'];

export interface InteractionParts {
  api: Pick<SlackApi, 'call'>;
  sending: Pick<Sending, 'sendEphemeral'>;
  commands: readonly CommandListing[];
  log: Log;
  languages: ChannelLanguages;
  epochNow: () => number;
  /**
   * How long a commit may take before the command is acknowledged without waiting for it, in milliseconds; Slack
   * waits 3 seconds.
   */
  deferAfterMs: number;
}

export class Interactions {
  readonly #parts: InteractionParts;

  constructor(parts: InteractionParts) {
    this.#parts = parts;
  }

  /** Publishes a command and answers it. Never throws. */
  async onCommand({ payload, ack }: Envelope, receive: Receive): Promise<void> {
    const { commands, epochNow } = this.#parts;
    const raw = readCommand(payload);
    if (raw === undefined) {
      ack();
      return;
    }
    await this.#answer(fromCommand(raw, commands, epochNow()), receive, {
      // With no text of its own, the answer shows everyone what was asked.
      accepted: () => ack({ response_type: 'in_channel' }),
      late: () => ack(),
      replied: (text, open) => {
        ack({ response_type: open ? 'in_channel' : 'ephemeral', ...fieldsOfText(text) });
        return Promise.resolve();
      },
    });
  }

  /** Publishes a pressed button, or a form that was filled in; only the person sees the reply. Never throws. */
  async onPress({ payload, ack }: Envelope, receive: Receive): Promise<void> {
    const raw = readPress(payload);
    const message = raw === undefined ? readSubmission(payload, this.#parts.epochNow()) : fromPress(raw);
    if (message === undefined) {
      ack();
      return;
    }
    const answer: Answer = {
      accepted: ack,
      late: ack,
      replied: async (text) => {
        ack();
        await this.#tellOne(message, text);
      },
    };
    const form = async (asked: Form, say: Say): Promise<void> => {
      if (raw === undefined || !(await this.#open(raw.trigger_id, viewOf(asked, message, say))))
        // What Slack does not show as a form is explained, or done, as where there are none.
        await this.#answer({ ...message, forms: undefined }, receive, answer);
      else ack();
    };
    await this.#answer(message, receive, { ...answer, form });
  }

  /** Shows a form (`views.open`) to whoever has just pressed; false where Slack shows none. */
  async #open(trigger: string, view: object | undefined): Promise<boolean> {
    if (view === undefined) return false;
    try {
      await this.#parts.api.call('views.open', { trigger_id: trigger, view });
      return true;
    } catch (error) {
      this.#parts.log.warn({ err: error }, 'slack_form_not_shown');
      return false;
    }
  }

  /**
   * Commits first, then acknowledges. After 2 s it acknowledges without waiting for the commit, because Slack shows a
   * command that is not acknowledged in 3 s as failed; if the commit then fails, the person is notified.
   */
  async #answer(message: InboundMessage, receive: Receive, answer: Answer): Promise<void> {
    const { log, deferAfterMs, languages } = this.#parts;
    const saying = sayToPerson(languages, userIdOf(message), message.language);
    try {
      const receipt = receive(message).catch(async (error: unknown): Promise<Receipt> => {
        log.error({ err: error, chatId: message.chatId }, 'slack_command_not_stored');
        return { kind: 'handled', reply: (await saying)('press.not_stored') };
      });
      const first = await Promise.race([receipt, afterMs(deferAfterMs)]);
      if (first === 'late') {
        answer.late();
        const late = await receipt;
        if (late.kind === 'handled' || late.kind === 'refused')
          await this.#tellOne(message, replyTo(late, await saying));
      } else if (first.kind === 'accepted' || first.kind === 'duplicate') answer.accepted();
      else if (first.kind === 'handled' && first.form !== undefined && answer.form !== undefined)
        await answer.form(first.form, await saying);
      else await answer.replied(replyTo(first, await saying), isOpen(message, first));
    } catch (error) {
      log.warn({ err: error, chatId: message.chatId }, 'slack_command_unanswered');
    }
  }

  async #tellOne(message: InboundMessage, text: string): Promise<void> {
    await this.#parts.sending.sendEphemeral(message, message.senderId, fieldsOfText(text));
  }
}

/** How each kind of receipt is reported. */
interface Answer {
  accepted: () => void;
  late: () => void;
  replied: (text: string, open: boolean) => Promise<void>;
  /** Absent where no form can be shown. */
  form?: (form: Form, say: Say) => Promise<void>;
}

function replyTo(receipt: Receipt, say: Say): string {
  // Only at once after a press can a form be shown.
  if (receipt.kind === 'handled' && receipt.form !== undefined) return say('press.too_late');
  if (receipt.kind === 'handled') return receipt.reply ?? say('press.done');
  return receipt.kind === 'refused' ? (receipt.reply ?? say('press.not_answered')) : say('press.done');
}

/** Everyone in the channel sees that an answer was stopped; only the person who asked sees the other replies. */
function isOpen({ content }: InboundMessage, receipt: Receipt): boolean {
  return receipt.kind === 'handled' && PUBLIC_COMMANDS.includes(content.split(/\s/, 1)[0] ?? '');
}

async function afterMs(ms: number): Promise<'late'> {
  return await new Promise((resolve) => {
    setTimeout(resolve, ms, 'late').unref();
  });
}
