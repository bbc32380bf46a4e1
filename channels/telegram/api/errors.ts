/** Converts grammY's and Telegram's failures to `ChannelError`, without any part of the token. */
import { GrammyError, HttpError } from 'grammy/web';
import { ChannelError } from '../../../src/protocol/errors.ts';
import { textRef } from '../../../src/protocol/texts/say.ts';
import { ForeignAnswer, NoAnswer } from './http-call.ts';

/** The parts of a failed call that its error depends on. */
export interface FailedCall {
  method: string;
  token: string;
  /** True if users would see a repeated call: the outcome of a lost answer is then unknown. */
  duplicateVisible: boolean;
}

/** Shown when Telegram refuses the token. */
const TOKEN_REFUSED = textRef('health.chat_token', { network: 'Telegram', variable: 'TELEGRAM_BOT_TOKEN' });

/** Telegram's descriptions of a bot that is blocked, removed, or was never started. */
const UNWANTED =
  /blocked by the user|user is deactivated|bot was kicked|is not a member|can't initiate conversation|can't send messages to (bots|the user)|chat not found|chat was deleted|USER_IS_BLOCKED|USER_DEACTIVATED/i;

/** Methods that a self-hosted server may be too old for: there, a 404 does not concern the token. */
const NEWER_METHODS: ReadonlySet<string> = new Set([
  'sendMessageDraft',
  'sendRichMessage',
  'sendRichMessageDraft',
]);

const MESSAGE_GONE =
  /message to edit not found|message can't be edited|MESSAGE_ID_INVALID|message identifier/i;

const PLACE_GONE =
  /message thread not found|TOPIC_(CLOSED|DELETED)|(to be replied|reply|replied) (message )?not found|REPLY_MESSAGE_ID_INVALID/i;

const BAD_MARKUP = /can't parse entities|can't find end|unsupported start tag|ENTITY_BOUNDS_INVALID/i;

/** The answer both for a wrong id and for a file that is temporarily unavailable: the ids come from Telegram itself. */
const FILE_AWAY = /file is temporarily unavailable/i;

/** True for the answer to an edit that changes nothing: the screen already shows it. */
export function isNotModified(error: unknown): boolean {
  return error instanceof GrammyError && /message is not modified/i.test(error.description);
}

/** True for the answer to a deletion of a message that is no longer there. */
export function isDeleted(error: unknown): boolean {
  return (
    error instanceof GrammyError && /message to delete not found|MESSAGE_ID_INVALID/i.test(error.description)
  );
}

/** True for the answer to `getFile` about a file that bots cannot download. */
export function isFileTooBig(error: unknown): boolean {
  return error instanceof GrammyError && /file is too big/i.test(error.description);
}

/** Why a chat accepts no new topic: it has no topics at all, or an administrator has not allowed the bot to open them. */
export function whyNoTopic(error: unknown): 'no_forum' | 'no_right' | undefined {
  if (!(error instanceof GrammyError)) return undefined;
  if (/not a forum/i.test(error.description)) return 'no_forum';
  return /not enough rights|CHAT_ADMIN_REQUIRED/i.test(error.description) ? 'no_right' : undefined;
}

/** True for the 409 that a webhook causes; polling can resume once it is deleted. */
export function isWebhookConflict(error: unknown): boolean {
  return (
    error instanceof GrammyError && error.error_code === 409 && /webhook is active/i.test(error.description)
  );
}

/** Converts any failure of a call to a `ChannelError`. Never throws. */
export function toChannelError(error: unknown, call: FailedCall): ChannelError {
  if (error instanceof ChannelError) return error;
  if (error instanceof GrammyError) return fromAnswer(error, call);
  return fromNetwork(error, call);
}

function fromAnswer(error: GrammyError, call: FailedCall): ChannelError {
  const { error_code: status, description, parameters } = error;
  const cause = bareCause(error, call.token);
  const refusal = textRef('health.said', {
    network: 'Telegram',
    method: call.method,
    description: clip(description),
  });
  if (status === 429) {
    const retryAfterMs = Math.max(1, parameters.retry_after ?? 1) * 1_000;
    return new ChannelError('rate_limited', refusal, { retryable: true, retryAfterMs, cause });
  }
  if (status === 404 && NEWER_METHODS.has(call.method)) {
    const old = `This Bot API server does not know ${call.method}: it is older than Bot API 10.3.`;
    return new ChannelError('rejected', old, { cause });
  }
  if (status === 401 || status === 404) return new ChannelError('unauthorized', TOKEN_REFUSED, { cause });
  if (status === 409) {
    const elsewhere = textRef('health.conflict', { refusal });
    return new ChannelError('conflict', elsewhere, { retryable: true, cause });
  }
  if (status >= 500) return new ChannelError('unavailable', refusal, { retryable: true, cause });
  if (parameters.migrate_to_chat_id !== undefined) {
    return new ChannelError('chat_moved', refusal, { movedTo: String(parameters.migrate_to_chat_id), cause });
  }
  if (UNWANTED.test(description)) return new ChannelError('blocked', refusal, { cause });
  // An unknown 403 may be temporary; treating it as a block would silence a chat permanently.
  if (status === 403) return new ChannelError('unavailable', refusal, { retryable: true, cause });
  if (MESSAGE_GONE.test(description)) return new ChannelError('message_gone', refusal, { cause });
  if (PLACE_GONE.test(description)) return new ChannelError('place_gone', refusal, { cause });
  if (FILE_AWAY.test(description))
    return new ChannelError('unavailable', refusal, { retryable: true, cause });
  if (BAD_MARKUP.test(description)) return new ChannelError('bad_markup', refusal, { cause });
  const isWebhook = call.method === 'setWebhook';
  const advice = isWebhook
    ? textRef('health.webhook_address', { setting: 'channels.telegram.webhook.url', refusal })
    : refusal;
  return new ChannelError('rejected', advice, { cause });
}

function fromNetwork(error: unknown, call: FailedCall): ChannelError {
  const inner = error instanceof HttpError ? error.error : error;
  const cause = bareCause(inner, call.token);
  const why = inner instanceof NoAnswer && inner.code !== '' ? inner.code : cause.message;
  if (call.duplicateVisible && mayBeApplied(inner)) {
    return new ChannelError(
      'outcome_unknown',
      `Telegram's answer to ${call.method} was lost (${why}): the message may or may not be on screen.`,
      { retryable: true, cause },
    );
  }
  return new ChannelError(
    'unavailable',
    textRef('health.not_reached', {
      network: 'Telegram',
      variable: 'TELEGRAM_API_ROOT',
      method: call.method,
      why,
    }),
    { retryable: true, cause },
  );
}

/** A proxy's error page means that nothing was applied; after any other answer, the request may have been. */
function mayBeApplied(error: unknown): boolean {
  if (error instanceof ForeignAnswer) return error.status >= 200 && error.status < 300;
  return !(error instanceof NoAnswer) || error.written;
}

/**
 * The foreign error for the log: its name, message and stack without the token, which the errors of grammY and
 * node-fetch contain.
 */
function bareCause(error: unknown, token: string): Error {
  const bare = (text: string): string => text.replaceAll(token, '[telegram-token]');
  if (!(error instanceof Error)) return new Error(bare(String(error)));
  const copy = new Error(bare(error.message));
  copy.name = error.name;
  copy.stack = bare(error.stack ?? '');
  return copy;
}

function clip(text: string): string {
  return text.length > 300 ? `${text.slice(0, 300)}…` : text;
}
