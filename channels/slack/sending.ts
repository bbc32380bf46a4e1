/** Sends, edits and deletes messages: one message per nonce, even after one of Slack's answers was lost or a process died. */
import { nonceDigest } from '../../src/protocol/channel-parts.ts';
import { ChannelError, channelUnavailable } from '../../src/protocol/errors.ts';
import { z } from 'zod';
import type { Log } from '../../src/protocol/log.ts';
import { addressOf, type Button, type Place, type SentMessage } from '../../src/protocol/message.ts';
import { TtlCache } from '../../src/lib/ttl-cache.ts';
import { codeOf, isAnswerLost, toChannelError, toEditError } from './errors.ts';
import type { OutboundPart, Rendered } from '../../src/protocol/channel.ts';
import { parseMarkdown } from '../../src/lib/markdown/markdown.ts';
import { clipEnd } from '../../src/lib/text.ts';
import { CHAT_ID, TS } from './events.ts';
import { drawTables, type Part, plainParts, render } from './render.ts';
import type { SlackApi } from './web-api.ts';

/** Longest message, in UTF-16 units, for which Slack promises a good result ("Truncating content"). */
export const MAX_LENGTH = 4_000;
/** Longest text of a notification; `chat.update` accepts 4,000 bytes, escaped. */
const MAX_TEXT_BYTES = 3_900;
/** Slack's limits: buttons in one block, characters of a label and of a value. */
const MAX_BUTTONS = 25;
const MAX_LABEL = 75;
const MAX_VALUE = 2_000;

/** Fields of every message: link previews are disabled. */
export interface Fields {
  text: string;
  blocks: object[];
  unfurl_links: false;
  unfurl_media: false;
}

/** How long a nonce is remembered, in milliseconds, and how many. */
const NONCE_MS = 3_600_000;
export const MAX_NONCES = 5_000;
/**
 * A place into which this process has sent within this time is its own: no other process can have sent there in the
 * meantime, because a lane changes hands only after its owner was silent for 10 s. Elsewhere, the newest messages are
 * searched first.
 */
const FAMILIAR_MS = 60_000;
const MAX_FAMILIAR = 5_000;
/** The newest messages that are searched for a nonce. */
const LOOKED_THROUGH = 100;
const MAX_PAGES = 5;
/** The type of the metadata that a message of an answer carries ("Message metadata"). */
const EVENT_TYPE = 'parley_part';

const Posted = z.object({ ts: z.string() });
const Page = z.object({
  messages: z.array(
    z.object({
      ts: z.string(),
      metadata: z
        .object({ event_type: z.string(), event_payload: z.object({ nonce: z.string() }) })
        .optional()
        .catch(undefined),
    }),
  ),
  response_metadata: z.object({ next_cursor: z.string().optional() }).optional().catch(undefined),
});

export class Sending {
  readonly #api: SlackApi;
  readonly #log: Log;
  readonly #epochNow: () => number;
  /** Messages by nonce; `lost` if the answer to the send was lost. */
  readonly #sent: TtlCache<string>;
  readonly #familiar: TtlCache<true>;

  constructor(api: SlackApi, log: Log, epochNow: () => number) {
    this.#api = api;
    this.#log = log;
    this.#epochNow = epochNow;
    this.#sent = new TtlCache(NONCE_MS, MAX_NONCES, epochNow);
    this.#familiar = new TtlCache(FAMILIAR_MS, MAX_FAMILIAR, epochNow);
  }

  /** Posts a message, or edits the one that an earlier attempt with this nonce has posted. Throws `ChannelError`. */
  async post(place: Place, fields: Fields, nonce: string): Promise<SentMessage> {
    const target = targetOf(place);
    const key = nonceDigest(`${addressOf(place)}\n${nonce}`, 32);
    const id = await this.#findSent(place, key);
    if (id !== undefined) {
      await this.#update(place, id, fields);
      this.#sent.set(key, id);
      return { id };
    }
    const metadata = { event_type: EVENT_TYPE, event_payload: { nonce: key } };
    try {
      const limit = `chat.postMessage ${target.channel}`;
      const answer = await this.#api.call('chat.postMessage', { ...target, ...fields, metadata }, limit);
      const { data } = Posted.safeParse(answer);
      if (data === undefined) throw channelUnavailable('Slack gave an answer that is not a message.');
      this.#sent.set(key, data.ts);
      this.#familiar.set(addressOf(place), true);
      return { id: data.ts };
    } catch (error) {
      if (!isAnswerLost(error)) throw error;
      this.#sent.set(key, LOST);
      return await this.#afterLoss(place, key, toChannelError(error));
    }
  }

  /** Replaces a message (`chat.update`). Throws `ChannelError('message_gone')` also for one that may not be changed. */
  async edit(message: SentMessage, place: Place, fields: Fields): Promise<void> {
    this.#familiar.set(addressOf(place), true);
    try {
      await this.#update(place, message.id, fields);
    } catch (error) {
      throw toEditError(error);
    }
  }

  /** Deletes a message (`chat.delete`); a message that is already gone is not an error. */
  async delete({ id }: SentMessage, place: Place): Promise<void> {
    const { channel } = targetOf(place);
    try {
      await this.#api.call('chat.delete', { channel, ts: id });
    } catch (error) {
      if (codeOf(error) !== 'message_not_found') throw error;
    }
  }

  /** Shows a text to only one person (`chat.postEphemeral`). */
  async sendEphemeral(place: Place, user: string, fields: Fields): Promise<void> {
    await this.#api.call('chat.postEphemeral', { ...targetOf(place), user, ...fields });
  }

  async #update(place: Place, ts: string, fields: Fields): Promise<void> {
    const { channel } = targetOf(place);
    await this.#api.call('chat.update', { channel, ts, text: fields.text, blocks: fields.blocks });
  }

  /** The message that was posted with this nonce before; undefined if there is none. */
  async #findSent(place: Place, key: string): Promise<string | undefined> {
    const id = this.#sent.get(key);
    if (id !== undefined && id !== LOST) return id;
    if (id === undefined && this.#familiar.get(addressOf(place)) === true) return undefined;
    try {
      const match = await this.#search(place, key);
      if (match === undefined) this.#sent.delete(key);
      return match;
    } catch (error) {
      const failure = toChannelError(error);
      // Only after a lost answer is there likely to be one: all other sends need not wait for a Slack limit.
      if (id === LOST || failure.code === 'unavailable' || failure.code === 'unauthorized') throw failure;
      this.#log.debug({ err: failure, chatId: place.chatId }, 'slack_nonce_not_looked_up');
      return undefined;
    }
  }

  async #afterLoss(place: Place, key: string, loss: Error): Promise<SentMessage> {
    const id = await this.#search(place, key).catch((error: unknown) => {
      this.#log.warn({ err: toChannelError(error), chatId: place.chatId }, 'slack_nonce_not_looked_up');
      return undefined;
    });
    // It may still be in flight: the next attempt looks again before it sends.
    if (id === undefined) throw loss;
    this.#sent.set(key, id);
    return { id };
  }

  /** Searches the newest messages of a channel (`conversations.history`) or thread (`conversations.replies`). */
  async #search(place: Place, key: string): Promise<string | undefined> {
    const { channel, thread_ts: ts } = targetOf(place);
    const oldest = ((this.#epochNow() - NONCE_MS) / 1_000).toFixed(6);
    const range = { channel, oldest, limit: LOOKED_THROUGH, include_all_metadata: true };
    let cursor: string | undefined;
    // A channel is read starting at its newest message, a thread at its oldest.
    for (let page = 0; page < (ts === undefined ? 1 : MAX_PAGES); page += 1) {
      const answer =
        ts === undefined
          ? await this.#api.call('conversations.history', range)
          : await this.#api.call('conversations.replies', { ...range, ts, ...(cursor && { cursor }) });
      const { messages = [], response_metadata: more } = Page.safeParse(answer).data ?? {};
      const match = messages.find(({ metadata }) => metadata?.event_payload.nonce === key);
      if (match !== undefined) return match.ts;
      cursor = more?.next_cursor;
      if (cursor === undefined || cursor === '') return undefined;
    }
    return undefined;
  }
}

const LOST = 'lost';

/** The fields of a part. Throws `ChannelError('rejected')` if it is too long. */
export function fieldsOf({
  body,
  plain,
  buttons,
}: {
  body: Rendered;
  plain?: boolean;
  buttons: readonly Button[];
}): Fields {
  if (body.length > MAX_LENGTH)
    throw new ChannelError('rejected', `A message on Slack may have at most ${MAX_LENGTH} characters.`);
  return {
    text: notificationOf(body.plain),
    blocks: [...blocksOf(plain === true ? plainParts(body.plain) : partsOf(body)), ...actionsOf(buttons)],
    unfurl_links: false,
    unfurl_media: false,
  };
}

/** A short text of the gateway itself (Markdown), cut to what fits. */
export function fieldsOfText(text: string): Fields {
  const body = render(parseMarkdown(clipEnd(text, MAX_LENGTH / 2)));
  const fits = body.length <= MAX_LENGTH;
  return fieldsOf({ body: fits ? body : plainBody(text.slice(0, MAX_LENGTH / 2)), buttons: [] });
}

function plainBody(text: string): Rendered {
  const parts = plainParts(text.toWellFormed());
  return { text: JSON.stringify(parts), plain: text.toWellFormed(), length: text.length };
}

/** The parts of a rendered document: what `render` wrote. */
export function partsOf(body: Rendered): Part[] {
  return body.text === '' ? [] : (JSON.parse(body.text) as Part[]);
}

/** Parts as blocks: a table is one, and the parts between tables are a rich text. */
export function blocksOf(parts: readonly Part[]): object[] {
  const blocks: ({ type: 'rich_text'; elements: Part[] } | Extract<Part, { type: 'table' }>)[] = [];
  for (const part of parts) {
    const last = blocks.at(-1);
    if (part.type === 'table') blocks.push(part);
    else if (last?.type === 'rich_text') last.elements.push(part);
    else blocks.push({ type: 'rich_text', elements: [part] });
  }
  return blocks;
}

/**
 * Makes a call that shows a part, and if Slack refuses its table, the same with the table drawn. Throws what the call
 * throws.
 */
export async function showingTables<Sent>(
  part: Pick<OutboundPart, 'body' | 'plain' | 'buttons'>,
  call: (fields: Fields) => Promise<Sent>,
): Promise<Sent> {
  const { body, plain } = part;
  try {
    return await call(fieldsOf(part));
  } catch (error) {
    const parts = plain === true ? [] : partsOf(body);
    const isRefused = /^(invalid_blocks|invalid_blocks_format|only_one_table_allowed)$/.test(
      codeOf(error) ?? '',
    );
    if (!isRefused || parts.every(({ type }) => type !== 'table')) throw error;
    return await call(fieldsOf({ ...part, body: { ...body, text: JSON.stringify(drawTables(parts)) } }));
  }
}

function actionsOf(buttons: readonly Button[]): object[] {
  const groups = Array.from({ length: Math.ceil(buttons.length / MAX_BUTTONS) }, (_, group) =>
    buttons.slice(group * MAX_BUTTONS, (group + 1) * MAX_BUTTONS),
  );
  return groups.map((group, row) => ({
    type: 'actions',
    elements: group.map((button, index) => buttonOf(button, `button-${row}-${index}`)),
  }));
}

function buttonOf({ label, value, style = 'normal' }: Button, actionId: string): object {
  if (value.length > MAX_VALUE)
    throw new ChannelError('rejected', 'The value of a button is too long for Slack.');
  const text = { type: 'plain_text', text: clipEnd(label, MAX_LABEL), emoji: true };
  const colour = { normal: {}, confirm: { style: 'primary' }, danger: { style: 'danger' } }[style];
  return { type: 'button', action_id: actionId, text, value, ...colour };
}

/** The text that notifications and screen readers present: escaped, so that nothing in it pings. */
function notificationOf(plain: string): string {
  let text = escapeText(clipEnd(plain, MAX_LENGTH));
  for (let max = MAX_TEXT_BYTES; Buffer.byteLength(text) > MAX_TEXT_BYTES; max = Math.floor(max * 0.7))
    text = escapeText(clipEnd(plain, max));
  return text;
}

/** Text in the form that `text` requires ("Formatting text for app surfaces", Escaping text). */
function escapeText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

/** The destination of a message. Throws `ChannelError('rejected')` for an address that is not a Slack address. */
export function targetOf({ chatId, threadId }: Place): { channel: string; thread_ts?: string } {
  if (!CHAT_ID.test(chatId))
    throw new ChannelError('rejected', `"${chatId.slice(0, 40)}" is not the id of a Slack channel.`);
  if (threadId === undefined) return { channel: chatId };
  if (!TS.test(threadId))
    throw new ChannelError('rejected', `"${threadId.slice(0, 40)}" is not the id of a Slack thread.`);
  return { channel: chatId, thread_ts: threadId };
}
