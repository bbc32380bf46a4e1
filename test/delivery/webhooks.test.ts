/**
 * The notes of outbound webhooks on a real store: queued once and in order, bounded, retried with growing pauses for a
 * day.
 */
import { expect, it } from 'vitest';
import {
  MAX_WAITING_NOTES,
  WEBHOOK_TRIED_MS,
  type WebhookStore,
} from '../../src/protocol/operator/webhooks.ts';
import type { EventBus, EventListener, MessageBus } from '../../src/protocol/bus.ts';
import type { AgentEvent } from '../../src/protocol/event.ts';
import type { LaneHead } from '../../src/protocol/store/lanes.ts';
import { createWebhooks, type Webhook } from '../../src/delivery/index.ts';
import { describeStore, type TestStore } from '../database.ts';
import { partial } from '../fakes/partial.ts';
import { testLog } from '../fakes/agent/tool-context.ts';

const NOW = 1_000_000_000_000;
const ci: Webhook = {
  url: 'https://ci.example.org/events',
  events: ['turn_ended'],
  secret: 'x'.repeat(16),
  content: false,
  private: false,
};

describeStore('the notes of a webhook', (databases) => {
  const open = (store: TestStore, facts: Partial<WebhookStore> = {}, status = 204) => {
    const log: string[] = [];
    const listeners: EventListener[] = [];
    const clock = { now: NOW };
    const webhooks = createWebhooks({
      webhooks: () => new Map([['ci', ci]]),
      store: { ...store.webhooks, ...facts },
      lanes: store.lanes,
      bus: partial<MessageBus>({ claimingNode: () => undefined, runHeads: () => undefined }),
      events: partial<EventBus>({
        subscribe: (_filter, listener) => (listeners.push(listener), () => undefined),
      }),
      egressOf:
        () =>
        async ({ url }) => ({ url, status, contentType: '', body: Buffer.alloc(0) }),
      epochNow: () => clock.now,
      log: testLog(log),
    });
    const ended = (turnId: string): void => {
      const event = {
        type: 'turn_ended',
        reason: 'completed',
        sessionKey: 'http:a',
        turnId,
        at: NOW,
      } as AgentEvent;
      for (const listener of listeners) listener(event);
    };
    return { webhooks, ended, log, clock };
  };
  const queued = async ({ sql }: TestStore): Promise<string[]> => {
    const rows = await sql<
      { dedupe: string }[]
    >`select dedupe from lane_item where lane = 'hook:ci' order by seq`;
    return rows.map(({ dedupe }) => dedupe);
  };
  const headOf = (note: object, attempts = 0): LaneHead =>
    ({ lane: 'hook:ci', seq: 1, node: 'n', epoch: 1, payload: note, attempts }) as unknown as LaneHead;

  it('are queued once each, in the order of their events, after the one that announces the webhook', async () => {
    const store = await databases.open();
    const { webhooks, ended } = open(store);
    webhooks.start();
    for (const turn of ['t1', 't2', 't1', 't3']) ended(turn);
    await webhooks.close();
    expect(await queued(store)).toEqual([
      'webhook_added:ci',
      'turn_ended:t1',
      'turn_ended:t2',
      'turn_ended:t3',
    ]);
  });

  it('are dropped, with a log entry, once the maximum is waiting', async () => {
    const store = await databases.open();
    let waiting = MAX_WAITING_NOTES - 1;
    const laneState = async () => ({ waiting, isNew: false, since: NOW });
    const { webhooks, ended, log } = open(store, { laneState, recentFacts: async () => [] });
    webhooks.start();
    ended('t1');
    await webhooks.close();
    waiting = MAX_WAITING_NOTES;
    const full = open(store, { laneState, recentFacts: async () => [] });
    full.webhooks.start();
    full.ended('t2');
    await full.webhooks.close();
    expect(await queued(store)).toEqual(['turn_ended:t1']);
    expect(log.join('')).not.toContain('webhook_full');
    expect(full.log.join('')).toContain('webhook_full');
  });

  it('are tried again with growing pauses of at most an hour, and given up a day after their event', async () => {
    const store = await databases.open();
    const { webhooks, clock } = open(store, {}, 500);
    const note = { id: 'turn_ended:t1', type: 'turn_ended', sessionKey: 'http:a', turnId: 't1', at: NOW };
    const handle = (head: LaneHead, until: AbortSignal) => webhooks.handler.handle(head, until);
    const { signal } = new AbortController();
    const pauseAfter = async (attempts: number): Promise<number> => {
      const outcome = await handle(headOf(note, attempts), signal);
      if (outcome.kind !== 'retry') throw new Error(outcome.kind);
      return outcome.delayMs ?? 0;
    };
    expect(await pauseAfter(0)).toBeLessThanOrEqual(5_000);
    expect(await pauseAfter(4)).toBeGreaterThanOrEqual(40_000);
    expect(await pauseAfter(100)).toBeLessThanOrEqual(60 * 60_000);
    clock.now = NOW + WEBHOOK_TRIED_MS - 1;
    expect(await pauseAfter(30)).toBeGreaterThan(0);
    clock.now = NOW + WEBHOOK_TRIED_MS;
    await expect(handle(headOf(note, 31), signal)).rejects.toMatchObject({
      code: 'webhook_given_up',
      message: 'Tried for a day: The receiver answered 500.',
    });
    await expect(handle({ ...headOf(note), lane: 'hook:gone' }, signal)).rejects.toMatchObject({
      code: 'no_webhook',
    });
  });
});
