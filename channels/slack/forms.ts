/** Forms of the gateway as Slack's modals ("Modals"), and what comes back of them. Pure. */
import { z } from 'zod';
import type { InboundMessage, Place } from '../../src/protocol/message.ts';
import type { Form } from '../../src/protocol/receive.ts';
import type { Say } from '../../src/protocol/texts/say.ts';
import { parseJson } from '../../src/lib/json/json.ts';
import { CHAT_ID, privacyOf, TS } from './ids.ts';

/** Slack's limits: characters of a title, of a label or hint, of a text field, and of what a modal keeps. */
const MAX_TITLE = 24;
const MAX_LABEL = 150;
const MAX_VALUE = 3_000;
const MAX_KEPT = 3_000;

const CALLBACK = 'parley_form';
const ACTION = 'text';

/** What a modal keeps of the press that opened it: it comes back with what was filled in, and people cannot change it. */
const Kept = z.object({
  value: z.string(),
  chatId: z.string().regex(CHAT_ID),
  threadId: z.string().regex(TS).optional(),
  under: z.string().regex(TS).optional(),
});

/** The view of `views.open`; undefined for a form that Slack does not hold. */
export function viewOf(
  { title, value, fields }: Form,
  { chatId, threadId, buttonUnder }: Place & Pick<InboundMessage, 'buttonUnder'>,
  say: Say,
): object | undefined {
  const kept: z.infer<typeof Kept> = { value, chatId, threadId, under: buttonUnder?.id };
  const metadata = JSON.stringify(kept);
  const isHeld = fields.every(({ value: given = '' }) => given.length <= MAX_VALUE);
  if (!isHeld || metadata.length > MAX_KEPT) return undefined;
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
      ...(field.description !== undefined && { hint: plain(field.description, MAX_LABEL) }),
      element: {
        type: 'plain_text_input',
        action_id: ACTION,
        multiline: field.lines === 'many',
        max_length: Math.min(field.maxLength, MAX_VALUE),
        ...(field.value !== undefined && field.value !== '' && { initial_value: field.value }),
      },
    })),
  };
}

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

/** What somebody has filled in, as the press that it goes on with; undefined for anything else. `now` is epoch milliseconds. */
export function readSubmission(payload: unknown, now: number): InboundMessage | undefined {
  const { data } = submission.safeParse(payload);
  const kept = data && Kept.safeParse(parseJson(data.view.private_metadata)).data;
  if (data === undefined || kept === undefined) return undefined;
  const { value, chatId, threadId, under } = kept;
  const filled = Object.entries(data.view.state.values);
  return {
    id: `form:${data.view.id}`,
    channel: 'slack',
    chatId,
    ...(threadId !== undefined && { threadId }),
    senderId: data.user.id,
    senderName: data.user.name,
    content: '',
    button: value,
    fields: Object.fromEntries(filled.map(([name, { [ACTION]: text }]) => [name, text?.value ?? ''])),
    ...(under !== undefined && { buttonUnder: { id: under } }),
    timestamp: now,
    media: [],
    place: privacyOf(chatId),
    mentioned: true,
  };
}

function plain(text: string, most: number): { type: 'plain_text'; text: string } {
  return { type: 'plain_text', text: text.slice(0, most).toWellFormed() };
}
