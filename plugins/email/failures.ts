/** What mail servers refuse, as the gateway understands it. */
import type { PluginFailure } from '../../src/protocol/plugin.ts';

export class MailFailure extends Error implements PluginFailure {
  readonly code: PluginFailure['code'];
  readonly retryAfterMs: number | undefined;

  constructor(code: PluginFailure['code'], message: string, retryAfterMs?: number) {
    super(message);
    this.code = code;
    this.retryAfterMs = retryAfterMs;
  }
}

/** No server says how long to wait. */
const LIMIT_MS = 60_000;
const CREDENTIALS =
  'The mail server refuses the login: set EMAIL_USER and EMAIL_PASSWORD, and use a password for applications if the provider has them.';

/** The failure of an SMTP session; `isWritten` when the mail itself had been passed on. [RFC 5321, 4.2; RFC 3463] */
export function fromSmtp(error: unknown, isWritten: boolean): MailFailure {
  if (error instanceof MailFailure) return error;
  const { code, responseCode: status, response }: Record<string, unknown> = Object(error);
  const words = typeof response === 'string' ? response.replaceAll(/\s+/g, ' ').slice(0, 200) : '';
  const isTemporary = typeof status === 'number' && status >= 400 && status < 500;
  if (code === 'EAUTH' && !isTemporary) return new MailFailure('unauthorized', CREDENTIALS);
  if (typeof status !== 'number' || status === 0) {
    const reason = typeof code === 'string' ? ` (${code})` : '';
    return isWritten
      ? new MailFailure('outcome_unknown', `The answer of the mail server was lost${reason}.`)
      : new MailFailure('unavailable', `The mail server cannot be reached${reason}.`);
  }
  if (isTemporary)
    return /\b4\.7\.|rate|limit|too many|throttl|quota/i.test(words)
      ? new MailFailure('rate_limited', 'The mail server asks for a pause.', LIMIT_MS)
      : new MailFailure('unavailable', `The mail server cannot send now: ${words}`);
  if (/\b5\.(1\.\d|2\.1)\b/.test(words) || status === 551 || status === 553)
    return new MailFailure(
      'blocked',
      'The mail server says that this address does not exist or takes no mail.',
    );
  if (status === 552 || /\b5\.(2\.3|3\.4)\b/.test(words))
    return new MailFailure('rejected', 'The mail is too large for the mail server.');
  return new MailFailure('rejected', `The mail server refuses this mail: ${words}`);
}

/** The failure of an IMAP session. [RFC 5530] */
export function fromImap(error: unknown): MailFailure {
  if (error instanceof MailFailure) return error;
  const { code, authenticationFailed, serverResponseCode }: Record<string, unknown> = Object(error);
  if (authenticationFailed === true) return new MailFailure('unauthorized', CREDENTIALS);
  if (serverResponseCode === 'NONEXISTENT')
    return new MailFailure('rejected', 'The mail server has no inbox.');
  const reason = typeof code === 'string' ? ` (${code})` : '';
  return new MailFailure('unavailable', `The mail server does not answer as it should${reason}.`);
}

/** An address for the log: its domain. */
export function maskedAddress(address: string): string {
  return `…@${address.split('@').at(-1) ?? ''}`;
}
