/**
 * What the Cloud API accepts, as its reference says it: github.com/facebook/openapi (business-messaging-api_v23.0.yaml:
 * BaseMessageProperties, TextMessage, InteractiveObject, MediaObject, MessageContext), and developers.facebook.com,
 * "Interactive list messages" (rows), "Typing indicators", "Business-scoped user IDs" (`recipient`), "Supported media types".
 */
import { z } from 'zod';

const media = z.strictObject({ id: z.string() });
const captioned = media.extend({ caption: z.string().min(1).max(1_024).optional() });
const template = z.strictObject({ name: z.string(), language: z.strictObject({ code: z.string() }) });

const button = z.strictObject({
  type: z.literal('reply'),
  reply: z.strictObject({
    id: z
      .string()
      .min(1)
      .max(256)
      .refine((id) => id === id.trim()),
    title: z.string().min(1).max(20),
  }),
});
const row = z.strictObject({
  id: z.string().min(1).max(200),
  title: z.string().min(1).max(24),
  description: z.string().min(1).max(72).optional(),
});
/** No two items of a list have the same of this. */
function areUnique(values: string[]): boolean {
  return new Set(values).size === values.length;
}

const buttons = z.strictObject({
  type: z.literal('button'),
  body: z.strictObject({ text: z.string().min(1).max(1_024) }),
  action: z.strictObject({
    buttons: z
      .array(button)
      .min(1)
      .max(3)
      .refine((all) => areUnique(all.map(({ reply }) => reply.title)))
      .refine((all) => areUnique(all.map(({ reply }) => reply.id))),
  }),
});
const list = z.strictObject({
  type: z.literal('list'),
  body: z.strictObject({ text: z.string().min(1).max(4_096) }),
  action: z.strictObject({
    button: z.string().min(1).max(20),
    sections: z
      .array(
        z.strictObject({
          title: z.string().max(24).optional(),
          rows: z
            .array(row)
            .min(1)
            .refine((rows) => areUnique(rows.map(({ id }) => id))),
        }),
      )
      .min(1)
      .max(10)
      .refine((sections) => sections.flatMap(({ rows }) => rows).length <= 10),
  }),
});

const outgoing = {
  messaging_product: z.literal('whatsapp'),
  recipient_type: z.literal('individual').optional(),
  /** A phone number, or else the id of a person who hides it. */
  to: z
    .string()
    .regex(/^\d{5,20}$/)
    .optional(),
  recipient: z
    .string()
    .regex(/^[A-Z]{2}\.(ENT\.)?[A-Za-z0-9]{1,128}$/)
    .optional(),
  context: z.strictObject({ message_id: z.string() }).optional(),
  biz_opaque_callback_data: z.string().max(512).optional(),
};

/** A body of `POST /<phone number id>/messages` that sends. */
export const Outgoing = z
  .discriminatedUnion('type', [
    z.strictObject({
      ...outgoing,
      type: z.literal('text'),
      text: z.strictObject({ body: z.string().min(1).max(4_096), preview_url: z.boolean().optional() }),
    }),
    z.strictObject({ ...outgoing, type: z.literal('image'), image: captioned }),
    z.strictObject({ ...outgoing, type: z.literal('video'), video: captioned }),
    z.strictObject({ ...outgoing, type: z.literal('audio'), audio: media }),
    z.strictObject({
      ...outgoing,
      type: z.literal('document'),
      document: captioned.extend({ filename: z.string().optional() }),
    }),
    z.strictObject({
      ...outgoing,
      type: z.literal('interactive'),
      interactive: z.discriminatedUnion('type', [buttons, list]),
    }),
    z.strictObject({ ...outgoing, type: z.literal('template'), template }),
  ])
  .refine(({ to, recipient }) => to !== undefined || recipient !== undefined, 'no recipient');
export type Outgoing = z.infer<typeof Outgoing>;

/** A body of the same address that marks a message as read. */
export const ReadReceipt = z.strictObject({
  messaging_product: z.literal('whatsapp'),
  status: z.literal('read'),
  message_id: z.string(),
  typing_indicator: z.strictObject({ type: z.literal('text') }).optional(),
});

const MB = 1_024 * 1_024;

/** Types that an upload may have, each with its largest size in bytes; the API refuses all others by name. */
export const UPLOADS: readonly [type: RegExp, most: number][] = [
  [/^image\/(jpeg|png)$/, 5 * MB],
  [/^image\/webp$/, 500 * 1_024],
  [/^audio\/(aac|mp4|mpeg|amr|ogg|opus)$/, 16 * MB],
  [/^video\/(mp4|3gpp)$/, 16 * MB],
  [
    /^(text\/plain|application\/(pdf|msword|vnd\.ms-(excel|powerpoint)|vnd\.openxmlformats-officedocument\.[\w.]+))$/,
    100 * MB,
  ],
];

/** The kind of message that a file of a type may be sent as, besides a document. */
export function kindOfUpload(type: string): string {
  return type.split('/', 1)[0] ?? '';
}
