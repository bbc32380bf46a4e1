/** Searches over messages: what they find and show, and that nothing else waits for them. */
import { expect, it } from 'vitest';
import { describeStore, type TestStore } from '../../database.ts';

/** Sessions of one token, each with one message of 56 KB that has all of a few hundred words. */
async function longMessages({ sql }: TestStore, sessions: number): Promise<void> {
  const text = Array.from({ length: 9_000 }, (_, n) => `word${(n * 7) % 400}`).join(' ');
  await sql`
    insert into session (key, owner_token_id, updated_at)
    select 'http:' || n, 't1', now() - n * interval '1 s' from generate_series(1, ${sessions}::int) n`;
  await sql`
    insert into message (session, seq, turn_id, role, content)
    select 'http:' || n, 1, 'turn-' || n, 'user', ${text} || ' needle rare' || n || ' ' || ${text}
    from generate_series(1, ${sessions}::int) n`;
}

const search = ({ ledger }: TestStore, text: string) =>
  ledger.searchSessions({ text, limit: 20, ownerTokenId: 't1' });

describeStore('a search', (databases) => {
  it('shows what it found in the middle of a long message, and only of the newest sessions', async () => {
    const store = await databases.open();
    await longMessages(store, 30);
    const { found, more } = await search(store, 'needle');
    expect(found).toHaveLength(20);
    expect(more).toBe(true);
    expect(found[0]?.key).toBe('http:1');
    for (const { key, match } of found) {
      expect(match?.snippet).toContain('needle');
      expect(match?.snippet).toContain(`rare${key.slice(5)} `);
    }
  });

  it('leaves the rest of the gateway its connections, however many there are', async () => {
    const store = await databases.open();
    await longMessages(store, 48);
    const searches = Array.from({ length: 64 }, () => search(store, 'word7 word8'));
    const waits: number[] = [];
    for (let n = 0; n < 20; n += 1) {
      const startedAt = performance.now();
      await store.ledger.listSessions({ limit: 20 });
      waits.push(performance.now() - startedAt);
    }
    expect(Math.max(...waits)).toBeLessThan(1_000);
    for (const { found } of await Promise.all(searches)) expect(found).toHaveLength(20);
  });

  it.each<[string, (store: TestStore) => Promise<unknown>]>([
    ['messages', (store) => search(store, 'needle')],
    ['memories', ({ memories }) => memories.searchMemory('telegram:1', 'needle', 20)],
  ])('of %s is ended after a second, with words that say so', async (_, run) => {
    const store = await databases.open();
    const startedAt = performance.now();
    await store.sql.begin(async (sql) => {
      await sql`lock table message, memory in access exclusive mode`;
      await expect(run(store)).rejects.toMatchObject({
        code: 'search_timeout',
        retryable: true,
        message: 'The search was ended after a second. Search for rarer words, or try again later.',
      });
    });
    expect(performance.now() - startedAt).toBeLessThan(5_000);
  });
});
