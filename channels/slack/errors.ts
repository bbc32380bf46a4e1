/** Converts Slack's refusals and failures to `ChannelError`. */
import {
  WebAPIHTTPError,
  WebAPIPlatformError,
  WebAPIRateLimitedError,
  WebAPIRequestError,
} from '@slack/web-api';
import {
  ChannelError,
  type ChannelErrorCode,
  channelUnavailable,
  messageOf,
} from '../../src/protocol/errors.ts';
import { textRef, type TextRef } from '../../src/protocol/texts/say.ts';

const APP_PAGE = 'api.slack.com/apps';
export const BAD_TOKEN = textRef('health.app_page_token', {
  network: 'Slack',
  variable: 'SLACK_BOT_TOKEN',
  page: APP_PAGE,
});
export const BAD_APP_TOKEN = textRef('health.app_level_token', {
  network: 'Slack',
  variable: 'SLACK_APP_TOKEN',
  page: APP_PAGE,
});

/** Errors of any method that mean that the token is invalid (Slack's documentation, "Errors" of each method). */
const TOKEN_ERRORS =
  /^(invalid_auth|not_authed|account_inactive|token_revoked|token_expired|not_allowed_token_type|no_permission)$/;

const MEANINGS: Readonly<Record<string, [ChannelErrorCode, string | TextRef]>> = {
  channel_not_found: [
    'blocked',
    'Slack does not know this channel, or the bot is not in it: /invite it there.',
  ],
  not_in_channel: ['blocked', 'The bot is not in this Slack channel: /invite it there.'],
  is_archived: ['blocked', 'The Slack channel is archived.'],
  restricted_action: ['blocked', 'The settings of the Slack workspace do not let the bot write here.'],
  restricted_action_read_only_channel: [
    'blocked',
    'Only its administrators can write in this Slack channel.',
  ],
  restricted_action_thread_locked: ['blocked', 'The Slack thread is locked.'],
  restricted_action_non_threadable_channel: ['blocked', 'This Slack channel has no threads.'],
  restricted_action_thread_only_channel: ['blocked', 'In this Slack channel people write only in threads.'],
  cannot_dm_bot: ['blocked', 'Slack does not let bots write to each other.'],
  user_disabled: ['blocked', 'The account of this person on Slack was switched off.'],
  messages_tab_disabled: [
    'blocked',
    'The app does not accept direct messages on Slack: turn on the Messages Tab (your app at api.slack.com/apps, App Home).',
  ],
  message_not_found: ['message_gone', 'The Slack message no longer exists.'],
  cant_update_message: [
    'message_gone',
    'The Slack message was written by someone else and cannot be edited.',
  ],
  cant_delete_message: ['rejected', 'Slack does not let the bot delete this message.'],
  edit_window_closed: ['message_gone', 'Slack accepts no more edits of this message.'],
  thread_not_found: ['place_gone', 'The Slack thread no longer exists.'],
  invalid_thread_ts: ['place_gone', 'The Slack thread no longer exists.'],
  msg_too_long: ['rejected', 'The text is too long for a Slack message.'],
  msg_blocks_too_long: ['rejected', 'The text is too long for a Slack message.'],
  no_text: ['rejected', 'Slack does not accept an empty message.'],
};

const TRANSIENT =
  /^(internal_error|fatal_error|service_unavailable|request_timeout|team_added_to_org|ekm_access_denied)$/;

/** The wait in milliseconds if Slack reports a limit without a time. */
const LIMIT_MS = 30_000;

/** The code in Slack's refusal; undefined for any other failure. */
export function codeOf(error: unknown): string | undefined {
  const cause = error instanceof ChannelError ? error.cause : error;
  if (!(cause instanceof WebAPIPlatformError)) return undefined;
  const { error: code } = cause.data;
  return /^[a-z_]{2,80}$/.test(code) ? code : undefined;
}

/** True if the token of the call is refused. */
export function isTokenError(error: unknown): boolean {
  return TOKEN_ERRORS.test(codeOf(error) ?? '');
}

/** True if the connection broke or timed out, so that Slack may or may not have carried out the call. */
export function isAnswerLost(error: unknown): boolean {
  return error instanceof ChannelError && error.cause instanceof WebAPIRequestError;
}

/** Converts any error of a call to a `ChannelError` whose cause is the original error. */
export function toChannelError(error: unknown): ChannelError {
  if (error instanceof ChannelError) return error;
  if (error instanceof WebAPIRateLimitedError) return rateLimited(error.retryAfter * 1_000, error);
  if (error instanceof WebAPIHTTPError)
    return channelUnavailable(
      textRef('health.answered', { network: 'Slack', status: String(error.statusCode) }),
      error,
    );
  if (error instanceof WebAPIPlatformError) return fromRefusal(error);
  return channelUnavailable(textRef('health.unreachable', { network: 'Slack' }), error);
}

function fromRefusal(error: WebAPIPlatformError): ChannelError {
  const code = codeOf(error);
  if (code === undefined) return channelUnavailable(textRef('health.foreign', { network: 'Slack' }), error);
  if (isTokenError(error))
    return new ChannelError('unauthorized', BAD_TOKEN, { retryable: true, cause: error });
  if (code === 'missing_scope') return missingScope(error);
  if (code === 'ratelimited' || code === 'rate_limited' || code === 'message_limit_exceeded')
    return rateLimited(LIMIT_MS, error);
  if (TRANSIENT.test(code))
    return channelUnavailable(textRef('health.failed', { network: 'Slack', code }), error);
  const [meaning, message] = MEANINGS[code] ?? [
    'rejected',
    textRef('health.refused', { network: 'Slack', detail: code }),
  ];
  return new ChannelError(meaning, message, { cause: error });
}

function missingScope(error: WebAPIPlatformError): ChannelError {
  const scope: unknown = 'needed' in error.data ? error.data['needed'] : undefined;
  const isNamed = typeof scope === 'string' && /^[\w:.,-]{1,100}$/.test(scope);
  const message = isNamed
    ? textRef('health.scope', { network: 'Slack', scope: scope, page: APP_PAGE })
    : textRef('health.scopes', { network: 'Slack', page: APP_PAGE });
  return new ChannelError('rejected', message, { cause: error });
}

/** A refusal that names the wait. `local`: no call was made. */
export function rateLimited(retryAfterMs: number, cause?: unknown, local = false): ChannelError {
  const message = textRef('health.wait', { network: 'Slack', ms: retryAfterMs });
  return new ChannelError('rate_limited', message, { retryable: true, retryAfterMs, local, cause });
}

/** Converts the refusal of an edit whose text a new message can still show. Returns other errors unchanged. */
export function toEditError(error: unknown): unknown {
  if (!(error instanceof ChannelError) || error.code !== 'blocked') return error;
  return new ChannelError('message_gone', messageOf(error), { cause: error.cause });
}
