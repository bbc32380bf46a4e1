/** What several channels have in common: refused bot tokens, the errors of files, replies to commands, reactions. */
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { inMegabytes } from '../lib/text.ts';
import { Refusals } from '../lib/async/call-gate.ts';
import {
  DEAD_AFTER_MS,
  DEAD_INTERVAL_MS,
  type Finding,
  type OutboundFile,
  type QuestionState,
} from './channel.ts';
import { ChannelError, channelUnavailable, errorCode } from './errors.ts';
import type { ChannelHealth } from './gateway-api.ts';
import type { InboundMessage } from './message.ts';
import type { Receipt } from './receive.ts';
import type { Say, TextRef } from './texts/say.ts';
import { TtlCache } from '../lib/ttl-cache.ts';
import type { AskedQuestion } from './delivery.ts';

const WAITS = {
  firstMs: 5_000,
  capMs: 60_000,
  lastsAfterMs: DEAD_AFTER_MS,
  lastingMs: DEAD_INTERVAL_MS,
};

/** The refusals of one token, which starts as a valid one. */
export function tokenRefusals(monotonicMs: () => number): Refusals {
  return new Refusals(WAITS, monotonicMs);
}

/** The error of calls until the token is tried again; `message` says what to do. */
export function tokenRefused(refusals: Refusals, message: TextRef, cause?: unknown): ChannelError {
  const retryAfterMs = Math.max(1, refusals.leftMs);
  return new ChannelError('unauthorized', message, { retryable: true, retryAfterMs, cause });
}

/** Undefined while the token is valid. */
export function tokenHealth({ state }: Refusals, detail: TextRef): ChannelHealth | undefined {
  return state && { state: state === 'lasting' ? 'dead' : 'degraded', detail };
}

/** Makes the findings of `parley doctor` about one subject. */
export function findingsOn(subject: string) {
  return (level: Finding['level'], text: string, remedy?: string): Finding => ({
    subject,
    level,
    text,
    remedy,
  });
}

/** Chats whose session changed within this time are read after an outage, no matter when messages were missed there. */
export const HEARD_WITHIN_MS = 30 * 24 * 3_600_000;
/** Older messages are not answered: after seven days the gateway forgets which ones it has answered. */
export const MAX_MISSED_AGE_MS = 6 * 24 * 3_600_000;

const FAMILIES = ['image', 'audio', 'video'] as const;

/** The kind of a file by its media type. */
export function kindOfType(mimeType: string | null | undefined): (typeof FAMILIES)[number] | 'file' {
  const family = mimeType?.split('/')[0];
  return FAMILIES.find((kind) => kind === family) ?? 'file';
}

/** The error for a file that the platform does not have; `server` is its name for people. */
export function lostFile(server: string, cause?: unknown): ChannelError {
  return new ChannelError('rejected', `${server} no longer has this file. Please send it again.`, { cause });
}

/** The error for a file whose transfer broke off. Has only the code of the cause, whose request contains the token. */
export function brokenTransfer(server: string, cause: unknown): ChannelError {
  const code = errorCode(cause);
  return channelUnavailable(
    `The file did not come through between ${server} and here${code && ` (${code})`}.`,
  );
}

/** The bytes of a file to send. Throws `ChannelError('rejected')` beyond the limits, or if the file cannot be read. */
export async function readUpload(
  { path, name, caption }: OutboundFile,
  network: string,
  { maxCaption, maxBytes }: { maxCaption: number; maxBytes: number },
): Promise<Buffer<ArrayBuffer>> {
  if ((caption?.length ?? 0) > maxCaption)
    throw new ChannelError('rejected', `A caption on ${network} may have at most ${maxCaption} characters.`);
  const bytes = await readFile(path).catch((cause: unknown) => {
    throw new ChannelError('rejected', `The file ${name} cannot be read.`, { cause });
  });
  if (bytes.length <= maxBytes) return bytes;
  throw new ChannelError('rejected', `The file ${name} is larger than ${inMegabytes(maxBytes)}.`);
}

/** A digest of that many characters that names a send: the same for every attempt, in every process. */
export function nonceDigest(text: string, length: number): string {
  return createHash('sha256').update(text).digest('base64url').slice(0, length);
}

/** What a person does other than writing: a message without text. */
export function toAct(
  act: Pick<InboundMessage, 'id' | 'channel' | 'chatId' | 'threadId' | 'senderId' | 'timestamp' | 'place'>,
): InboundMessage {
  return { ...act, content: '', media: [], mentioned: true };
}

/** Commands whose reply everyone in the chat sees. */
const PUBLIC_COMMANDS = ['/stop', '/new'];

/** True for a command whose reply everyone in the chat sees, such as that an answer was stopped. */
export function isPublicCommand({ content }: InboundMessage): boolean {
  return PUBLIC_COMMANDS.includes(content.split(/\s/, 1)[0] ?? '');
}

/** What the person who used a command or a button reads. */
export function replyTo(receipt: Receipt, say: Say): string {
  // A form can be shown only at once, in place of the first answer.
  if (receipt.kind === 'handled' && receipt.form !== undefined) return say('press.too_late');
  if (receipt.kind === 'handled') return receipt.reply ?? say('press.done');
  return receipt.kind === 'refused' ? (receipt.reply ?? say('press.not_answered')) : say('press.done');
}

/** Questions whose reaction is remembered, and for how long in milliseconds. */
export const MAX_REACTIONS = 5_000;

const REMEMBERED_MS = 6 * 3_600_000;

/** The platform's name of the reaction for each state. */
export type StateReactions = Readonly<Record<Exclude<QuestionState, 'none'>, string>>;

/** The emojis for each state, for platforms that accept any. */
export const STATE_EMOJIS: StateReactions = { waiting: '⏳', working: '👀', done: '✅', failed: '❌' };

/** Calls a missing permission `rejected`: it stays missing for a while, so the bot leaves the chat alone. */
export async function unlessForbidden(work: Promise<void>): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (error instanceof ChannelError && error.code === 'blocked')
      throw new ChannelError('rejected', error.message, { cause: error.cause });
    throw error;
  }
}

interface SingleReactionsParts {
  reactions: StateReactions;
  /** Adds a reaction of the bot; one that already exists is not an error. */
  add: (question: AskedQuestion, emoji: string) => Promise<void>;
  /** Removes one; one that is gone, or never existed, is not an error. */
  takeAway: (question: AskedQuestion, emoji: string) => Promise<void>;
  /** Milliseconds of a monotonic clock. */
  monotonicNow: () => number;
}

/** Shows states of questions, each in place of the previous one. */
export class SingleReactions {
  readonly #parts: SingleReactionsParts;
  /** The bot's reactions to a question, as far as this process knows. */
  readonly #shown: TtlCache<readonly string[]>;

  constructor(parts: SingleReactionsParts) {
    this.#parts = parts;
    this.#shown = new TtlCache(REMEMBERED_MS, MAX_REACTIONS, parts.monotonicNow);
  }

  /** A question has arrived here: it has no reaction yet. */
  arrived(question: Pick<AskedQuestion, 'chatId' | 'messageId'>): void {
    const key = keyOf(question);
    if (this.#shown.get(key) === undefined) this.#shown.set(key, []);
  }

  /** Shows a state in place of the previous one. Throws what `add` and `takeAway` throw, and then continues from there. */
  async show(question: AskedQuestion, state: QuestionState): Promise<void> {
    const { reactions, add, takeAway } = this.#parts;
    const key = keyOf(question);
    const emoji = state === 'none' ? undefined : reactions[state];
    const isLast = state !== 'waiting' && state !== 'working';
    // Another node may have shown reactions before: those that may exist are removed with the last one.
    const before = this.#shown.get(key) ?? (isLast ? [reactions.waiting, reactions.working] : []);
    const old = before.filter((one) => one !== emoji);
    const isKnown = isLast || this.#shown.get(key) !== undefined;
    if (emoji !== undefined && !before.includes(emoji)) await add(question, emoji);
    const now = emoji === undefined ? [] : [emoji];
    if (isKnown) this.#shown.set(key, [...old, ...now]);
    for (const [at, one] of old.entries()) {
      await takeAway(question, one);
      if (isKnown) this.#shown.set(key, [...old.slice(at + 1), ...now]);
    }
  }
}

function keyOf({ chatId, messageId }: Pick<AskedQuestion, 'chatId' | 'messageId'>): string {
  return `${chatId} ${messageId}`;
}
