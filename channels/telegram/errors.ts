/** Converts grammY's and Telegram's failures to `ChannelError`, without any part of the token. */
import { GrammyError, HttpError } from 'grammy/web';
import { ChannelError, channelUnavailable } from '../../src/protocol/errors.ts';
import { textRef } from '../../src/protocol/texts/say.ts';
import { ForeignAnswer, NoAnswer } from './http-call.ts';

/** Shown when Telegram refuses the token. */
const TOKEN_REFUSED = textRef('health.chat_token', { network: 'Telegram', variable: 'TELEGRAM_BOT_TOKEN' });

/** Telegram's descriptions of a bot that is blocked, removed, or was never started. */
const UNWANTED =
  /blocked by the user|user is deactivated|bot was kicked|is not a member|can't initiate conversation|can't send messages to (bots|the user)|chat not found|chat was deleted|business connection not found|BUSINESS_PEER_|USER_IS_BLOCKED|USER_DEACTIVATED/i;

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
export function topicRefusal(error: unknown): 'no_forum' | 'no_right' | undefined {
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
export function toChannelError(error: unknown, method: string, token: string): ChannelError {
  if (error instanceof ChannelError) return error;
  return error instanceof GrammyError
    ? fromAnswer(error, method, bareCause(error, token))
    : fromNetwork(error instanceof HttpError ? error.error : error, method, token);
}

function fromAnswer(error: GrammyError, method: string, cause: Error): ChannelError {
  const { error_code: status, description, parameters } = error;
  const refusal = textRef('health.answer', { network: 'Telegram', method, description: clip(description) });
  if (status === 429) {
    const retryAfterMs = Math.max(1, parameters.retry_after ?? 1) * 1_000;
    return new ChannelError('rate_limited', refusal, { retryable: true, retryAfterMs, cause });
  }
  if (status === 404 && NEWER_METHODS.has(method)) {
    const outdated = `This Bot API server does not know ${method}: it is older than Bot API 10.3.`;
    return new ChannelError('rejected', outdated, { cause });
  }
  if (status === 401 || status === 404) return new ChannelError('unauthorized', TOKEN_REFUSED, { cause });
  if (status === 409)
    return new ChannelError('conflict', textRef('health.conflict', { refusal }), { retryable: true, cause });
  if (status >= 500) return channelUnavailable(refusal, cause);
  if (parameters.migrate_to_chat_id !== undefined)
    return new ChannelError('chat_moved', refusal, { movedTo: String(parameters.migrate_to_chat_id), cause });
  if (UNWANTED.test(description)) return new ChannelError('blocked', refusal, { cause });
  // An unknown 403 may be temporary; treating it as a block would silence a chat permanently.
  if (status === 403) return channelUnavailable(refusal, cause);
  if (MESSAGE_GONE.test(description)) return new ChannelError('message_gone', refusal, { cause });
  if (PLACE_GONE.test(description)) return new ChannelError('place_gone', refusal, { cause });
  if (FILE_AWAY.test(description)) return channelUnavailable(refusal, cause);
  if (BAD_MARKUP.test(description)) return new ChannelError('bad_markup', refusal, { cause });
  const advice =
    method === 'setWebhook'
      ? textRef('health.webhook_address', { setting: 'channels.telegram.webhook.url', refusal })
      : refusal;
  return new ChannelError('rejected', advice, { cause });
}

function fromNetwork(error: unknown, method: string, token: string): ChannelError {
  const cause = bareCause(error, token);
  const reason = error instanceof NoAnswer && error.code !== '' ? error.code : cause.message;
  if (isVisibleTwice(method) && mayBeApplied(error)) {
    const text = `Telegram's answer to ${method} was lost (${reason}): the message may or may not be on screen.`;
    return new ChannelError('outcome_unknown', text, { retryable: true, cause });
  }
  const values = { network: 'Telegram', variable: 'TELEGRAM_API_ROOT', method, why: reason };
  return channelUnavailable(textRef('health.not_reached', values), cause);
}

/** True if people would see a repeated call: the outcome of a lost answer is then unknown. */
function isVisibleTwice(method: string): boolean {
  return /^send(?!ChatAction)/.test(method);
}

/** A proxy's error page means that nothing was applied; after any other answer, the request may have been. */
function mayBeApplied(error: unknown): boolean {
  if (error instanceof ForeignAnswer) return error.status >= 200 && error.status < 300;
  return !(error instanceof NoAnswer) || error.written;
}

/** The foreign error for the log, without the token, which the errors of grammY and node-fetch contain. */
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
