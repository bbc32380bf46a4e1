/**
 * Notifications of browsers on a real store, against a strict push service over real sockets: who is told what, once,
 * and what becomes of subscriptions that ended.
 */
import { afterEach, expect, it } from 'vitest';
import type { Caller } from '../../../src/protocol/access.ts';
import type { EventBus, EventListener, MessageBus } from '../../../src/protocol/bus.ts';
import type { AgentEvent } from '../../../src/protocol/event.ts';
import {
  LONG_TURN_MS,
  MAX_PUSH_SUBSCRIPTIONS,
  MAX_WAITING_PUSHES,
} from '../../../src/protocol/operator/push.ts';
import type { LaneHead, LaneStore } from '../../../src/protocol/store/lanes.ts';
import { createPush } from '../../../src/delivery/index.ts';
import { WORTH_MS } from '../../../src/delivery/push/push.ts';
import { newId } from '../../../src/lib/ids.ts';
import { createEgress, egressTo } from '../../../src/security/index.ts';
import { describeStore, type TestStore } from '../../database.ts';
import { testLog } from '../../fakes/agent/tool-context.ts';
import { builtInLanguages } from '../../fakes/gateway/languages.ts';
import { partial } from '../../fakes/partial.ts';
import { openPushService, PUSH_ORIGIN, type PushService } from '../../fakes/push/push-service.ts';

const ANNA: Caller = { tokenId: 'anna', scopes: ['chat', 'approve'] };
const BEN: Caller = { tokenId: 'ben', scopes: ['chat'] };
const CHIEF: Caller = { tokenId: 'chief', scopes: ['admin'] };
const FROM = { client: 'Firefox', origin: 'https://chat.example.org' };
const SESSION = 'http:one';

describeStore('notifications of browsers', (databases) => {
  let service: PushService | undefined;
  afterEach(async () => {
    const faults = service?.faults;
    await service?.close();
    service = undefined;
    if (faults !== undefined && faults.length > 0) throw new Error(faults.join('\n'));
  });

  const open = async (store: TestStore) => {
    const clock = { now: Date.now() };
    const log: string[] = [];
    const listeners: EventListener[] = [];
    const opened = (service ??= await openPushService(() => clock.now));
    const moduleWith = (lanes: LaneStore) =>
      createPush({
        store: { ...store, lanes },
        bus: partial<MessageBus>({ claimingNode: () => undefined, runHeads: () => undefined }),
        events: partial<EventBus>({
          subscribe: (_filter, listener) => (listeners.push(listener), () => undefined),
        }),
        languages: builtInLanguages,
        // The endpoints of real services are https; that of the fake is reached in their place.
        egressOf: (address) => {
          const guarded = createEgress({ allow: [opened.address] });
          return (request) => guarded({ ...request, url: address.replace(PUSH_ORIGIN, opened.address) });
        },
        epochNow: () => clock.now,
        log: testLog(log),
      });
    for (const { tokenId, scopes } of [ANNA, BEN, CHIEF])
      await store.sql`insert into token (id, hash, name, scopes) values (${tokenId}, ${tokenId}, ${tokenId}, ${scopes})`;
    await store.sql`insert into session (key, owner_token_id) values (${SESSION}, 'anna')`;
    const push = moduleWith(store.lanes);
    const subscribe = async (caller: Caller, name: string): Promise<string> => {
      const subscription = await opened.subscribe(name, await push.api.publicKey());
      return await push.api.subscribe(caller, subscription, FROM);
    };
    return { push, moduleWith, subscribe, service: opened, clock, log, emit: emitter(listeners) };
  };

  const emitter =
    (listeners: readonly EventListener[]) =>
    (type: 'turn_ended' | 'approval_needed', turnId: string): void => {
      const event = partial<AgentEvent>({ type, sessionKey: SESSION, turnId, at: Date.now() });
      for (const listener of listeners) listener(event);
    };

  /** A turn of Anna's that ended just now, after so many milliseconds. */
  const endedTurn = async ({ sql }: TestStore, ms: number, reason = 'completed'): Promise<string> => {
    const id = newId();
    await sql`
      insert into turn (id, session, address, lane_seq, state, reason, user_seq, created_at, ended_at)
      values (${id}, ${SESSION}, ${SESSION}, 1, 'done', ${reason}, 1, now() - ${ms}::float8 * interval '1 ms', now())`;
    return id;
  };

  const question = async ({ sql }: TestStore): Promise<{ turnId: string; approvalId: string }> => {
    const [turnId, approvalId] = [newId(), newId()];
    await sql`insert into turn (id, session, address, lane_seq, state, user_seq)
      values (${turnId}, ${SESSION}, ${SESSION}, 1, 'parked', 1)`;
    await sql`insert into approval (id, lane, turn_id, detail, expires_at)
      values (${approvalId}, ${`in:${SESSION}`}, ${turnId}, '{"tool":"exec"}', now() + interval '1 hour')`;
    return { turnId, approvalId };
  };

  /** The heads that a node claims now. */
  const claim = async ({ lanes }: TestStore, instance = 'one'): Promise<LaneHead[]> =>
    await lanes.sweep(await lanes.register(instance, 60_000), [{ class: 'push', free: 100 }]);

  const { signal } = new AbortController();

  it('tell the owner of a chat that a long answer is ready, once, in words that give nothing away', async () => {
    const store = await databases.open();
    const { push, subscribe, service: pushes, emit } = await open(store);
    await subscribe(ANNA, 'anna');
    await subscribe(BEN, 'ben');
    await subscribe(CHIEF, 'chief');
    push.start();
    const turn = await endedTurn(store, LONG_TURN_MS);
    emit('turn_ended', turn);
    emit('turn_ended', turn);
    emit('turn_ended', await endedTurn(store, LONG_TURN_MS - 1_000));
    emit('turn_ended', await endedTurn(store, LONG_TURN_MS, 'stopped'));
    await push.close();
    for (const head of await claim(store)) await push.handler.handle(head, signal);
    expect(['ben', 'chief'].flatMap((name) => pushes.received(name))).toEqual([]);
    const [received, ...others] = pushes.received('anna');
    expect(others).toEqual([]);
    expect(JSON.parse(received?.text ?? '')).toEqual({
      title: 'Parley',
      body: 'An answer is ready.',
      tag: `turn_ended:${turn}`,
      url: `/#${encodeURIComponent(SESSION)}`,
    });
    expect(received).toMatchObject({ urgency: 'normal', contact: FROM.origin });
    expect(await claim(store, 'two')).toEqual([]);
  });

  it('tell of a question whoever may decide it, and nobody once it is decided', async () => {
    const store = await databases.open();
    const { push, subscribe, service: pushes, emit } = await open(store);
    for (const caller of [ANNA, BEN, CHIEF]) await subscribe(caller, caller.tokenId);
    push.start();
    const open1 = await question(store);
    const decided = await question(store);
    emit('approval_needed', open1.turnId);
    emit('approval_needed', decided.turnId);
    await push.close();
    await store.sql`update approval set state = 'denied' where id = ${decided.approvalId}`;
    for (const head of await claim(store)) await push.handler.handle(head, signal);
    for (const head of await claim(store, 'two')) await push.handler.handle(head, signal);
    const tags = (name: string): unknown[] => pushes.received(name).map(({ text }) => JSON.parse(text).tag);
    expect([tags('anna'), tags('ben'), tags('chief')]).toEqual([
      [`approval_needed:${open1.approvalId}`],
      [],
      [`approval_needed:${open1.approvalId}`],
    ]);
    expect(pushes.received('anna')[0]).toMatchObject({ urgency: 'high' });
  });

  it('find what was due when the event was lost, and queue it once', async () => {
    const store = await databases.open();
    const { push, moduleWith, subscribe } = await open(store);
    await subscribe(ANNA, 'anna');
    const turn = await endedTurn(store, LONG_TURN_MS);
    for (const each of [push, moduleWith(store.lanes)]) {
      each.start();
      await expect
        .poll(() => store.sql`select dedupe from lane_item where lane like 'push:%'`)
        .toHaveLength(1);
      await each.close();
    }
    const [item] = await store.sql<
      { dedupe: string }[]
    >`select dedupe from lane_item where lane like 'push:%'`;
    expect(item?.dedupe).toBe(`turn_ended:${turn}`);
  });

  it('come a second time after a crash between a push and its record, under the same topic and tag', async () => {
    const store = await databases.open();
    const { push, moduleWith, subscribe, service: pushes, emit } = await open(store);
    await subscribe(ANNA, 'anna');
    push.start();
    emit('turn_ended', await endedTurn(store, LONG_TURN_MS));
    await push.close();
    const crash = new Error('kill -9');
    const dying = moduleWith({ ...store.lanes, finish: () => Promise.reject(crash) });
    const [head] = await claim(store);
    await expect(dying.handler.handle(head!, signal)).rejects.toBe(crash);
    // The process starts again, and takes its lanes back.
    const [again] = await claim(store);
    await push.handler.handle(again!, signal);
    const [first, second, ...others] = pushes.received('anna');
    expect(others).toEqual([]);
    expect([second?.topic, second?.text]).toEqual([first?.topic, first?.text]);
    expect(await claim(store)).toEqual([]);
  });

  it.each([404, 410])('end with a subscription whose push service answers %i', async (status) => {
    const store = await databases.open();
    const { push, subscribe, service: pushes, emit } = await open(store);
    await subscribe(ANNA, 'anna');
    push.start();
    emit('turn_ended', await endedTurn(store, LONG_TURN_MS));
    await push.close();
    pushes.refuse(status, 1);
    const [head] = await claim(store);
    expect(await push.handler.handle(head!, signal)).toMatchObject({ kind: 'finished' });
    expect(await push.api.browsers(ANNA)).toEqual([]);
  });

  it('are tried again while the push service has trouble, given up when it refuses them, and dropped when outdated', async () => {
    const store = await databases.open();
    const { push, subscribe, service: pushes, emit, clock } = await open(store);
    await subscribe(ANNA, 'anna');
    push.start();
    emit('turn_ended', await endedTurn(store, LONG_TURN_MS));
    await push.close();
    const [head] = await claim(store);
    for (const status of [429, 500, 503]) {
      pushes.refuse(status, 1);
      expect(await push.handler.handle(head!, signal)).toMatchObject({
        kind: 'retry',
        error: { code: 'push_refused', message: `The push service answered ${status}.` },
      });
    }
    pushes.refuse(403, 1);
    await expect(push.handler.handle(head!, signal)).rejects.toMatchObject({ code: 'push_refused' });
    clock.now += WORTH_MS.turn_ended + 60_000;
    expect(await push.handler.handle(head!, signal)).toMatchObject({ kind: 'finished' });
    expect(pushes.received('anna')).toEqual([]);
  });

  it('reach no browser whose token was revoked', async () => {
    const store = await databases.open();
    const { push, subscribe, service: pushes, emit } = await open(store);
    await subscribe(ANNA, 'anna');
    push.start();
    emit('turn_ended', await endedTurn(store, LONG_TURN_MS));
    await push.close();
    await store.sql`update token set revoked_at = now() where id = 'anna'`;
    for (const head of await claim(store)) await push.handler.handle(head, signal);
    expect(pushes.received('anna')).toEqual([]);
  });

  it(`are for at most ${MAX_PUSH_SUBSCRIPTIONS} browsers of a token, of which each is there once`, async () => {
    const store = await databases.open();
    const { push, subscribe } = await open(store);
    for (let nth = 0; nth < MAX_PUSH_SUBSCRIPTIONS; nth += 1) await subscribe(ANNA, `anna-${nth}`);
    await subscribe(ANNA, 'anna-0');
    await expect(subscribe(ANNA, 'one-more')).rejects.toMatchObject({ code: 'too_many_subscriptions' });
    const [first, ...others] = await push.api.browsers(ANNA);
    expect(others).toHaveLength(MAX_PUSH_SUBSCRIPTIONS - 1);
    expect(await push.api.unsubscribe(BEN, first!.id)).toBe(false);
    expect(await push.api.unsubscribe(ANNA, first!.id)).toBe(true);
    await subscribe(ANNA, 'one-more');
  });

  it(`are dropped, with a log entry, once ${MAX_WAITING_PUSHES} wait for a browser`, async () => {
    const store = await databases.open();
    const { push, subscribe, emit, log } = await open(store);
    const id = await subscribe(ANNA, 'anna');
    push.start();
    for (let nth = 1; nth < MAX_WAITING_PUSHES; nth += 1)
      await store.lanes.append(`push:${id}`, `waiting ${nth}`, {});
    emit('turn_ended', await endedTurn(store, LONG_TURN_MS));
    emit('turn_ended', await endedTurn(store, LONG_TURN_MS));
    await push.close();
    const [lane] = await store.sql`select tail - head as waiting from lane where key = ${`push:${id}`}`;
    expect(lane?.['waiting']).toBe(MAX_WAITING_PUSHES);
    expect(log.filter((line) => line.includes('push_full'))).toHaveLength(1);
  });

  it.each([
    'http://push.example.org/1',
    'https://user:password@push.example.org/1',
    'ftp://push.example.org/1',
    'nonsense',
    `https://push.example.org/${'x'.repeat(1_024)}`,
  ])('are refused for the endpoint %s', async (endpoint) => {
    const store = await databases.open();
    const { push, service: pushes } = await open(store);
    const { keys } = await pushes.subscribe('anna', await push.api.publicKey());
    await expect(push.api.subscribe(ANNA, { endpoint, keys }, FROM)).rejects.toMatchObject({
      code: 'bad_subscription',
    });
  });

  it.each(['https://127.0.0.1/1', 'https://10.0.0.1/1', 'https://[::1]/1', 'https://169.254.169.254/1'])(
    'never go to %s: the guard of outgoing requests refuses it',
    async (endpoint) => {
      const request = { url: endpoint, signal, bytes: Buffer.of(1) };
      await expect(egressTo(endpoint)(request)).rejects.toMatchObject({ code: 'refused_address' });
    },
  );

  it('are signed by the same key on every node, and after a restart', async () => {
    const store = await databases.open();
    const { push, moduleWith } = await open(store);
    const keys = await Promise.all([push, moduleWith(store.lanes)].map((each) => each.api.publicKey()));
    expect(keys[0]).toBe(keys[1]);
    expect(await moduleWith(store.lanes).api.publicKey()).toBe(keys[0]);
  });
});
