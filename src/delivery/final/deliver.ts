/** One delivery: puts every part of an answer on screen, and stores each id before the next part (T7). */
import type { Channel, Rendered } from '../../protocol/channel.ts';
import { MAX_FOLDED_THINKING, regenerateButton } from '../../protocol/delivery.ts';
import { type ChannelError, GatewayError } from '../../protocol/errors.ts';
import { addressOf, type OutboundMessage, type SentMessage } from '../../protocol/message.ts';
import type { LaneHead, LaneStep } from '../../protocol/store/lanes.ts';
import { SECOND_TRY } from '../../protocol/store/ledger.ts';
import type { Say } from '../../protocol/texts/say.ts';
import { parseMarkdown } from '../../lib/markdown/markdown.ts';
import { escapeMarkdown, resolveReferences } from '../../lib/markdown/references.ts';
import { clipEnd } from '../../lib/text.ts';
import { turnOfRef } from '../../protocol/sessions/surfaces.ts';
import type { DeliveryContext } from '../context.ts';
import type { ShownTexts } from '../live/reply.ts';
import type { OpenSurfaces } from '../live/surfaces.ts';
import { lastCard, type PlanCards } from '../plan-card.ts';
import { chunksOf, documentOf } from '../text/chunker.ts';
import { targetOf } from '../text/cut.ts';
import { type CodeFile, takeOutLongCode } from './long-code.ts';
import type { OldButtons } from './old-buttons.ts';
import { type Delivering, finalCalls, isRefusal, PartDelivery, type Parts } from './part-delivery.ts';
import { logFields, payloadShape, readPayload } from './payload.ts';
import { filesRef, sendFiles } from './send-files.ts';

/** Text of a message that is no longer needed and cannot be deleted. */
const SURPLUS_TEXT = '…';

/** What the live replies hand over to the final deliveries. */
export interface LiveLeftovers {
  surfaces: OpenSurfaces;
  shownTexts: ShownTexts;
  cards: PlanCards;
  /** The button below answers moves along with the newest one. */
  oldButtons: OldButtons;
}

/** The answer was abandoned, and its chat was told. */
export class ApologyShown extends GatewayError {
  constructor(refusal: ChannelError) {
    super(refusal.code, refusal.message, { cause: refusal });
  }
}

interface Answer {
  content: string;
  code: readonly CodeFile[];
  whole: Rendered | undefined;
}

/** Throws `GatewayError` and `StoreError` for a retry, `ApologyShown` if an apology replaced a refused part. */
export async function deliver(
  context: DeliveryContext,
  leftovers: LiveLeftovers,
  head: LaneHead,
  signal: AbortSignal,
): Promise<LaneStep> {
  const { ledger, log } = context;
  const delivering = openDelivery(context, head, signal);
  const { payload, partsOf, blank } = delivering;
  const { ref, message, copies, planId } = payload;
  await leftovers.surfaces.settled(ref);
  const messages = await context.sentParts(ref);
  const answer = await readAnswer(delivering);
  if (head.unreported > 0) {
    await reportMissed(delivering);
    await queueMissedEdits(delivering);
  }
  if (copies !== undefined) {
    const surplus = copies.filter((copy) => messages.every(({ id }) => id !== copy.id));
    await partsOf({ ref, messages: surplus, message }).takeAway(0, blank);
    // The turn may have recorded the messages that show `ref` in the meantime.
    return await ledger.finishDelivery(head, ref, undefined);
  }
  const card = await lastCard(delivering, leftovers.cards);
  if (planId !== undefined) {
    await card?.deliver();
    return await ledger.finishDelivery(head, ref, undefined);
  }
  if (card?.first === true) await card.deliver();
  const parts = await putAnswer(delivering, leftovers, answer, messages);
  await putFiles(delivering, answer.code, parts.messages.at(-1));
  // The answer first: the card can wait.
  if (card?.first === false) await card.deliver();
  const step = await ledger.finishDelivery(head, ref, parts.messages);
  log.debug({ ...logFields(head), parts: parts.messages.length }, 'delivery_sent');
  return step;
}

/** Throws `GatewayError('channel_off')`. */
function openDelivery(context: DeliveryContext, head: LaneHead, signal: AbortSignal): Delivering {
  const payload = readPayload(head);
  const { message } = payload;
  const channel = context.channels.get(message.channel);
  if (channel === undefined) {
    const text = `The channel ${message.channel} is switched off; its answers wait until it is on again.`;
    throw new GatewayError('channel_off', text, { retryable: true });
  }
  const final = finalCalls(context, context.schedulerOf(channel), head, signal);
  return {
    context,
    head,
    payload,
    channel,
    say: context.say(message),
    partsOf: (parts: Parts) => new PartDelivery(context, head, channel, final, parts),
    split: (markdown) => chunksOf(markdown, targetOf(channel)),
    blank: channel.render(parseMarkdown(SURPLUS_TEXT)),
  };
}

async function readAnswer(delivering: Delivering): Promise<Answer> {
  const { payload, channel, say, split } = delivering;
  const { message, says } = payload;
  const { maxLength, maxFileBytes } = channel.capabilities;
  // People must read what they decide about above its buttons: a file would appear below them.
  const decides = message.buttons.length > 0;
  const limits = { maxLength: decides ? Infinity : maxLength, maxFileBytes };
  const text = says === undefined ? `${await foldedThinking(delivering)}${message.content}` : say(says);
  const { content, files: code } = await takeOutLongCode(resolveReferences(text), limits, split, say);
  const whole = await channel.renderWhole?.(message, {
    markdown: content,
    documentOf: (markdown) => documentOf(markdown),
  });
  return { content, code, whole };
}

/** What the model thought of an answer, folded above it, in a chat that wants to see it; from the journal, so no crash loses it. */
async function foldedThinking({ context, payload: { ref, message }, say }: Delivering): Promise<string> {
  const turnId = turnOfRef(ref);
  const isAnswer = message.turnId === undefined ? ref !== turnId : message.turnId === ref;
  if (!isAnswer || message.content === '') return '';
  if ((await context.streamModes?.showsThinking(addressOf(message))) !== true) return '';
  const thinking = (await context.ledger.thinkingOf(turnId)).join('\n\n').trim();
  return thinking === '' ? '' : foldThinking(thinking, say);
}

/** A thought as Markdown, folded and without any markup of its own. */
export function foldThinking(thinking: string, say: Say): string {
  const shown = escapeMarkdown(clipEnd(thinking, MAX_FOLDED_THINKING));
  return `<details>\n<summary>${escapeMarkdown(say('thinking.folded'))}</summary>\n\n${shown}\n\n</details>\n\n`;
}

/** Reports answers that the chat missed. If the platform refuses the sentence, the answer is still delivered. */
async function reportMissed({ context, head, payload, partsOf, split, say }: Delivering): Promise<void> {
  const ref = `${payload.ref}:missed`;
  const message = { ...payload.message, turnId: undefined, replyTo: undefined, asked: false };
  const messages = await context.ledger.sentParts(ref);
  if (messages.length > 0) return;
  const [sentence] = await split(say('missed.answers', { count: head.unreported }));
  if (sentence === undefined) return;
  await partsOf({ ref, messages, message })
    .put(0, sentence, false)
    .catch((error: unknown) => {
      if (!isRefusal(error)) throw error;
      context.log.warn({ ...logFields(head), err: error }, 'missed_answers_not_reported');
    });
}

/**
 * Queues once more what should have changed messages on screen while the chat refused it: a card would say for ever that its
 * subagent is working, and a request would keep its buttons. Throws `StoreError`.
 */
async function queueMissedEdits({ context, payload }: Delivering): Promise<void> {
  const { ledger, bus } = context;
  const address = addressOf(payload.message);
  for (const missed of await ledger.missedEdits(address)) {
    const edit = payloadShape.safeParse(missed).data;
    if (edit === undefined) continue;
    const key = `${edit.key ?? edit.ref}${SECOND_TRY}`;
    bus.runHeads(await ledger.enqueue(address, { ...edit, key }, bus.claimingNode('out')));
  }
}

/** Puts the text of the answer on screen, and removes surplus messages; returns its messages. */
async function putAnswer(
  { head, payload, channel, partsOf, split, say, blank }: Delivering,
  { shownTexts, oldButtons }: LiveLeftovers,
  { content, whole }: Answer,
  messages: SentMessage[],
): Promise<PartDelivery> {
  const { ref } = payload;
  const message = withAnswerButtons(payload.message, ref, channel, say);
  const parts = partsOf({ ref, messages, message, shownTexts: shownTexts.remove(ref) });
  // The first message is about to show the whole answer: what the others show would appear twice.
  if (whole !== undefined) await parts.takeAway(1, blank);
  const isWhole = whole !== undefined && (await putWhole(parts, whole));
  const chunks = isWhole ? [] : await split(content);
  for (const [index, chunk] of chunks.entries()) {
    const isLast = index === chunks.length - 1;
    await parts.put(index, chunk, isLast).catch(async (error: unknown) => {
      if (!isRefusal(error)) throw error;
      const [apology] = await split(say('missed.refused', { turn: message.turnId ?? ref }));
      await apologise(parts, index, apology, error);
    });
  }
  await parts.takeAway(isWhole ? 1 : chunks.length, blank);
  await parts.takeCopies(blank);
  if (message !== payload.message) await oldButtons.moved(channel, head, message, parts.messages.at(-1));
  return parts;
}

async function putFiles(
  delivering: Delivering,
  code: readonly CodeFile[],
  lastMessage: SentMessage | undefined,
): Promise<void> {
  const { context, payload, partsOf } = delivering;
  if (payload.message.media.length === 0 && code.length === 0) return;
  const ref = filesRef(payload.ref);
  const message = lastMessage === undefined ? payload.message : { ...payload.message, replyTo: undefined };
  const parts = partsOf({ ref, messages: await context.sentParts(ref), message, after: lastMessage });
  await sendFiles(delivering, parts, code, async (index) => {
    const textRef = `${ref}:text${index}`;
    return partsOf({ ref: textRef, messages: await context.sentParts(textRef), message });
  });
}

/** An answer with the button that asks its question again, if the channel supports it. */
function withAnswerButtons(
  message: OutboundMessage,
  ref: string,
  { capabilities }: Channel,
  say: Say,
): OutboundMessage {
  const { turnId, asked: isAnswer, buttons } = message;
  const offers = capabilities.answerButtons === true && isAnswer === true && turnId === ref;
  return offers && buttons.length === 0 ? { ...message, buttons: [regenerateButton(ref, say)] } : message;
}

/** Shows the answer as a single rich message; false if the platform refuses it. */
async function putWhole(parts: PartDelivery, whole: Rendered): Promise<boolean> {
  try {
    await parts.put(0, whole, true);
    return true;
  } catch (error) {
    if (isRefusal(error)) return false;
    throw error;
  }
}

/** Shows an apology in place of a part that was refused in every form. Throws `ApologyShown`, or the refusal of the part. */
async function apologise(
  parts: PartDelivery,
  index: number,
  apology: Rendered | undefined,
  refusal: ChannelError,
): Promise<void> {
  if (apology === undefined) throw refusal;
  await parts.put(index, apology, false).catch((error: unknown) => {
    throw isRefusal(error) ? refusal : error;
  });
  throw new ApologyShown(refusal);
}
