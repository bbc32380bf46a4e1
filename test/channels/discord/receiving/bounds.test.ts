/** Limits on what the Discord channel keeps in memory. */
import pino from 'pino';
import { describe, expect, it, vi } from 'vitest';
import { Inbox, MAX_CHATS } from '../../../../channels/discord/receiving/inbox.ts';
import { type RawMessage, readMessage } from '../../../../channels/discord/receiving/inbound.ts';
import { BucketPauses, MAX_PAUSES, MAX_UNNAMED, UNNAMED_WAIT_MS } from '../../../../channels/discord/rest.ts';
import {
  ChannelKinds,
  MAX_KINDS,
  MAX_LOOKUPS,
} from '../../../../channels/discord/receiving/channel-kinds.ts';
import type { FileDownload } from '../../../../channels/discord/file-download.ts';
import type { Guilds } from '../../../../channels/discord/guilds.ts';
import type { QuestionThreads } from '../../../../channels/discord/question-threads.ts';
import type { History } from '../../../../channels/discord/receiving/history.ts';
import { MAX_GUEST_CHATS, Sending } from '../../../../channels/discord/sending.ts';
import { ChannelError } from '../../../../src/protocol/errors.ts';
import type { InboundMessage } from '../../../../src/protocol/message.ts';
import { partial, restOf } from '../../../fakes/discord/partial.ts';
import { ACCEPTED } from '../../../fakes/gateway/channel-setup.ts';

const id = (n: number): string => String(1_000_000_000_000_000_000n + BigInt(n));

function message(channel: number, n: number): RawMessage {
  const read = readMessage({
    id: id(n),
    channel_id: id(channel),
    author: { id: id(1) },
    content: `word ${n}`,
    timestamp: '2026-01-01T00:00:00Z',
    type: 0,
  });
  if (read === undefined) throw new Error('not a message');
  return read;
}

/** An inbox of a group without history, threads and roles. */
function inboxOf(signal: AbortSignal, publish: (inbound: InboundMessage) => void): Inbox {
  return new Inbox({
    noteRefusal: () => undefined,
    threads: partial<QuestionThreads>({ mayOpen: () => false, open: () => Promise.resolve(undefined) }),
    groups: () => Promise.resolve([]),
    guilds: partial<Guilds>({
      rolesOf: () => Promise.resolve([]),
      botRole: () => Promise.resolve(undefined),
    }),
    history: partial<History>({ async *after() {} }),
    kinds: partial<ChannelKinds>({ of: () => Promise.resolve({ place: 'group' }) }),
    files: partial<FileDownload>({ open: () => Promise.reject(new Error('no message has files')) }),
    log: pino({ level: 'silent' }),
    signal,
    botId: () => '2',
    limited: () => false,
    deleted: () => Promise.resolve(),
    publish: (inbound) => {
      publish(inbound);
      return Promise.resolve(ACCEPTED);
    },
  });
}

describe('the inbox', () => {
  const stop = new AbortController();

  it(`remembers the ${MAX_CHATS} most recently active chats`, async () => {
    let published = 0;
    const inbox = inboxOf(stop.signal, () => (published += 1));
    for (let n = 0; n <= MAX_CHATS; n += 1) {
      inbox.push(message(n, n), () => undefined);
      await vi.waitFor(() => expect(published).toBe(n + 1), { interval: 0 });
    }
    expect(inbox.heard).toHaveLength(MAX_CHATS);
    expect(inbox.heard).not.toContain(id(0));
    stop.abort();
    await inbox.close([]);
  });

  it('leaves no message waiting that arrives while the last one is being finished', async () => {
    const running = new AbortController();
    const received: string[] = [];
    const inbox = inboxOf(running.signal, ({ content }) => received.push(content));
    for (let ticks = 0; ticks < 20; ticks += 1) {
      inbox.push(message(1, 2 * ticks), () => undefined);
      for (let i = 0; i < ticks; i += 1) await Promise.resolve();
      inbox.push(message(1, 2 * ticks + 1), () => undefined);
      await vi.waitFor(() => expect(received).toHaveLength(2 * ticks + 2), { timeout: 200 });
    }
    running.abort();
    await inbox.close([]);
  });
});

describe('the kinds of channels', () => {
  const asking = (answer: (n: number) => Promise<unknown>) => {
    const asked: string[] = [];
    const stop = new AbortController();
    const call = async ({ path }: { path: string }): Promise<unknown> => {
      asked.push(path.slice('/channels/'.length));
      return await answer(asked.length);
    };
    const log = pino({ level: 'silent' });
    const leftOut = vi.fn<(chatId: string) => void>();
    const kinds = new ChannelKinds({
      rest: restOf(call),
      log,
      signal: stop.signal,
      spacingMs: 0,
      retryMs: 1,
      onLeftOut: leftOut,
    });
    return { asked, stop, kinds, leftOut };
  };
  const thread = { type: 11, parent_id: id(7) };

  it(`are remembered for ${MAX_KINDS} channels, allowed or not, and requested once`, async () => {
    const { asked, kinds } = asking(() => Promise.resolve(thread));
    for (let n = 0; n < MAX_KINDS; n += 1) await kinds.of(id(n), false);
    expect(await kinds.of(id(0), false)).toEqual({ place: 'group', parentId: id(7) });
    expect(asked).toHaveLength(MAX_KINDS);
    await kinds.of(id(MAX_KINDS), false);
    await Promise.all([kinds.of(id(0), false), kinds.of(id(1), false), kinds.of(id(1), false)]);
    expect(asked.slice(MAX_KINDS)).toEqual([id(MAX_KINDS), id(1)]);
  });

  it(`are requested one by one, first where the bot is called, with at most ${MAX_LOOKUPS} waiting`, async () => {
    const first = Promise.withResolvers<unknown>();
    const { asked, kinds, leftOut } = asking((n) => (n === 1 ? first.promise : Promise.resolve(thread)));
    const foreign = Array.from({ length: MAX_LOOKUPS }, (_, n) => kinds.of(id(n), false));
    const called = kinds.of(id(5_000), true);
    expect(asked).toEqual([id(0)]);
    first.resolve(thread);
    expect(await called).toEqual({ place: 'group', parentId: id(7) });
    expect(asked).toEqual([id(0), id(5_000)]);
    const told = await Promise.all(foreign);
    expect(told.filter((kind) => kind === undefined)).toHaveLength(1);
    expect(leftOut).not.toHaveBeenCalled();
  });

  it('that Discord refuses to reveal are reported where someone has called the bot, not elsewhere', async () => {
    const { kinds, leftOut } = asking(() => Promise.reject(new ChannelError('blocked', 'x')));
    expect(await kinds.of(id(1), false)).toBeUndefined();
    expect(leftOut).not.toHaveBeenCalled();
    expect(await kinds.of(id(2), true)).toBeUndefined();
    expect(leftOut).toHaveBeenCalledExactlyOnceWith(id(2));
  });

  it(`are reported, too, when more than ${MAX_LOOKUPS} people wait for one`, async () => {
    const first = Promise.withResolvers<unknown>();
    const { kinds, leftOut } = asking((n) => (n === 1 ? first.promise : Promise.resolve(thread)));
    const waiting = Array.from({ length: MAX_LOOKUPS + 1 }, (_, n) => kinds.of(id(n), true));
    first.resolve(thread);
    await Promise.all(waiting);
    expect(leftOut).toHaveBeenCalledOnce();
  });

  it('are requested again while Discord does not answer, and given up when it refuses', async () => {
    const { asked, kinds } = asking((n) => {
      const failure = { retryable: n < 3 };
      return n < 4 ? Promise.reject(new ChannelError('unavailable', 'x', failure)) : Promise.resolve(thread);
    });
    expect(await kinds.of(id(1), false)).toBeUndefined();
    expect(asked).toHaveLength(3);
    expect(await kinds.of(id(1), false)).toMatchObject({ parentId: id(7) });
  });

  it('are not waited for after a stop', async () => {
    const { stop, kinds } = asking(() =>
      Promise.reject(new ChannelError('unavailable', 'x', { retryable: true })),
    );
    const waiting = kinds.of(id(1), false);
    stop.abort();
    expect(await waiting).toBeUndefined();
  });
});

describe('the pauses Discord asked for', () => {
  it(`are remembered for ${MAX_PAUSES} buckets; the oldest is forgotten first`, () => {
    let now = 0;
    const pauses = new BucketPauses(() => now);
    for (let n = 0; n < MAX_PAUSES; n += 1) pauses.refused(`b ${n}`, 100);
    expect(pauses.left('b 0')).toBe(100);
    pauses.refused('one more', 100);
    expect([pauses.left('b 0'), pauses.left('b 1'), pauses.left('one more')]).toEqual([0, 100, 100]);
    now = 100;
    expect(pauses.left('b 1')).toBe(0);
  });

  it(`are our own and grow if Discord names no time, ${MAX_UNNAMED} times in a row`, () => {
    const pauses = new BucketPauses(() => 0);
    const waits = Array.from({ length: MAX_UNNAMED + 1 }, () => pauses.refused('b', undefined));
    expect(waits).toEqual([5_000, 10_000, 20_000, 40_000, 60_000, 60_000, 60_000, 60_000, undefined]);
    expect(pauses.refused('b', 100)).toBe(100);
    expect(pauses.refused('b', undefined)).toBe(UNNAMED_WAIT_MS);
  });
});

it(`remembers the last ${MAX_GUEST_CHATS} chats in which the bot was a guest`, async () => {
  const calls: string[] = [];
  const rest = restOf(({ path }) => Promise.resolve(void calls.push(path)));
  const sending = new Sending(
    rest,
    () => 0,
    () => undefined,
  );
  for (let n = 0; n <= MAX_GUEST_CHATS; n += 1) sending.noteGuest(id(n));
  await sending.typing({ channel: 'discord', chatId: id(1) });
  expect(calls).toEqual([]);
  await sending.typing({ channel: 'discord', chatId: id(0) });
  expect(calls).toEqual([`/channels/${id(0)}/typing`]);
});
