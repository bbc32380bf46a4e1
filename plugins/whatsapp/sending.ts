/** Sends texts, buttons and files. [Cloud API: "Messages", "Interactive reply buttons", "Interactive lists", "Media"] */
import { openAsBlob } from 'node:fs';
import { createHash } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import * as z from 'zod';
import type { PluginFile, PluginPart, PluginPlace, PluginSent } from '../../src/protocol/plugin.ts';
import { GraphFailure, WINDOW_CLOSED, WINDOW_HINT } from './failures.ts';
import { addressed, type Graph } from './graph.ts';
import type { Backlog } from './backlog.ts';
import type { Outcomes } from './outcomes.ts';

/** WhatsApp's limits, in UTF-16 units. */
export const MAX_LENGTH = 4_096;
const MAX_CAPTION = 1_024;
const MAX_BODY = 1_024;
const MAX_BUTTONS = 3;
const MAX_TITLE = 20;
const MAX_ROWS = 10;
const MAX_ROW_TITLE = 24;
const MAX_ROW_DESCRIPTION = 72;
/** Longest value of a button, and of a row of a list. */
const MAX_BUTTON_ID = 256;
const MAX_ROW_ID = 200;
/** How long a message whose answer was lost may take to be reported, in milliseconds. */
const REPORT_MS = 8_000;

/** Largest files by kind ("Supported media types"), in bytes, and their types; everything else is a document. */
const MB = 1_024 * 1_024;
const MAX_DOCUMENT = 64 * MB;
const FORMS: readonly { type: 'image' | 'audio' | 'video'; mimeTypes: RegExp; most: number }[] = [
  { type: 'image', mimeTypes: /^image\/(jpeg|png)$/, most: 5 * MB },
  { type: 'video', mimeTypes: /^video\/(mp4|3gpp)$/, most: 16 * MB },
  { type: 'audio', mimeTypes: /^audio\/(aac|mp4|mpeg|amr|ogg)$/, most: 16 * MB },
];
/** Types that an upload may have; a file of another one travels as text under its own name. */
const UPLOADS =
  /^(audio\/(aac|mp4|mpeg|amr|ogg|opus)|application\/(pdf|msword|vnd\.ms-(excel|powerpoint)|vnd\.openxmlformats-officedocument\.[\w.]+)|text\/plain|image\/(jpeg|png|webp)|video\/(mp4|3gpp))$/;
const PLAIN = 'text/plain';

const Answer = z.object({ messages: z.array(z.object({ id: z.string() })).min(1) });
const Uploaded = z.object({ id: z.string() });

type Body = Record<string, unknown> & { type: string };

interface SendingParts {
  graph: Graph;
  phoneId: string;
  outcomes: Outcomes;
  backlog: Backlog;
  /** Opens a list of buttons. */
  listLabel: string;
  /** Remembers the text of a message, for replies to it. */
  remember: (id: string, text: string) => void;
}

export class Sending {
  readonly #parts: SendingParts;

  constructor(parts: SendingParts) {
    this.#parts = parts;
  }

  /** Sends a text with its buttons; a text too long for them goes first. Gives the last message. */
  async send(part: PluginPart): Promise<PluginSent> {
    const text = part.plain ? part.body.plain : part.body.text;
    if (text.length > MAX_LENGTH)
      throw new GraphFailure('rejected', `A message on WhatsApp may have at most ${MAX_LENGTH} characters.`);
    const messages = bodiesOf(text, part.buttons, this.#parts.listLabel);
    let last: PluginSent | undefined;
    for (const [at, body] of messages.entries())
      last = await this.#post(part, body, `${part.nonce}#${at}`, at === 0 ? part.replyTo : undefined);
    if (last === undefined) throw new GraphFailure('rejected', 'WhatsApp does not accept an empty message.');
    this.#parts.remember(last.id, text);
    return last;
  }

  /** Uploads a file and sends it in the form of its kind, or as a document. */
  async sendFile(file: PluginFile): Promise<PluginSent> {
    const caption = file.caption?.text ?? '';
    if (caption.length > MAX_CAPTION)
      throw new GraphFailure('rejected', `A caption on WhatsApp may have at most ${MAX_CAPTION} characters.`);
    if (file.bytes > MAX_DOCUMENT)
      throw new GraphFailure('rejected', `The file ${file.name} is larger than ${MAX_DOCUMENT / MB} MB.`);
    const mimeType = file.mimeType.split(';', 1)[0]?.trim().toLowerCase() ?? PLAIN;
    const form = FORMS.find(({ mimeTypes, most }) => mimeTypes.test(mimeType) && file.bytes <= most)?.type;
    // A recording has no caption.
    const type = form === undefined || (form === 'audio' && caption !== '') ? 'document' : form;
    const id = await this.#upload(file, UPLOADS.test(mimeType) ? file.mimeType : PLAIN);
    const media = {
      id,
      ...(caption !== '' && { caption }),
      ...(type === 'document' && { filename: file.name }),
    };
    return await this.#post(file, { type, [type]: media }, file.nonce, file.replyTo);
  }

  async #upload(file: PluginFile, type: string): Promise<string> {
    const blob = await openAsBlob(file.path, { type }).catch(() => {
      throw new GraphFailure('rejected', `The file ${file.name} cannot be read.`);
    });
    const form = new FormData();
    form.set('messaging_product', 'whatsapp');
    form.set('type', type);
    form.set('file', blob, file.name);
    const { graph, phoneId } = this.#parts;
    const answer = await graph
      .call({ method: 'POST', path: `${phoneId}/media`, body: form, chatId: file.chatId })
      .catch((error: unknown) => {
        // A file that was uploaded twice is on no screen.
        if (error instanceof GraphFailure && error.code === 'outcome_unknown')
          throw new GraphFailure('unavailable', error.message);
        throw error;
      });
    return Uploaded.parse(answer).id;
  }

  /**
   * Sends one message once, as far as WhatsApp lets anyone know: it has no idempotency, but reports each message with the
   * nonce that came with it. A send that an earlier process has begun is looked for there first.
   */
  async #post(place: PluginPlace, body: Body, nonce: string, replyTo?: string): Promise<PluginSent> {
    const { outcomes } = this.#parts;
    const key = createHash('sha256').update(`${place.chatId}\n${nonce}`).digest('hex');
    const earlierId = await outcomes.begin(key, body);
    const id = earlierId === 'unknown' ? await this.#report(key) : earlierId;
    if (id !== undefined) {
      await outcomes.end(key, id);
      return { id };
    }
    try {
      const message = await this.#call(place, body, key, replyTo);
      await outcomes.end(key, message.id);
      return message;
    } catch (error) {
      const isLost = error instanceof GraphFailure && error.code === 'outcome_unknown';
      const reported = isLost ? await this.#report(key) : undefined;
      if (!isLost || reported !== undefined) await outcomes.end(key, reported);
      if (reported === undefined) throw error;
      return { id: reported };
    }
  }

  /** The message of a send whose answer was lost, if WhatsApp reports it soon. */
  async #report(key: string): Promise<string | undefined> {
    const stop = new AbortController();
    const late = pause(REPORT_MS, undefined, { signal: stop.signal }).catch(() => undefined);
    const id = await Promise.race([this.#parts.outcomes.reported(key), late]);
    stop.abort();
    return id;
  }

  async #call(place: PluginPlace, body: Body, key: string, replyTo?: string): Promise<PluginSent> {
    const { graph, phoneId, backlog } = this.#parts;
    const { chatId } = place;
    const message = {
      ...addressed(chatId),
      ...body,
      ...(replyTo !== undefined && { context: { message_id: replyTo } }),
      biz_opaque_callback_data: key,
    };
    try {
      const answer = await graph.call({ method: 'POST', path: `${phoneId}/messages`, body: message, chatId });
      const { data } = Answer.safeParse(answer);
      // It is on its way; what WhatsApp calls it will be in its report.
      if (data === undefined)
        throw new GraphFailure('outcome_unknown', 'WhatsApp gave no id of the message.');
      return { id: data.messages[0]?.id ?? '' };
    } catch (error) {
      if (!(error instanceof GraphFailure) || error.graphCode !== WINDOW_CLOSED) throw error;
      const template = await backlog.hold(chatId, body);
      if (template === undefined) throw new GraphFailure('rejected', WINDOW_HINT);
      return { id: template, metadata: { held: 'yes' } };
    }
  }
}

function textBody(text: string): Body {
  return { type: 'text', text: { body: text, preview_url: false } };
}

/** The messages that show a text with its buttons, in their order. Pure. */
export function bodiesOf(text: string, buttons: PluginPart['buttons'], listLabel: string): Body[] {
  if (text.trim() === '' && buttons.length === 0) return [];
  if (buttons.length === 0) return [textBody(text)];
  const [head, body] = splitEnd(text);
  const fit = buttons.filter(({ value }) => value.length <= MAX_ROW_ID);
  const isShort = fit.length <= MAX_BUTTONS && fit.every(({ label }) => label.length <= MAX_TITLE);
  const groups = isShort ? [fit] : chunks(fit, MAX_ROWS);
  return [
    ...(head === '' ? [] : [textBody(head)]),
    ...groups.map((group, at) =>
      interactive(
        at === 0 ? body : `${listLabel} ${at + 1}`,
        isShort ? replyButtons(group) : list(group, listLabel),
      ),
    ),
  ];
}

function interactive(text: string, action: { type: string; action: object }): Body {
  return { type: 'interactive', interactive: { body: { text }, ...action } };
}

function replyButtons(buttons: PluginPart['buttons']): { type: string; action: object } {
  const titles = uniqueTitles(buttons, MAX_TITLE);
  return {
    type: 'button',
    action: {
      buttons: buttons.map(({ value }, at) => ({
        type: 'reply',
        reply: { id: value.slice(0, MAX_BUTTON_ID), title: titles[at] },
      })),
    },
  };
}

/** A label that is too long for a row is whole in its description. */
function list(buttons: PluginPart['buttons'], listLabel: string): { type: string; action: object } {
  const titles = uniqueTitles(buttons, MAX_ROW_TITLE);
  const rows = buttons.map(({ label, value }, at) => ({
    id: value,
    title: titles[at],
    ...(label.length > MAX_ROW_TITLE && { description: clip(label, MAX_ROW_DESCRIPTION) }),
  }));
  return { type: 'list', action: { button: clip(listLabel, MAX_TITLE), sections: [{ rows }] } };
}

/** Labels that fit and differ: WhatsApp refuses equal ones. */
function uniqueTitles(buttons: PluginPart['buttons'], most: number): string[] {
  const titles: string[] = [];
  for (const { label } of buttons) {
    const title = clip(label.trim() || '…', most);
    const isTaken = titles.includes(title);
    titles.push(isTaken ? `${clip(title, most - 3)} ${titles.length + 1}` : title);
  }
  return titles;
}

/** At most so many units, whole characters, with a mark where it was cut. */
function clip(text: string, most: number): string {
  if (text.length <= most) return text;
  return `${text.slice(0, most - 1).replace(/[\uD800-\uDBFF]$/, '')}…`;
}

function chunks<T>(items: readonly T[], size: number): T[][] {
  const count = Math.ceil(items.length / size);
  return Array.from({ length: count }, (_, at) => items.slice(at * size, (at + 1) * size));
}

/** A line that opens or closes a block of code. */
const FENCE = /^```/gm;

/** A text as what goes first and what stands above its buttons, cut between paragraphs or lines where there are any. */
function splitEnd(text: string): [head: string, body: string] {
  const whole = text.trim() === '' ? '…' : text;
  if (whole.length <= MAX_BODY) return ['', whole];
  // Room for the lines that close and open a block of code again.
  const from = whole.length - MAX_BODY + 8;
  const at = [whole.indexOf('\n\n', from), whole.indexOf('\n', from), whole.indexOf(' ', from)].find(
    (index) => index !== -1 && index < whole.length - 1,
  );
  const border = at ?? from + (/[\uDC00-\uDFFF]/.test(whole.charAt(from)) ? 1 : 0);
  const [head, body] = [whole.slice(0, border).trimEnd(), whole.slice(border).replace(/^\n+/, '')];
  const isInCode = (head.match(FENCE)?.length ?? 0) % 2 === 1;
  return isInCode ? [`${head}\n\`\`\``, `\`\`\`\n${body}`] : [head, body];
}
