/** Reads what Meta posts: messages of people, and what became of the bot's own. [Cloud API: "Webhooks", "messages"] */
import * as z from 'zod';
import type { PluginMedia, PluginMessage } from '../../src/protocol/plugin.ts';
import { withoutNumbers } from './failures.ts';

/** Longest name and description of a thing that is told in words, in UTF-16 units. */
const MAX_WORDS = 300;

const text = z.string().optional().catch(undefined);
const Context = z.object({
  id: text,
  from: text,
  forwarded: z.boolean().optional().catch(undefined),
  frequently_forwarded: z.boolean().optional().catch(undefined),
});
const File = z.object({
  id: z.string(),
  mime_type: text,
  caption: text,
  filename: text,
  voice: z.boolean().optional().catch(undefined),
});
const Choice = z.object({ id: z.string(), title: z.string().catch('') });

const Message = z.looseObject({
  id: z.string().min(1).max(300),
  /** The phone number; absent for a person who hides it. */
  from: text,
  /** The business-scoped id, the same for this person on all numbers of the business. */
  from_user_id: text,
  group_id: text,
  timestamp: z.coerce.number().positive(),
  type: z.string(),
  context: Context.optional().catch(undefined),
});
type Message = z.infer<typeof Message>;

const Contacts = z
  .array(
    z.object({
      wa_id: text,
      user_id: text,
      profile: z.object({ name: text, username: text }).optional().catch(undefined),
    }),
  )
  .catch([]);

const Status = z.object({
  id: z.string(),
  status: z.string(),
  recipient_id: text,
  recipient_user_id: text,
  biz_opaque_callback_data: text,
  errors: z
    .array(z.object({ code: z.number(), title: text }))
    .optional()
    .catch(undefined),
});

const Envelope = z.object({
  object: z.literal('whatsapp_business_account'),
  entry: z.array(
    z.object({
      changes: z.array(
        z.object({
          field: z.string(),
          value: z.looseObject({
            metadata: z.object({ phone_number_id: z.string() }).optional().catch(undefined),
            contacts: Contacts.optional(),
            messages: z.array(z.unknown()).catch([]).optional(),
            statuses: z.array(z.unknown()).catch([]).optional(),
          }),
        }),
      ),
    }),
  ),
});

/** What became of a message of the bot. */
export interface Outcome {
  /** The id of the message at WhatsApp. */
  id: string;
  state: string;
  chatId: string;
  /** As it was sent with the message. */
  nonce: string | undefined;
  errors: readonly { code: number; title?: string | undefined }[];
}

/** What a post contains: for a message that this version does not understand, its id alone. */
export interface Posted {
  messages: (PluginMessage | { unread: string; reason: string })[];
  outcomes: Outcome[];
}

/**
 * Reads a post. Other numbers of the same account, and all other fields, are left out. `numberId` is the bot's; `textOf`
 * finds the text of an earlier message. Throws when it is no post of Meta. Pure.
 */
export function readPost(body: string, numberId: string, textOf: (id: string) => string | undefined): Posted {
  const { entry } = Envelope.parse(JSON.parse(body));
  const values = entry
    .flatMap(({ changes }) => changes)
    .filter(({ field, value }) => field === 'messages' && value.metadata?.phone_number_id === numberId)
    .map(({ value }) => value);
  return {
    messages: values.flatMap(({ messages = [], contacts = [] }) =>
      messages.flatMap((one) => readMessage(one, contacts, textOf)),
    ),
    outcomes: values.flatMap(({ statuses = [] }) => statuses.flatMap(readOutcome)),
  };
}

function readOutcome(value: unknown): Outcome[] {
  const { data } = Status.safeParse(value);
  if (data === undefined) return [];
  const { id, status, recipient_id: phone, recipient_user_id: user, errors = [] } = data;
  const chatId = phone ?? user ?? '';
  return [{ id, state: status, chatId, nonce: data.biz_opaque_callback_data, errors }];
}

function readMessage(
  value: unknown,
  contacts: z.infer<typeof Contacts>,
  textOf: (id: string) => string | undefined,
): Posted['messages'] {
  const { data: message } = Message.safeParse(value);
  if (message === undefined) return [{ unread: '', reason: 'it has no id, time or type' }];
  const unread = (reason: string) => [{ unread: message.id, reason }];
  const senderId = message.from ?? message.from_user_id;
  if (senderId === undefined) return unread('it has no sender');
  if (message.group_id !== undefined) return unread('it was written in a group');
  const content = contentOf(message);
  if (content === undefined) return unread(`its kind is ${message.type.slice(0, 40)}`);
  const profile = contacts.find(
    ({ wa_id: phone, user_id: user }) => phone === senderId || user === message.from_user_id,
  )?.profile;
  return [
    {
      id: message.id,
      chatId: senderId,
      senderId,
      senderName: profile?.name ?? profile?.username,
      timestamp: message.timestamp * 1_000,
      place: 'private',
      mentioned: true,
      messageId: message.id,
      ...quoteOf(message, senderId, textOf),
      ...content,
    },
  ];
}

/** What a reply refers to, if its text is remembered: Meta posts only the id. */
function quoteOf(
  { context }: Message,
  senderId: string,
  textOf: (id: string) => string | undefined,
): Pick<PluginMessage, 'quoted' | 'forwarded'> {
  const isForwarded = context?.forwarded === true || context?.frequently_forwarded === true;
  const quoted = context?.id === undefined ? undefined : textOf(context.id);
  return {
    ...(isForwarded && { forwarded: true }),
    ...(quoted !== undefined && {
      quoted: { by: context?.from === senderId ? 'sender' : 'bot', text: quoted },
    }),
  };
}

type Content = Pick<PluginMessage, 'content'> & Partial<PluginMessage>;

/** Emojis that stop a running answer. */
const STOPS = ['⏹', '🛑'];

const Shapes = {
  text: z.object({ text: z.object({ body: z.string() }) }),
  reaction: z.object({ reaction: z.object({ emoji: text }) }),
  interactive: z.object({
    interactive: z.object({
      button_reply: Choice.optional(),
      list_reply: Choice.optional(),
      nfm_reply: z.object({ response_json: text }).optional(),
    }),
  }),
  button: z.object({ button: z.object({ text: z.string() }) }),
  location: z.object({
    location: z.object({ latitude: z.number(), longitude: z.number(), name: text, address: text }),
  }),
  contacts: z.object({
    contacts: z.array(
      z.object({
        name: z.object({ formatted_name: text }).optional().catch(undefined),
        phones: z
          .array(z.object({ phone: text }))
          .optional()
          .catch(undefined),
        emails: z
          .array(z.object({ email: text }))
          .optional()
          .catch(undefined),
      }),
    ),
  }),
  order: z.object({
    order: z.object({ text, product_items: z.array(z.unknown()).catch([]) }),
  }),
  edit: z.object({
    edit: z.object({ original_message_id: z.string(), message: z.looseObject({ type: z.string() }) }),
  }),
  unsupported: z.object({
    errors: z
      .array(z.object({ title: text }))
      .optional()
      .catch(undefined),
  }),
};

const FILES: Readonly<Record<string, PluginMedia['kind']>> = {
  image: 'image',
  sticker: 'image',
  video: 'video',
  audio: 'audio',
  document: 'file',
};

/** What a message says; undefined for what no one can answer. */
function contentOf(message: Record<string, unknown> & { type: string }): Content | undefined {
  const { type } = message;
  if (Object.hasOwn(FILES, type)) return fileOf(message);
  switch (type) {
    case 'text':
      return read(Shapes.text, message, ({ text: { body } }) => ({ content: body }));
    case 'interactive':
      return read(Shapes.interactive, message, ({ interactive }) => choiceOf(interactive, message));
    case 'button':
      return read(Shapes.button, message, ({ button }) => ({ content: button.text }));
    case 'reaction':
      return read(Shapes.reaction, message, ({ reaction }) =>
        STOPS.some((emoji) => reaction.emoji?.startsWith(emoji)) ? { content: '/stop' } : undefined,
      );
    case 'location':
      return read(Shapes.location, message, ({ location: { latitude, longitude, name, address } }) =>
        inWords('location', name, address, `${latitude}, ${longitude}`),
      );
    case 'contacts':
      return read(Shapes.contacts, message, ({ contacts }) => ({
        content: contacts.map(cardOf).join('\n'),
      }));
    case 'order':
      return read(Shapes.order, message, ({ order }) =>
        inWords('order', `${order.product_items.length} products`, order.text),
      );
    case 'edit':
      return read(Shapes.edit, message, ({ edit }) => editOf(edit));
    case 'unsupported':
      return read(Shapes.unsupported, message, ({ errors }) =>
        inWords('message of a kind that WhatsApp does not pass on', errors?.[0]?.title),
      );
    default:
      // `system`, `revoke`, and what was added later.
      return undefined;
  }
}

function read<Shape>(
  shape: z.ZodType<Shape>,
  message: unknown,
  toContent: (value: Shape) => Content | undefined,
): Content | undefined {
  const { data } = shape.safeParse(message);
  return data === undefined ? undefined : toContent(data);
}

function fileOf(message: Record<string, unknown> & { type: string }): Content | undefined {
  const { type } = message;
  const { data: file } = File.safeParse(message[type]);
  if (file === undefined) return undefined;
  const kind = file.voice === true ? 'voice' : (FILES[type] ?? 'file');
  const media: PluginMedia = { kind, url: file.id, name: file.filename, mimeType: file.mime_type };
  return { content: file.caption ?? '', media: [media] };
}

function choiceOf(
  interactive: z.infer<typeof Shapes.interactive>['interactive'],
  message: Record<string, unknown>,
): Content | undefined {
  const choice = interactive.button_reply ?? interactive.list_reply;
  const { data: context } = Context.safeParse(message['context']);
  if (choice !== undefined)
    return {
      content: '',
      button: choice.id,
      ...(context?.id !== undefined && { buttonUnder: { id: context.id } }),
    };
  const form = interactive.nfm_reply?.response_json;
  return form === undefined ? undefined : inWords('form', form);
}

function cardOf(card: z.infer<typeof Shapes.contacts>['contacts'][number]): string {
  const phones = (card.phones ?? []).map(({ phone }) => phone);
  const emails = (card.emails ?? []).map(({ email }) => email);
  return inWords('contact', card.name?.formatted_name, ...phones, ...emails).content;
}

function editOf({
  original_message_id: messageId,
  message,
}: z.infer<typeof Shapes.edit>['edit']): Content | undefined {
  const content = contentOf(message);
  return content && { ...content, messageId, isEdit: true };
}

/** `[location Café, 1 Main St, 52.5, 13.4]`: on one line, so that no text can pass for another message. */
function inWords(what: string, ...details: (string | undefined)[]): Content {
  const words = details.filter((detail) => detail !== undefined && detail !== '');
  const line = `${what} ${words.join(', ')}`.replaceAll(/[\s[\]]+/g, ' ').trim();
  return { content: `[${line.slice(0, MAX_WORDS)}]` };
}

/** A reason for the log. */
export function reasonOf(outcome: Outcome): string {
  return outcome.errors.map(({ code, title = '' }) => `${code} ${withoutNumbers(title)}`.trim()).join('; ');
}
