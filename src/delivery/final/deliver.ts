/**
 * One delivery: puts every part of an answer on screen with exactly its text, and stores each id before the next part
 * (T7).
 */
import type { Channel, Rendered } from '../../protocol/channel.ts';
import { regenerateButton } from '../../protocol/delivery.ts';
import { type ChannelError, GatewayError } from '../../protocol/errors.ts';
import type { Log } from '../../protocol/log.ts';
import type { OutgoingFiles } from '../../protocol/media.ts';
import type { ChatMigration, SentMessage } from '../../protocol/message.ts';
import type { LaneHead, LaneStep, LaneStore } from '../../protocol/store/lanes.ts';
import type { DeliveryPayload, Ledger } from '../../protocol/store/ledger.ts';
import type { Say, SayIn } from '../../protocol/texts/say.ts';
import type { Clock } from '../../lib/clock.ts';
import { parseMarkdown } from '../../lib/markdown/markdown.ts';
import { resolveReferences } from '../../lib/markdown/references.ts';
import { takeOutLongCode } from '../files/long-code.ts';
import { type FileParts, filesRef, sendFiles } from '../files/send-files.ts';
import type { OldButtons } from '../old-buttons.ts';
import { lastCard, type LastCardDeps, type PartsOf } from '../plans/plan-cards.ts';
import type { Scheduler } from '../rate/scheduler.ts';
import { chunksOf, documentOf } from '../text/chunker.ts';
import { finalCalls } from './final-calls.ts';
import { ApologyShown, apologyFor, isRefusal, missedText } from './giving-up.ts';
import { PartDelivery } from './part-delivery.ts';
import type { PartNotes } from './part-notes.ts';
import { logFields, readPayload } from './payload.ts';

/** Text of a message that is no longer needed and cannot be deleted. */
const SURPLUS_TEXT = '…';

export interface DeliverDeps {
  channels: ReadonlyMap<string, Channel>;
  schedulerOf(channel: Channel): Scheduler;
  ledger: Pick<Ledger, 'sentParts' | 'sentAmong' | 'noteSent' | 'finishDelivery'>;
  notes: PartNotes;
  lanes: Pick<LaneStore, 'noteWaiting'>;
  clock: Clock;
  /** The files to send. */
  files: Pick<OutgoingFiles, 'copy' | 'write'>;
  /** Resolves when no call of the growing message for `ref` is in flight. Never rejects. */
  settled: (ref: string) => Promise<void>;
  /** Removes and returns the texts that a turn's messages are certain to show. */
  removeShown: (ref: string) => readonly (string | undefined)[];
  /** Updates the card of a turn's plan. */
  card: LastCardDeps;
  /** The button below answers moves along with the newest one. */
  oldButtons: Pick<OldButtons, 'moved'>;
  log: Log;
  /** Lets other work run while a long text is cut. */
  yieldToEventLoop: () => Promise<void>;
  /** Called for a chat that has a new id. */
  onChatMoved: (move: ChatMigration) => void;
  say: SayIn;
}

/** The data that the steps of one delivery share. */
interface Delivering {
  deps: DeliverDeps;
  head: LaneHead;
  payload: DeliveryPayload;
  channel: Channel;
  say: Say;
  partsOf: PartsOf;
  /** Cuts a Markdown text into messages. */
  cut: (text: string) => Promise<Rendered[]>;
  /** Replaces the text of a message that is no longer needed and cannot be deleted. */
  instead: Rendered;
}

/** An answer as it is put on screen. */
interface Answer {
  /** Its text without the code that is sent as files. */
  content: string;
  code: FileParts['code'];
  /** As a single rich message, if the chat accepts one. */
  whole: Rendered | undefined;
}

/**
 * Delivers the head. Throws `GatewayError` and `StoreError` if it should be retried, `ApologyShown` if an apology
 * replaces a part that the platform refused.
 */
export async function deliver(deps: DeliverDeps, head: LaneHead, signal: AbortSignal): Promise<LaneStep> {
  const delivering = openDelivery(deps, head, signal);
  const { payload, channel, partsOf, instead } = delivering;
  const { ref, message, copies, planId } = payload;
  await deps.settled(ref);
  const known = await knownParts(deps, ref);
  const answer = await readAnswer(delivering);
  if (head.unreported > 0) await reportMissed(delivering);
  if (copies !== undefined) {
    const unknown = copies.filter((copy) => known.every(({ id }) => id !== copy.id));
    await partsOf(ref, unknown).takeAway(0, instead);
    // The turn may have recorded the messages that show `ref` in the meantime.
    return await deps.ledger.finishDelivery(head, ref, undefined);
  }
  const card = await lastCard(deps.card, { message, planId }, channel, partsOf);
  if (planId !== undefined) {
    await card?.deliver();
    return await deps.ledger.finishDelivery(head, ref, undefined);
  }
  if (card?.first === true) await card.deliver();
  const parts = await putAnswer(delivering, answer, known);
  await putFiles(delivering, answer.code, parts.sent.at(-1));
  // The answer first: the card can wait.
  if (card?.first === false) await card.deliver();
  const step = await deps.ledger.finishDelivery(head, ref, parts.sent);
  deps.log.debug({ ...logFields(head), parts: parts.sent.length }, 'delivery_sent');
  return step;
}

/** Throws `GatewayError('channel_off')`. */
function openDelivery(deps: DeliverDeps, head: LaneHead, signal: AbortSignal): Delivering {
  const payload = readPayload(head);
  const { message } = payload;
  const channel = deps.channels.get(message.channel);
  if (channel === undefined) {
    const text = `The channel ${message.channel} is switched off; its answers wait until it is on again.`;
    throw new GatewayError('channel_off', text, { retryable: true });
  }
  const target = { render: channel.render.bind(channel), maxLength: channel.capabilities.maxLength };
  const partsOf: PartsOf = (of, known, { shown = [], about = message, after } = {}) =>
    new PartDelivery({
      channel,
      final: finalCalls(deps.schedulerOf(channel), { head, signal }, deps),
      message: about,
      ref: of,
      known,
      shown,
      after,
      log: deps.log,
      sentAmong: (ids) => deps.ledger.sentAmong(ids),
      noteSent: (sent: SentMessage[]) =>
        deps.notes.save(message, of, sent, (ref, parts) => deps.ledger.noteSent(head, ref, parts)),
      onChatMoved: deps.onChatMoved,
    });
  return {
    deps,
    head,
    payload,
    channel,
    partsOf,
    say: deps.say(message),
    cut: (text) => chunksOf(text, target, deps.yieldToEventLoop),
    instead: channel.render(parseMarkdown(SURPLUS_TEXT)),
  };
}

/** The messages known to show `ref`. Throws `StoreError`. */
async function knownParts({ notes, ledger }: DeliverDeps, ref: string): Promise<SentMessage[]> {
  return notes.known(ref, await ledger.sentParts(ref));
}

/** Reads what the answer consists of on this channel. */
async function readAnswer({ deps, payload, channel, say, cut }: Delivering): Promise<Answer> {
  const { message, says } = payload;
  const { maxLength, maxFileBytes } = channel.capabilities;
  // People must read what they decide about above its buttons: a file would appear below them.
  const decides = message.buttons.length > 0;
  const limits = { maxLength: decides ? Infinity : maxLength, maxFileBytes, cut, say };
  const text = says === undefined ? message.content : say(says);
  const { content, files: code } = await takeOutLongCode(resolveReferences(text), limits);
  const document = (text: string) => documentOf(text, deps.yieldToEventLoop);
  const whole = await channel.renderWhole?.(message, { markdown: content, documentOf: document });
  return { content, code, whole };
}

/**
 * Reports answers that the chat has missed. If the platform refuses the sentence, the answer after it is still
 * delivered.
 */
async function reportMissed({ deps, head, payload, partsOf, cut, say }: Delivering): Promise<void> {
  const ref = `${payload.ref}:missed`;
  const about = { ...payload.message, turnId: undefined, replyTo: undefined };
  const shown = await deps.ledger.sentParts(ref);
  const [sentence] = shown.length > 0 ? [] : await cut(missedText(head.unreported, say));
  if (sentence === undefined) return;
  await partsOf(ref, shown, { about })
    .put(0, sentence, false)
    .catch((error: unknown) => {
      if (!isRefusal(error)) throw error;
      deps.log.warn({ ...logFields(head), err: error }, 'missed_answers_not_reported');
    });
}

/** Puts the text of the answer on screen, and removes surplus messages; returns its messages. */
async function putAnswer(
  { deps, head, payload, channel, partsOf, cut, say, instead }: Delivering,
  { content, whole }: Answer,
  known: SentMessage[],
): Promise<PartDelivery> {
  const { ref, message } = payload;
  const about = withAnswerButtons(message, ref, channel, say);
  const parts = partsOf(ref, known, { shown: deps.removeShown(ref), about });
  const isWhole = whole !== undefined && (await putWhole(parts, whole));
  const chunks = isWhole ? [] : await cut(content);
  for (const [index, chunk] of chunks.entries()) {
    const last = index === chunks.length - 1;
    await parts.put(index, chunk, last).catch(async (error: unknown) => {
      if (!isRefusal(error)) throw error;
      await apologise(parts, index, await cut(apologyFor(message.turnId ?? ref, say)), error);
    });
  }
  await parts.takeAway(isWhole ? 1 : chunks.length, instead);
  await parts.takeCopies(instead);
  if (about !== message) await deps.oldButtons.moved(channel, head, message, parts.sent.at(-1));
  return parts;
}

/** Puts the answer's files below `after`, its last message. */
async function putFiles(
  { deps, head, payload, channel, partsOf, cut, say }: Delivering,
  code: FileParts['code'],
  after: SentMessage | undefined,
): Promise<void> {
  const { message } = payload;
  if (message.media.length === 0 && code.length === 0) return;
  const { files, log } = deps;
  const ref = filesRef(payload.ref);
  const about = after === undefined ? message : { ...message, replyTo: undefined };
  const parts = partsOf(ref, await knownParts(deps, ref), { after, about });
  const codeParts = async (index: number) => {
    const text = `${ref}:text${index}`;
    return partsOf(text, await knownParts(deps, text), { about });
  };
  await sendFiles({ parts, codeParts, channel, head, message, code, cut, files, say, log });
}

/** An answer with the button that asks its question again, if the channel supports it. */
function withAnswerButtons(
  message: DeliveryPayload['message'],
  ref: string,
  { capabilities }: Channel,
  say: Say,
): DeliveryPayload['message'] {
  const { turnId, asked, buttons } = message;
  const offers = capabilities.answerButtons === true && asked === true && turnId === ref;
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
  [sentence]: Rendered[],
  refusal: ChannelError,
): Promise<void> {
  if (sentence === undefined) throw refusal;
  await parts.put(index, sentence, false).catch((error: unknown) => {
    throw isRefusal(error) ? refusal : error;
  });
  throw new ApologyShown(refusal);
}
