/** Which failures are waited out, for how long, and what the store finally throws. */
import { describe, expect, it } from 'vitest';
import { FencedError, StoreError } from '../../../src/protocol/errors.ts';
import { createSemaphore } from '../../../src/store/database/database.ts';
import { isTransient, violatedKey, withRetry } from '../../../src/store/database/retry.ts';

function failure(code: string, cause?: unknown): Error {
  return Object.assign(new Error(`failure ${code}`, { cause }), { code });
}

const PASSING =
  '57P01 57P03 08006 08001 40001 40P01 53300 53100 53200 25006 55P03 57014 58030 ECONNRESET ECONNREFUSED ENOENT CONNECTION_CLOSED CONNECTION_ENDED'.split(
    ' ',
  );

describe('retry', () => {
  it.each(PASSING)('waits out %s', async (code) => {
    let runs = 0;
    const result = await withRetry((attempt) => {
      runs += 1;
      return attempt < 2 ? Promise.reject(failure('wrapped', failure(code))) : Promise.resolve(attempt);
    });
    expect([runs, result]).toEqual([3, 2]);
  });

  it.each([
    [
      'that cannot be reached',
      () => Promise.reject(failure('ECONNREFUSED')),
      /cannot be reached \(ECONNREFUSED\)/,
    ],
    [
      'that cancelled a statement',
      () => Promise.reject(failure('57014')),
      /did not answer in time: is a table locked/,
    ],
    ['that does not answer', () => new Promise(() => undefined), /did not answer in time: is a table locked/],
    ['without writes', () => Promise.reject(failure('25006')), /is read-only: has it become a standby/],
  ])('says what is wrong with a server %s', async (_what, work, words) => {
    await expect(withRetry(work, { forMs: 50 })).rejects.toThrow(words);
  });

  it('refuses at once what a pooler does not accept, in its words', async () => {
    let runs = 0;
    const refused = Object.assign(new Error('unsupported startup parameter: search_path'), { code: '08P01' });
    const failing = withRetry(() => {
      runs += 1;
      return Promise.reject(refused);
    });
    await expect(failing).rejects.toThrow(/unsupported startup parameter: search_path\. .*PgBouncer/);
    expect(runs).toBe(1);
  });

  it('recognizes the failure that has no code', () => {
    expect(isTransient(new Error('Connection terminated unexpectedly'))).toBe(true);
    expect(isTransient(failure('23505'))).toBe(false);
    expect(isTransient('57P01')).toBe(false);
  });

  it('throws a permanent failure immediately as a StoreError with its cause', async () => {
    const broken = failure('42601');
    const error = await withRetry(() => Promise.reject(broken)).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(StoreError);
    expect(error).toMatchObject({ code: 'database', retryable: false, cause: broken });
    await expect(withRetry(() => Promise.reject(new FencedError('in:a')))).rejects.toThrow(FencedError);
  });

  it('keeps the values of a failed statement out of the message', async () => {
    const drizzle = new Error('Failed query: insert … params: a secret', { cause: failure('22P02') });
    const error = await withRetry(() => Promise.reject(drizzle)).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ message: 'The database refused a statement: failure 22P02' });
    expect(error).toMatchObject({ cause: { message: 'failure 22P02' } });
  });

  it.each(['28000', '28P01', '3D000'])('says which variable mends a refused sign-in (%s)', async (code) => {
    const refused = withRetry(() => Promise.reject(failure(code)));
    await expect(refused).rejects.toMatchObject({
      code: 'database',
      retryable: false,
      message: `The database refused the sign-in: failure ${code}. Correct user, password and database in DATABASE_URL.`,
    });
  });

  it.each([
    ['53100', 'has a full disk'],
    ['53300', 'has no connection left'],
    ['55P03', 'is locked'],
    ['57014', 'is a table locked'],
    ['57P03', 'is starting up'],
    ['40P01', 'is too busy'],
    ['ECONNREFUSED', 'cannot be reached (ECONNREFUSED)'],
  ])('says of %s that the server %s', async (code, words) => {
    const failing = withRetry(() => Promise.reject(failure(code)), { forMs: 1 });
    await expect(failing).rejects.toMatchObject({ retryable: true, message: expect.stringContaining(words) });
  });

  it('gives up when time runs out, even on a call that never answers', async () => {
    const away = withRetry(() => Promise.reject(failure('ECONNREFUSED')), { forMs: 60 });
    await expect(away).rejects.toMatchObject({ code: 'unavailable', retryable: true });
    const silent = withRetry(() => new Promise(() => undefined), { forMs: 20 });
    await expect(silent).rejects.toMatchObject({ code: 'unavailable' });
  });

  it('stops waiting when the store closes', async () => {
    const closing = new AbortController();
    const call = withRetry(
      () => {
        closing.abort(new StoreError('closed', 'The store is closed.'));
        return Promise.reject(failure('ECONNREFUSED'));
      },
      { signal: closing.signal },
    );
    await expect(call).rejects.toBeInstanceOf(StoreError);
  });

  it('finds the violated key in the chain of causes', () => {
    const violation = Object.assign(failure('23505'), { constraint_name: 'lane_item_dedupe' });
    expect(violatedKey(violation)).toBe('lane_item_dedupe');
    expect(violatedKey(new Error('Failed query', { cause: violation }))).toBe('lane_item_dedupe');
    expect(violatedKey(failure('23503'))).toBeUndefined();
  });
});

describe('permits', () => {
  it('grants no more permits than there are, in order of arrival', async () => {
    const permits = createSemaphore(2, 1_000);
    const order: number[] = [];
    let inside = 0;
    const work = (i: number) =>
      permits.hold(async () => {
        inside += 1;
        expect(inside).toBeLessThanOrEqual(2);
        await Promise.resolve();
        order.push(i);
        inside -= 1;
      });
    await Promise.all([1, 2, 3, 4, 5].map(work));
    expect(order).toEqual([1, 2, 3, 4, 5]);
    await permits.idle(1_000);
  });

  it('ends a wait that takes too long, and gives the permit of failed work to the next caller', async () => {
    const permits = createSemaphore(1, 20);
    let fail: (error: Error) => void = () => undefined;
    const first = permits.hold(
      () =>
        new Promise((_, reject) => {
          fail = reject;
        }),
    );
    await expect(permits.hold(() => Promise.resolve())).rejects.toMatchObject({
      code: 'unavailable',
      retryable: true,
    });
    fail(new Error('broken'));
    await expect(first).rejects.toThrow('broken');
    expect(await permits.hold(() => Promise.resolve('in'))).toBe('in');
  });
});
