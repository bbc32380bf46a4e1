/** What `/readyz` says while the database answers but cannot be written, or does not answer. */
import { expect, it, vi } from 'vitest';
import { describeGateway, WAIT } from '../setup.ts';

interface Readiness {
  ready: boolean;
  store: string;
}

describeGateway('readiness', {}, (fixture) => {
  const readiness = async (): Promise<Readiness & { status: number; ms: number }> => {
    const startedAt = performance.now();
    // As a balancer asks, without a token: a token would have to be looked up.
    const answer = await fetch(`${fixture().gateway.url}/readyz`);
    const { ready, store }: Readiness = await answer.json();
    return { status: answer.status, ready, store, ms: performance.now() - startedAt };
  };

  it('is refused while the database takes no writes, as after it became a standby, until it does again', async () => {
    const { sql } = fixture();
    const setReadOnly = async (value: string): Promise<void> => {
      await sql.unsafe(`
        set default_transaction_read_only = off;
        do $$ begin execute format('alter database %I set default_transaction_read_only = ${value}', current_database()); end $$;
        select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'`);
    };
    expect(await readiness()).toMatchObject({ status: 200, store: 'up' });
    await setReadOnly('on');
    try {
      await vi.waitFor(async () => {
        expect(await readiness()).toMatchObject({ status: 503, ready: false, store: 'read_only' });
      }, WAIT);
    } finally {
      await setReadOnly('off');
    }
    await vi.waitFor(async () => expect(await readiness()).toMatchObject({ status: 200, store: 'up' }), WAIT);
  });

  it('is answered at once while the database is locked', async () => {
    await fixture().sql.begin(async (sql) => {
      await sql`lock table lane, node, session in access exclusive mode`;
      await vi.waitFor(async () => {
        const { ms, ...state } = await readiness();
        expect(ms).toBeLessThan(3_000);
        expect(state).toEqual({ status: 503, ready: false, store: 'down' });
      }, WAIT);
    });
    await vi.waitFor(async () => expect(await readiness()).toMatchObject({ status: 200, store: 'up' }), WAIT);
  });
});
