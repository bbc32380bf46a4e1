/** What Telegram signs for a Mini App, with data that a real bot has received and with forged ones. */
import { createHmac } from 'node:crypto';
import { expect, it } from 'vitest';
import { MAX_AGE_MS, MAX_AHEAD_MS, readInitData } from '../../../channels/telegram/mini-app.ts';

/** A bot's token and the data of one of its users, as the libraries of Telegram's Mini App community publish them. */
const TOKEN = '5768337691:AAH5YkoiEuPk8-FZa32hStHTqXiLPtAEhx8';
const RECEIVED =
  'query_id=AAHdF6IQAAAAAN0XohDhrOrc&user=%7B%22id%22%3A279058397%2C%22first_name%22%3A%22Vladislav%22%2C%22last_name%22%3A%22Kibenko%22%2C%22username%22%3A%22vdkfrost%22%2C%22language_code%22%3A%22ru%22%2C%22is_premium%22%3Atrue%7D&auth_date=1662771648&hash=c501b71e775f74ce10e377dea85a7ea24ecd640b223ea86dfe453e0eaed2e2b2';
const SIGNED_AT = 1_662_771_648_000;

const readAt = (epochMs: number, token = TOKEN) => readInitData(token, () => epochMs);

/** Signs fields as Telegram does. */
function signed(fields: Record<string, string>): string {
  const lines = Object.entries(fields).map(([name, value]) => `${name}=${value}`);
  const key = createHmac('sha256', 'WebAppData').update(TOKEN).digest();
  const hash = createHmac('sha256', key).update(lines.toSorted().join('\n')).digest('hex');
  return String(new URLSearchParams({ ...fields, hash }));
}

it('names the person for whom Telegram has signed it', () => {
  expect(readAt(SIGNED_AT)(RECEIVED)).toEqual({ userId: '279058397' });
});

it('counts the signature for third parties, which newer apps add, among the fields', () => {
  const fields = {
    auth_date: '1662771648',
    user: '{"id":42,"first_name":"Ada"}',
    signature: 'abc',
    chat: '1',
  };
  expect(readAt(SIGNED_AT)(signed({ ...fields, chat_type: 'private' }))).toEqual({ userId: '42' });
});

it.each([
  ['with another user', RECEIVED.replace('279058397', '279058398')],
  ['with a later date', RECEIVED.replace('1662771648', '1662771649')],
  ['with another field', `${RECEIVED}&start_param=admin`],
  ['without a field', RECEIVED.replace(/^query_id=[^&]*&/, '')],
  ['without a hash', RECEIVED.replace(/&hash=.*/, '')],
  ['with half a hash', RECEIVED.slice(0, -32)],
  ['with a hash that is not hexadecimal', RECEIVED.replace(/hash=.*/, 'hash=zz')],
  ['of nothing', ''],
  ['without a user, from a keyboard button', signed({ auth_date: '1662771648', query_id: 'A' })],
  ['whose user is no object', signed({ auth_date: '1662771648', user: 'ada' })],
])('is forged %s', (_kind, text) => {
  expect(readAt(SIGNED_AT)(text)).toBe('forged');
});

it('is forged if another bot has received it', () => {
  expect(readAt(SIGNED_AT, `1${TOKEN}`)(RECEIVED)).toBe('forged');
});

it('works for a day, on a clock that may be a little behind', () => {
  expect(readAt(SIGNED_AT + MAX_AGE_MS)(RECEIVED)).toEqual({ userId: '279058397' });
  expect(readAt(SIGNED_AT + MAX_AGE_MS + 1)(RECEIVED)).toBe('expired');
  expect(readAt(SIGNED_AT - MAX_AHEAD_MS)(RECEIVED)).toEqual({ userId: '279058397' });
  expect(readAt(SIGNED_AT - MAX_AHEAD_MS - 1)(RECEIVED)).toBe('expired');
  expect(readAt(SIGNED_AT)(signed({ user: '{"id":42}' }))).toBe('expired');
});
