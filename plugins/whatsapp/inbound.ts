/** Reads what Meta posts: messages of people, and what became of the bot's own. [Cloud API: "Webhooks", "messages"] */
import * as z from 'zod';
import type { PluginMedia, PluginMessage } from '../../src/protocol/plugin.ts';
import { withoutNumbers } from './failures.ts';

/** Longest name and description of a thing that is told in words, in UTF-16 units. */
const MAX_WORDS = 300;

/** What is malformed counts as missing: the rest of the message can still be answered. */
const maybe = <Shape extends z.ZodType>(shape: Shape) => shape.optional().catch(undefined);
const text = maybe(z.string());
const Choice = z.object({ id: z.string(), title: z.string().catch('') });
const Context = z.object({
  id: text,
  from: text,
  forwarded: maybe(z.boolean()),
  frequently_forwarded: maybe(z.boolean()),
});
const file = maybe(
  z.object({ id: z.string(), mime_type: text, caption: text, filename: text, voice: maybe(z.boolean()) }),
);
const place = z.object({ latitude: z.number(), longitude: z.number(), name: text, address: text });
const card = z.object({
  name: maybe(z.object({ formatted_name: text })),
  phones: z.array(z.object({ phone: text })).catch([]),
  emails: z.array(z.object({ email: text })).catch([]),
});

/** What a message says: each type has a field of its own name. */
const Said = z.object({
  type: z.string(),
  context: maybe(Context),
  text: maybe(z.object({ body: z.string() })),
  button: maybe(z.object({ text: z.string() })),
  interactive: maybe(
    z.object({
      button_reply: maybe(Choice),
      list_reply: maybe(Choice),
      nfm_reply: maybe(z.object({ response_json: text })),
    }),
  ),
  reaction: maybe(z.object({ emoji: text })),
  location: maybe(place),
  contacts: maybe(z.array(card)),
  order: maybe(z.object({ text, product_items: z.array(z.unknown()).catch([]) })),
  edit: maybe(z.object({ original_message_id: z.string(), message: z.unknown() })),
  errors: maybe(z.array(z.object({ title: text }))),
  image: file,
  sticker: file,
  video: file,
  audio: file,
  document: file,
});
type Said = z.infer<typeof Said>;

const Message = Said.extend({
  id: z.string().min(1).max(300),
  /** The phone number; absent for a person who hides it. */
  from: text,
  /** The business-scoped id, the same for this person on all numbers of the business. */
  from_user_id: text,
  group_id: text,
  timestamp: z.coerce.number().positive(),
});
type Message = z.infer<typeof Message>;

const Contacts = z
  .array(
    z.object({
      wa_id: text,
      user_id: text,
      profile: maybe(z.object({ name: text, username: text })),
    }),
  )
  .catch([]);

const Status = z.object({
  id: z.string(),
  status: z.string(),
  recipient_id: text,
  recipient_user_id: text,
  biz_opaque_callback_data: text,
  errors: maybe(z.array(z.object({ code: z.number(), title: text }))),
});

const Envelope = z.object({
  object: z.literal('whatsapp_business_account'),
  entry: z.array(
    z.object({
      changes: z.array(
        z.object({
          field: z.string(),
          value: z.looseObject({
            metadata: maybe(z.object({ phone_number_id: z.string() })),
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

const FILES = { image: 'image', sticker: 'image', video: 'video', audio: 'audio', document: 'file' } as const;

/** What a message says; undefined for what no one can answer: `system`, `revoke`, and what was added later. */
function contentOf(message: Said): Content | undefined {
  const { type, location, order, contacts } = message;
  switch (type) {
    case 'image':
    case 'sticker':
    case 'video':
    case 'audio':
    case 'document':
      return message[type] && fileOf(message[type], FILES[type]);
    case 'text':
      return message.text && { content: message.text.body };
    case 'button':
      return message.button && { content: message.button.text };
    case 'interactive':
      return choiceOf(message);
    case 'reaction':
      return STOPS.some((emoji) => message.reaction?.emoji?.startsWith(emoji))
        ? { content: '/stop' }
        : undefined;
    case 'location': {
      const { name, address, latitude, longitude } = location ?? {};
      return location && inWords('location', name, address, `${latitude}, ${longitude}`);
    }
    case 'contacts':
      return contacts && { content: contacts.map(cardOf).join('\n') };
    case 'order':
      return order && inWords('order', `${order.product_items.length} products`, order.text);
    case 'edit':
      return editOf(message);
    case 'unsupported':
      return inWords('message of a kind that WhatsApp does not pass on', message.errors?.[0]?.title);
    default:
      return undefined;
  }
}

function fileOf(file: NonNullable<Said['image']>, kind: PluginMedia['kind']): Content {
  const { id: url, caption, filename: name, mime_type: mimeType, voice } = file;
  return { content: caption ?? '', media: [{ kind: voice === true ? 'voice' : kind, url, name, mimeType }] };
}

function choiceOf({ interactive, context }: Said): Content | undefined {
  const choice = interactive?.button_reply ?? interactive?.list_reply;
  const form = interactive?.nfm_reply?.response_json;
  if (choice === undefined) return form === undefined ? undefined : inWords('form', form);
  const buttonUnder = context?.id === undefined ? undefined : { id: context.id };
  return { content: '', button: choice.id, ...(buttonUnder && { buttonUnder }) };
}

function cardOf({ name, phones, emails }: z.infer<typeof card>): string {
  const details = [...phones.map(({ phone }) => phone), ...emails.map(({ email }) => email)];
  return inWords('contact', name?.formatted_name, ...details).content;
}

function editOf({ edit }: Said): Content | undefined {
  const { data: message } = Said.safeParse(edit?.message);
  const content = message && message.type !== 'edit' ? contentOf(message) : undefined;
  return edit && content && { ...content, messageId: edit.original_message_id, isEdit: true };
}

/** `[location Café, 1 Main St, 52.5, 13.4]`: on one line, so that no text can pass for another message. */
function inWords(kind: string, ...details: (string | undefined)[]): Content {
  const words = details.filter((detail) => detail !== undefined && detail !== '');
  const line = `${kind} ${words.join(', ')}`.replaceAll(/[\s[\]]+/g, ' ').trim();
  return { content: `[${line.slice(0, MAX_WORDS)}]` };
}

/** A reason for the log. */
export function reasonOf(outcome: Outcome): string {
  return outcome.errors.map(({ code, title = '' }) => `${code} ${withoutNumbers(title)}`.trim()).join('; ');
}
