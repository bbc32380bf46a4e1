/** What Telegram signs for a Mini App. */
import { createHmac } from 'node:crypto';
import { FAKE_TOKEN } from '../../fakes/telegram/telegram.ts';

/** What Telegram hands to the page for a user, signed `agoS` seconds ago. */
export function initData(userId: string, agoS = 0): string {
  const user = JSON.stringify({ id: Number(userId), first_name: `Person ${userId}` });
  const fields = { auth_date: String(Math.floor(Date.now() / 1_000) - agoS), user, query_id: 'AAE' };
  const lines = Object.entries(fields).map(([name, value]) => `${name}=${value}`);
  const key = createHmac('sha256', 'WebAppData').update(FAKE_TOKEN).digest();
  const hash = createHmac('sha256', key).update(lines.toSorted().join('\n')).digest('hex');
  return String(new URLSearchParams({ ...fields, hash }));
}
