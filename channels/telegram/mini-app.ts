/** Who opened the chat page inside Telegram: reads what Telegram signs for a Mini App (`initData`). */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { parseJson } from '../../src/lib/json/json.ts';
import { FRAMED, type ReadSignIn } from '../../src/protocol/operator/sign-in.ts';
import { person } from './receiving/update.ts';

/** How old the data may be, in milliseconds: who gets hold of it later cannot use it. */
export const MAX_AGE_MS = 24 * 3_600_000;
/** How far its time may be ahead of this machine's clock, in milliseconds. */
export const MAX_AHEAD_MS = 5 * 60_000;

/** Telegram Web, all versions of which show Mini Apps in a frame. */
export const TELEGRAM_WEB = ['https://web.telegram.org'];

/** The address that the button opens: the page where Telegram Web may frame it. */
export function framedPage(url: string): string {
  const address = new URL(url);
  address.searchParams.set(FRAMED, '1');
  return address.href;
}

const signedUser = person.pick({ id: true });

/**
 * Makes the reader for the bot with this token, which is secret. Its check is that of the Bot API, "Validating data
 * received via the Mini App": HMAC-SHA-256 of all fields but `hash`, in their order, under a key made of the token.
 */
export function readInitData(token: string, epochNow: () => number): ReadSignIn {
  const key = createHmac('sha256', 'WebAppData').update(token).digest();
  return (signed) => {
    const fields = new URLSearchParams(signed);
    const signature = Buffer.from(fields.get('hash') ?? '', 'hex');
    fields.delete('hash');
    const lines = [...fields].map(([name, value]) => `${name}=${value}`).toSorted();
    const expected = createHmac('sha256', key).update(lines.join('\n')).digest();
    if (signature.length !== expected.length || !timingSafeEqual(signature, expected)) return 'forged';
    const ageMs = epochNow() - Number(fields.get('auth_date')) * 1_000;
    if (!(ageMs <= MAX_AGE_MS && ageMs >= -MAX_AHEAD_MS)) return 'expired';
    const { data: user } = signedUser.safeParse(parseJson(fields.get('user') ?? ''));
    // An app that was opened from a keyboard button names no user.
    return user === undefined ? 'forged' : { userId: user.id };
  };
}
