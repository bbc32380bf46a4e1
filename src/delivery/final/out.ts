/** The `out:` lanes: the final text replaces what grew on screen, or is sent (T7). */
import type { LaneHandler, LaneOutcome } from '../../contracts/bus.ts';
import { LaneAbort } from '../../contracts/bus.ts';
import type { Channel, Rendered } from '../../contracts/channel.ts';
import { ChannelError, FencedError, GatewayError, toGatewayError } from '../../contracts/errors.ts';
import type { LaneHead, LaneStep, LaneStore } from '../../contracts/store/lanes.ts';
import type { DeliveryPayload, Ledger } from '../../contracts/store/ledger.ts';
import { regenerateButton } from '../../contracts/delivery.ts';
import type { Log } from '../../contracts/log.ts';
import type { OutgoingFiles } from '../../contracts/media.ts';
import { addressOf } from '../../contracts/message.ts';
import type { SentMessage } from '../../contracts/message.ts';
import type { ChatMigration } from '../../contracts/message.ts';
import type { Clock } from '../../lib/clock.ts';
import { parseMarkdown } from '../../lib/markdown/markdown.ts';
import { takeOutLongCode } from '../files/long-code.ts';
import { filesRef, sendFiles } from '../files/send-files.ts';
import { chunksOf, documentOf } from '../text/chunker.ts';
import { payloadShape, readPayload } from './payload.ts';
import type { OldButtons } from '../old-buttons.ts';
import type { PartNotes } from './part-notes.ts';
import { PartDelivery } from './part-delivery.ts';
import {
  ApologyShown,
  apologyFor,
  isRefusal,
  MAX_AMBIGUOUS_SENDS,
  missedText,
  pauseMs,
  waitFor,
  wakeUpAfter,
} from './giving-up.ts';
import { finalCalls } from './final-calls.ts';
import { lastCard } from '../plans/plan-cards.ts';
import type { LastCardDeps, PartsOf } from '../plans/plan-cards.ts';
import type { Scheduler } from '../rate/scheduler.ts';
import type { Say, SayIn } from '../../contracts/texts/say.ts';

/** Text of a message that is no longer needed and cannot be taken away. */
const SURPLUS_TEXT = '…';

export interface OutDeps {
  channels: Map<string, Channel>;
  schedulerOf(channel: Channel): Scheduler;
  ledger: Pick<Ledger, 'sentParts' | 'sentAmong' | 'noteSent' | 'finishDelivery' | 'enqueue'>;
  notes: PartNotes;
  lanes: Pick<LaneStore, 'finish' | 'noteWaiting'>;
  /** The files that go out. */
  files: Pick<OutgoingFiles, 'copy' | 'write'>;
  /** Resolves when no call of the message that grew for `ref` is in flight. Never rejects. */
  settled: (ref: string) => Promise<void>;
  /** Removes and gives the texts that a turn's messages are certain to show. */
  removeShown: (ref: string) => readonly (string | undefined)[];
  /** Brings the card of a turn's plan up to date. */
  card: LastCardDeps;
  /** The button under answers moves with the newest. */
  oldButtons: Pick<OldButtons, 'moved'>;
  clock: Clock;
  log: Log;
  /** In [0, 1). */
  random: () => number;
  /** Lets others run while a long text is cut. */
  yieldToEventLoop: () => Promise<void>;
  onAmbiguousSend: () => void;
  /** Called for a chat that has a new id. */
  onChatMoved: (move: ChatMigration) => void;
  say: SayIn;
  /** Called for a delivery that was given up. */
  onDead(payload: DeliveryPayload, error: GatewayError): Promise<void>;
}

/** Makes the handler of `out:` lanes. */
export function createOut(deps: OutDeps): LaneHandler {
  return {
    maxAttempts: MAX_AMBIGUOUS_SENDS,
    async handle(head, signal) {
      try {
        return { kind: 'finished', step: await deliver(deps, head, signal) };
      } catch (thrown) {
        const error = toGatewayError(thrown);
        const outcome = outcomeOf(deps, head, error);
        if ('delayMs' in outcome) {
          const { attempts } = head;
          const { delayMs } = outcome;
          deps.log.info({ ...logFields(head), attempts, delayMs, err: error }, 'delivery_retried');
        }
        return outcome;
      }
    },
    async onDeadLetter(head, error) {
      const unreported = !(error instanceof ApologyShown) && !isWakeUp(head);
      const step = await deps.lanes.finish(head, error.message, unreported);
      await reportDead(deps, head, error);
      // Whoever blocked the bot reads of it with the next answer; a wake-up would be refused, too.
      if (unreported && error.code !== 'blocked') await wakeUp(deps, head);
      return step;
    },
  };
}

/** Puts every part on screen with exactly its text, each id stored before the next part (T7). */
async function deliver(deps: OutDeps, head: LaneHead, signal: AbortSignal): Promise<LaneStep> {
  const { ref, message, copies, planId, says } = readPayload(head);
  const channel = deps.channels.get(message.channel);
  if (channel === undefined) {
    const text = `The channel ${message.channel} is switched off; its answers wait until it is on again.`;
    throw new GatewayError('channel_off', text, { retryable: true });
  }
  await deps.settled(ref);
  const known = deps.notes.known(ref, await deps.ledger.sentParts(ref));
  const target = { render: channel.render.bind(channel), maxLength: channel.capabilities.maxLength };
  const cut = (text: string) => chunksOf(text, target, deps.yieldToEventLoop);
  const { maxLength, maxFileBytes } = channel.capabilities;
  // What a person decides about is read above its buttons: a file would stand below them.
  const decides = message.buttons.length > 0;
  const say = deps.say(message);
  const limits = { maxLength: decides ? Infinity : maxLength, maxFileBytes, cut, say };
  const { content, files: code } = await takeOutLongCode(
    says === undefined ? message.content : say(says),
    limits,
  );
  const { yieldToEventLoop } = deps;
  const documents = { markdown: content, documentOf: (text: string) => documentOf(text, yieldToEventLoop) };
  const whole = await channel.renderWhole?.(message, documents);
  const instead = target.render(parseMarkdown(SURPLUS_TEXT));
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
  if (head.unreported > 0) {
    const missed = `${ref}:missed`;
    const about = { ...message, turnId: undefined, replyTo: undefined };
    const shown = await deps.ledger.sentParts(missed);
    const sentence = shown.length > 0 ? [] : await cut(missedText(head.unreported, say));
    await tellMissed(deps, head, partsOf(missed, shown, { about }), sentence);
  }
  if (copies !== undefined) {
    const unknown = copies.filter((copy) => known.every(({ id }) => id !== copy.id));
    await partsOf(ref, unknown).takeAway(0, instead);
    // What shows `ref` may have been noted meanwhile by its turn.
    return await deps.ledger.finishDelivery(head, ref, undefined);
  }
  const card = await lastCard(deps.card, { message, planId }, channel, partsOf);
  if (planId !== undefined) {
    await card?.deliver();
    return await deps.ledger.finishDelivery(head, ref, undefined);
  }
  if (card?.first === true) await card.deliver();
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
  if (message.media.length > 0 || code.length > 0) {
    const files = filesRef(ref);
    const known = deps.notes.known(files, await deps.ledger.sentParts(files));
    const after = parts.sent.at(-1);
    const more = { after, about: after === undefined ? message : { ...message, replyTo: undefined } };
    const codeParts = async (index: number) => {
      const ref = `${files}:text${index}`;
      return partsOf(ref, deps.notes.known(ref, await deps.ledger.sentParts(ref)), { about: more.about });
    };
    const { files: kept, log } = deps;
    const shown = { parts: partsOf(files, known, more), codeParts };
    await sendFiles({ ...shown, channel, head, message, code, cut, files: kept, say, log });
  }
  // The answer first: the card can wait.
  if (card?.first === false) await card.deliver();
  const step = await deps.ledger.finishDelivery(head, ref, parts.sent);
  deps.log.debug({ ...logFields(head), parts: parts.sent.length }, 'delivery_sent');
  return step;
}

/** An answer with the button that has its question asked again, where the channel shows it. */
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

/** Shows the answer as one message of the richer kind; false where the platform refuses it. */
async function putWhole(parts: PartDelivery, whole: Rendered): Promise<boolean> {
  try {
    await parts.put(0, whole, true);
    return true;
  } catch (error) {
    if (isRefusal(error)) return false;
    throw error;
  }
}

/** Tells the chat of answers that it has missed. A platform that refuses the sentence still gets the answer after it. */
async function tellMissed(
  deps: OutDeps,
  head: LaneHead,
  parts: PartDelivery,
  [sentence]: Rendered[],
): Promise<void> {
  if (sentence === undefined) return;
  await parts.put(0, sentence, false).catch((error: unknown) => {
    if (!isRefusal(error)) throw error;
    deps.log.warn({ ...logFields(head), err: error }, 'missed_answers_not_reported');
  });
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

/** Outcome of a head that could not be delivered now. Throws the error that makes it a dead letter. */
function outcomeOf(deps: OutDeps, head: LaneHead, error: GatewayError): LaneOutcome {
  // Another node owns the head, or this one is closing: nothing is half done, and nothing more may be written.
  if (error instanceof FencedError || error instanceof LaneAbort || error.code === 'closing')
    return { kind: 'released' };
  switch (error instanceof ChannelError ? error.code : undefined) {
    case 'rate_limited':
      return { kind: 'released', delayMs: error.retryAfterMs ?? pauseMs(head, deps.random) };
    case 'outcome_unknown':
      deps.onAmbiguousSend();
      return { kind: 'retry', error, delayMs: pauseMs(head, deps.random) };
    case 'unavailable':
    case 'conflict':
    // A token that is refused may be accepted again: the channel goes on asking, and so does this.
    case 'unauthorized':
      return waitFor(head, error, deps.random);
    default:
      if (error.retryable) return waitFor(head, error, deps.random);
      throw error;
  }
}

/** Queues what tells the chat of the dead letter; without it the chat reads of it with its next answer. */
async function wakeUp(deps: OutDeps, head: LaneHead): Promise<void> {
  try {
    const payload = wakeUpAfter(head);
    await deps.ledger.enqueue(addressOf(payload.message), payload);
  } catch (thrown) {
    deps.log.warn({ ...logFields(head), err: toGatewayError(thrown) }, 'dead_letter_wake_up_failed');
  }
}

/** True for a delivery that has nothing of its own that anybody could miss. */
function isWakeUp({ payload }: LaneHead): boolean {
  const { message, says } = payloadShape.safeParse(payload).data ?? {};
  return message?.content === '' && message.media.length === 0 && says === undefined;
}

/** Reports a delivery that was given up to its session; a failure to do so must not block the lane. */
async function reportDead(deps: OutDeps, head: LaneHead, error: GatewayError): Promise<void> {
  deps.log.error({ ...logFields(head), err: error }, 'delivery_dead');
  try {
    await deps.onDead(readPayload(head), error);
  } catch (thrown) {
    deps.log.warn({ ...logFields(head), err: toGatewayError(thrown) }, 'dead_delivery_notice_failed');
  }
}

/** Names the delivery in the log, as far as its payload can be read. */
function logFields({ lane, seq, payload }: LaneHead): Record<string, unknown> {
  const parsed = payloadShape.safeParse(payload);
  if (!parsed.success) return { lane, laneSeq: seq };
  const { channel, chatId, turnId } = parsed.data.message;
  return { channel, chatId, turnId, lane, laneSeq: seq };
}
