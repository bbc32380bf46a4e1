/** Slash commands and pressed buttons: acknowledged within Slack's three seconds, answered to the person alone. */
import type { ChannelDeps } from '../../src/protocol/channel.ts';
import { type InboundMessage, userIdOf } from '../../src/protocol/message.ts';
import type { Form, Receipt, Receive } from '../../src/protocol/receive.ts';
import { CHAT_ID, readCommand, readPress, TS } from './events.ts';
import { z } from 'zod';
import type { Say } from '../../src/protocol/texts/say.ts';
import { isPublicCommand, replyTo } from '../../src/protocol/channel-parts.ts';
import { waitAtMost } from '../../src/lib/async/sleep.ts';
import { parseJson } from '../../src/lib/json/json.ts';
import { actOf, fromCommand, fromPress } from './inbound.ts';
import { fieldsOfText, type Sending } from './sending.ts';
import type { SlackApi, SlackTiming } from './web-api.ts';
import type { Envelope } from './socket.ts';
import { sayToPerson } from '../../src/protocol/texts/languages.ts';

/** Slack's limits: characters of a title, of a label or hint, of a text field, and of what a modal keeps. */
const MAX_TITLE = 24;
const MAX_LABEL = 150;
const MAX_VALUE = 3_000;
const MAX_METADATA = 3_000;
const CALLBACK = 'parley_form';
const ACTION = 'text';

/** What a modal keeps of the press that opened it: it comes back with what was filled in, and people cannot change it. */
const Origin = z.object({
  value: z.string(),
  chatId: z.string().regex(CHAT_ID),
  threadId: z.string().regex(TS).optional(),
  under: z.string().regex(TS).optional(),
});

const submission = z.object({
  type: z.literal('view_submission'),
  user: z.object({ id: z.string(), name: z.string().optional() }),
  view: z.object({
    id: z.string(),
    callback_id: z.literal(CALLBACK),
    private_metadata: z.string(),
    state: z.object({
      values: z.record(z.string(), z.record(z.string(), z.object({ value: z.string().nullish() }))),
    }),
  }),
});

export class Interactions {
  readonly #receive: Receive;
  readonly #api: SlackApi;
  readonly #sending: Sending;
  readonly #deps: ChannelDeps;
  readonly #timing: SlackTiming;

  constructor(receive: Receive, api: SlackApi, sending: Sending, deps: ChannelDeps, timing: SlackTiming) {
    this.#receive = receive;
    this.#api = api;
    this.#sending = sending;
    this.#deps = deps;
    this.#timing = timing;
  }

  async onCommand({ payload, ack }: Envelope): Promise<void> {
    const raw = readCommand(payload);
    if (raw === undefined) {
      ack();
      return;
    }
    const message = fromCommand(raw, this.#deps.gateway.commands, this.#timing.epochNow());
    await this.#answer(message, {
      // With no text of its own, the answer shows everyone what was asked.
      accepted: () => ack({ response_type: 'in_channel' }),
      late: () => ack(),
      replied: (text, isPublic) => {
        ack({ response_type: isPublic ? 'in_channel' : 'ephemeral', ...fieldsOfText(text) });
        return Promise.resolve();
      },
    });
  }

  /** Publishes a pressed button or a submitted form; only the person sees the reply. Never throws. */
  async onPress({ payload, ack }: Envelope): Promise<void> {
    const raw = readPress(payload);
    const message = raw === undefined ? readSubmission(payload, this.#timing.epochNow()) : fromPress(raw);
    if (message === undefined) {
      ack();
      return;
    }
    const answer: Answer = {
      accepted: ack,
      late: ack,
      replied: async (text) => {
        ack();
        await this.#sendEphemeral(message, text);
      },
    };
    const showForm = async (form: Form, say: Say): Promise<void> => {
      if (raw === undefined || !(await this.#open(raw.trigger_id, viewOf(form, message, say))))
        // Where Slack shows no form, the press is explained, or carried out without one.
        await this.#answer({ ...message, forms: undefined }, answer);
      else ack();
    };
    const keepForm = (problems: Readonly<Record<string, string>>): void =>
      ack({ response_action: 'errors', errors: problems });
    await this.#answer(message, {
      ...answer,
      showForm,
      ...(message.fields !== undefined && { keepForm }),
    });
  }

  /** Shows a form (`views.open`) to whoever has just pressed; false where Slack shows none. */
  async #open(trigger: string, view: object | undefined): Promise<boolean> {
    if (view === undefined) return false;
    try {
      await this.#api.call('views.open', { trigger_id: trigger, view });
      return true;
    } catch (error) {
      this.#deps.log.warn({ err: error }, 'slack_form_not_shown');
      return false;
    }
  }

  /** Commits, then acknowledges; after 2 s it acknowledges first, because Slack waits 3 s: the person learns of a failure. */
  async #answer(message: InboundMessage, answer: Answer): Promise<void> {
    const { log, languages } = this.#deps;
    const say = sayToPerson(languages, userIdOf(message), message.language);
    try {
      const receipt = this.#receive(message).catch(async (error: unknown): Promise<Receipt> => {
        log.error({ err: error, chatId: message.chatId }, 'slack_command_not_stored');
        return { kind: 'handled', reply: (await say)('press.not_stored') };
      });
      const first = await waitAtMost(this.#timing.deferAfterMs, receipt);
      if (first === 'late') {
        answer.late();
        const result = await receipt;
        if (result.kind === 'handled' || result.kind === 'refused')
          await this.#sendEphemeral(message, replyTo(result, await say));
      } else if (first.kind === 'accepted' || first.kind === 'duplicate') answer.accepted();
      else if (first.kind === 'handled' && first.form !== undefined && answer.showForm !== undefined)
        await answer.showForm(first.form, await say);
      else if (first.kind === 'handled' && first.problems !== undefined && answer.keepForm !== undefined)
        answer.keepForm(first.problems);
      else {
        const isPublic = first.kind === 'handled' && isPublicCommand(message);
        await answer.replied(replyTo(first, await say), isPublic);
      }
    } catch (error) {
      log.warn({ err: error, chatId: message.chatId }, 'slack_command_unanswered');
    }
  }

  async #sendEphemeral(message: InboundMessage, text: string): Promise<void> {
    await this.#sending.sendEphemeral(message, message.senderId, fieldsOfText(text));
  }
}

interface Answer {
  accepted: () => void;
  late: () => void;
  replied: (text: string, isPublic: boolean) => Promise<void>;
  /** Absent where no form can be shown. */
  showForm?: (form: Form, say: Say) => Promise<void>;
  /** Leaves the form open with what was entered, and the problem at each field ("Displaying errors in views"). */
  keepForm?: (problems: Readonly<Record<string, string>>) => void;
}

/** The view of `views.open`; undefined for a form that Slack does not hold. */
function viewOf(
  { title, value, fields }: Form,
  { chatId, threadId, buttonUnder }: InboundMessage,
  say: Say,
): object | undefined {
  const origin: z.infer<typeof Origin> = { value, chatId, threadId, under: buttonUnder?.id };
  const metadata = JSON.stringify(origin);
  const fits = fields.every((field) => (field.value ?? '').length <= MAX_VALUE);
  if (!fits || metadata.length > MAX_METADATA) return undefined;
  return {
    type: 'modal',
    callback_id: CALLBACK,
    private_metadata: metadata,
    title: plain(title, MAX_TITLE),
    submit: plain(say('form.send'), MAX_TITLE),
    close: plain(say('form.close'), MAX_TITLE),
    blocks: fields.map((field) => ({
      type: 'input',
      block_id: field.name,
      optional: !field.required,
      label: plain(field.label, MAX_LABEL),
      hint: field.description === undefined ? undefined : plain(field.description, MAX_LABEL),
      element: {
        type: 'plain_text_input',
        action_id: ACTION,
        multiline: field.lines === 'many',
        max_length: Math.min(field.maxLength, MAX_VALUE),
        initial_value: field.value || undefined,
      },
    })),
  };
}

/** What somebody has filled in, as the press that continues with it; undefined for anything else. `now` is epoch milliseconds. */
function readSubmission(payload: unknown, now: number): InboundMessage | undefined {
  const { data } = submission.safeParse(payload);
  const origin = data && Origin.safeParse(parseJson(data.view.private_metadata)).data;
  if (data === undefined || origin === undefined) return undefined;
  const { value, chatId, threadId, under } = origin;
  const fields = Object.entries(data.view.state.values);
  return {
    ...actOf(`form:${data.view.id}`, chatId, data.user.id, now),
    threadId,
    senderName: data.user.name,
    button: value,
    fields: Object.fromEntries(fields.map(([name, { [ACTION]: text }]) => [name, text?.value ?? ''])),
    buttonUnder: under === undefined ? undefined : { id: under },
  };
}

function plain(text: string, maxLength: number): { type: 'plain_text'; text: string } {
  return { type: 'plain_text', text: text.slice(0, maxLength).toWellFormed() };
}
