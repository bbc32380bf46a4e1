/** Receiving under every failure of Telegram and of the gateway: no message is lost, and receiving resumes. */
import { wordedHealth } from '../../../fakes/gateway/worded-health.ts';
import { describe, expect, it, vi } from 'vitest';
import { POLL_TIMING } from '../../../../channels/telegram/receiving/receiving.ts';
import { CHATS_AT_ONCE, PUBLISH_TRIES } from '../../../../channels/telegram/receiving/publishing.ts';
import { GatewayError, StoreError } from '../../../../src/protocol/errors.ts';
import { FAKE_TOKEN, FakeTelegram } from '../../../fakes/telegram/telegram.ts';
import { startChannel, startFake, WAIT } from '../started.ts';

const storeUnavailable = (): StoreError =>
  new StoreError('unavailable', 'The store is unavailable.', { retryable: true });

describe('committing before advancing', () => {
  it('reports the new id of a group before it publishes messages from there', async () => {
    const fake = await startFake();
    const [from, to] = ['-50', '-1005000'];
    fake.says(from, '', '1', { fields: { text: undefined, migrate_to_chat_id: Number(to) } });
    fake.says(to, '@parley_test_bot hello', '1');
    const movesBefore: number[] = [];
    const { received, moves } = await startChannel(fake.root, {}, () => void movesBefore.push(moves.length));
    await vi.waitFor(() => expect(received).toHaveLength(1), WAIT);
    expect(moves).toEqual([{ channel: 'telegram', from, to }]);
    expect(movesBefore).toEqual([1]);
  });

  it('polls the same batch again until all of it is committed, each message with the same id (T1)', async () => {
    const fake = await startFake();
    const ids: string[] = [];
    const unconfirmed: number[] = [];
    let refusals = 3;
    fake.says('1', 'first', '1');
    fake.says('1', 'second', '1');
    const { received } = await startChannel(fake.root, {}, (message) => {
      ids.push(message.id);
      if (message.content === 'second' && refusals > 0) {
        refusals -= 1;
        unconfirmed.push(fake.updates.unconfirmed);
        throw storeUnavailable();
      }
    });
    await vi.waitFor(() => expect(fake.updates.unconfirmed).toBe(0), WAIT);
    expect(received.filter((text) => text === 'second')).toHaveLength(1);
    expect(new Set(ids).size).toBe(2);
    expect(unconfirmed[0]).toBe(2);
    expect(unconfirmed).not.toContain(0);
  });

  it('is degraded with the reason while the gateway cannot commit messages, and up again afterwards', async () => {
    const fake = await startFake();
    let unavailable = true;
    const { channel, received } = await startChannel(fake.root, {}, () => {
      if (unavailable) throw storeUnavailable();
    });
    fake.says('1', 'wait for me', '1');
    await vi.waitFor(
      () => expect(wordedHealth(channel)).toEqual({ state: 'degraded', detail: 'The store is unavailable.' }),
      WAIT,
    );
    unavailable = false;
    await vi.waitFor(() => expect(received).toEqual(['wait for me']), WAIT);
    await vi.waitFor(() => expect(channel.health()).toEqual({ state: 'up' }), WAIT);
  });

  it(`skips a message that was refused permanently ${PUBLISH_TRIES} times, with an error in the log`, async () => {
    const fake = await startFake();
    let tries = 0;
    fake.says('1', 'poison', '1');
    fake.says('1', 'fine', '1');
    const { received, log } = await startChannel(fake.root, {}, (message) => {
      if (message.content !== 'poison') return;
      tries += 1;
      throw new GatewayError('bad_message', 'This cannot be committed.');
    });
    await vi.waitFor(() => expect(received).toEqual(['fine']), WAIT);
    expect(tries).toBe(PUBLISH_TRIES);
    expect(log.join('')).toContain('message_skipped');
  });

  it('drops no message while the store is unreachable, however often it is tried', async () => {
    const fake = await startFake();
    let tries = 0;
    fake.says('1', 'kept', '1');
    const { received } = await startChannel(fake.root, {}, () => {
      tries += 1;
      if (tries < 3 * PUBLISH_TRIES) throw storeUnavailable();
    });
    await vi.waitFor(() => expect(received).toEqual(['kept']), WAIT);
    expect(tries).toBe(3 * PUBLISH_TRIES);
  });

  it(`publishes at most ${CHATS_AT_ONCE} chats at once, and each chat in order`, async () => {
    const fake = await startFake();
    for (let i = 0; i < 80; i += 1) fake.says(String(100 + (i % 40)), `${i % 40} ${Math.floor(i / 40)}`, '1');
    let now = 0;
    let most = 0;
    const { received } = await startChannel(fake.root, {}, async () => {
      now += 1;
      most = Math.max(most, now);
      await new Promise((next) => setImmediate(next));
      now -= 1;
    });
    await vi.waitFor(() => expect(received).toHaveLength(80), WAIT);
    expect(most).toBe(CHATS_AT_ONCE);
    for (let chat = 0; chat < 40; chat += 1)
      expect(received.filter((text) => text.startsWith(`${chat} `))).toEqual([`${chat} 0`, `${chat} 1`]);
  });

  it('receives a thousand messages once each, among updates of unknown kinds', async () => {
    const fake = await startFake();
    for (let i = 0; i < 1_000; i += 1) {
      if (i % 50 === 0) fake.update({ unheard_of: { deep: [i] } });
      fake.says(String(i % 37), `m${i}`, '1');
    }
    const { received } = await startChannel(fake.root);
    await vi.waitFor(() => expect(received).toHaveLength(1_000), WAIT);
    expect(new Set(received).size).toBe(1_000);
    await vi.waitFor(() => expect(fake.updates.unconfirmed).toBe(0), WAIT);
  });
});

describe('recovery', () => {
  it('is degraded while another process polls, keeps trying, and takes over when that stops (409)', async () => {
    const fake = await startFake();
    const { channel, received } = await startChannel(fake.root);
    await vi.waitFor(() => expect(fake.updates.waiting).toBe(1), WAIT);
    const other = `${fake.root}/bot${FAKE_TOKEN}/getUpdates?timeout=50`;
    const otherEnd = new AbortController();
    const otherPoll = fetch(other, { signal: otherEnd.signal }).catch(() => 'gone');
    await vi.waitFor(() => expect(wordedHealth(channel).detail).toMatch(/other getUpdates request/), WAIT);
    expect(channel.health().state).toBe('degraded');
    expect(POLL_TIMING.backoffCapMs).toBeLessThanOrEqual(35_000);
    otherEnd.abort();
    await otherPoll;
    fake.says('1', 'after the other', '1');
    await vi.waitFor(() => expect(received).toEqual(['after the other']), WAIT);
    await vi.waitFor(() => expect(channel.health()).toEqual({ state: 'up' }), WAIT);
  });

  it('deletes a webhook that was left behind and continues to poll', async () => {
    const fake = await startFake();
    fake.updates.webhook = 'https://old.example.test';
    fake.says('1', 'hello', '1');
    const { received } = await startChannel(fake.root);
    await vi.waitFor(() => expect(received).toEqual(['hello']), WAIT);
    expect(fake.updates.webhook).toBe('');
  });

  it.each([401, 404])('receives again after one %i, which is not final', async (status) => {
    const fake = await startFake();
    fake.failure({ kind: 'status', status, description: 'Not Found', method: 'getUpdates' });
    fake.says('1', 'still here?', '1');
    const { channel, received } = await startChannel(fake.root);
    await vi.waitFor(() => expect(received).toEqual(['still here?']), WAIT);
    await vi.waitFor(() => expect(channel.health()).toEqual({ state: 'up' }), WAIT);
    expect(fake.count('getMe')).toBe(2);
  });

  it('is dead, with the name of the variable, once the token was refused for a while', async () => {
    const fake = await startFake();
    const { channel, log } = await startChannel(fake.root, { deadAfterMs: 1_000 });
    await vi.waitFor(() => expect(fake.updates.waiting).toBe(1), WAIT);
    fake.tokenValid = false;
    fake.updates.end();
    await vi.waitFor(() => expect(channel.health().state).toBe('degraded'), WAIT);
    await vi.waitFor(() => expect(channel.health().state).toBe('dead'), WAIT);
    expect(wordedHealth(channel).detail).toContain('TELEGRAM_BOT_TOKEN');
    expect(log.join('')).not.toContain(FAKE_TOKEN);
  });

  it('receives again without a restart when a dead token is accepted again', async () => {
    const fake = await startFake();
    fake.tokenValid = false;
    const timing = { deadAfterMs: 0, deadIntervalMs: 20, backoffMs: 600_000, backoffCapMs: 600_000 };
    const { channel, received } = await startChannel(fake.root, timing);
    await vi.waitFor(() => expect(channel.health().state).toBe('dead'), WAIT);
    fake.tokenValid = true;
    fake.says('1', 'welcome back', '1');
    await vi.waitFor(() => expect(received).toEqual(['welcome back']), WAIT);
    await vi.waitFor(() => expect(channel.health()).toEqual({ state: 'up' }), WAIT);
  });

  it('aborts a poll that stalls and polls again', async () => {
    const fake = await startFake();
    const { received } = await startChannel(fake.root, { stallMs: 50 });
    await vi.waitFor(() => expect(fake.updates.polls).toBeGreaterThan(3), WAIT);
    fake.says('1', 'still here', '1');
    await vi.waitFor(() => expect(received).toEqual(['still here']), WAIT);
  });

  it('starts while Telegram cannot be reached, reports that, and is up once it can be reached', async () => {
    const gone = await FakeTelegram.start();
    const { port, root } = gone;
    await gone.close();
    const { channel, received, log } = await startChannel(root);
    await vi.waitFor(() => expect(channel.health().state).toBe('degraded'), WAIT);
    expect(wordedHealth(channel).detail).toMatch(/ECONNREFUSED.*TELEGRAM_API_ROOT/);
    const fake = await startFake(port);
    fake.says('1', 'finally', '1');
    await vi.waitFor(() => expect(received).toEqual(['finally']), WAIT);
    await vi.waitFor(() => expect(channel.health()).toEqual({ state: 'up' }), WAIT);
    expect(log.join('')).not.toContain(FAKE_TOKEN);
  });

  it.each(['drop', 'cut', 'status', 'page'] as const)(
    'recovers from a poll that ends in %s, without losing or repeating a message',
    async (kind) => {
      const fake = await startFake();
      fake.says('1', 'before', '1');
      fake.failure({ kind, method: 'getUpdates', times: 3 });
      const { received } = await startChannel(fake.root);
      await vi.waitFor(() => expect(received).toEqual(['before']), WAIT);
    },
  );

  it('waits as long as Telegram asks before it polls again (429)', async () => {
    const fake = await startFake();
    fake.failure({ kind: 'status', status: 429, ms: 1_000, method: 'getUpdates' });
    fake.says('1', 'later', '1');
    const { channel, received } = await startChannel(fake.root);
    await vi.waitFor(() => expect(wordedHealth(channel).detail).toContain('retry after 1'), WAIT);
    expect(received).toEqual([]);
    await vi.waitFor(() => expect(received).toEqual(['later']), WAIT);
    expect(fake.flood.violations).toEqual([]);
  });
});
