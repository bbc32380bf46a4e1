/** The order and the groups of a conversation, and the gathering of its words, without a browser. */
import { describe, expect, it } from 'vitest';
import type { AgentEvent } from '../../../../../src/protocol/event.ts';
import { DeltaQueue } from '../../../../../channels/http/page/chat/delta-queue.ts';
import {
  type Group,
  GROUP_TURNS,
  move,
  place,
  type Placed,
  remove,
} from '../../../../../channels/http/page/chat/groups.ts';

type Groups = readonly Group<Placed>[];

const item = (seq: number, key = `k${seq}`): Placed => ({ key, seq });
const numbers = (groups: Groups): number[] => groups.flatMap(({ items }) => items.map(({ seq }) => seq));
const upTo = (count: number): Groups =>
  Array.from({ length: count }, (_, nth) => item(nth + 1)).reduce<Groups>((all, one) => place(all, one), []);

describe('the groups of a conversation', () => {
  it('are filled in order, from the end and from the beginning, and never grow beyond their size', () => {
    const forwards = upTo(60);
    const backwards = Array.from({ length: 60 }, (_, nth) => item(60 - nth)).reduce<Groups>(
      (all, one) => place(all, one),
      [],
    );
    for (const groups of [forwards, backwards]) {
      expect(numbers(groups)).toEqual(Array.from({ length: 60 }, (_, nth) => nth + 1));
      expect(Math.max(...groups.map(({ items }) => items.length))).toBe(GROUP_TURNS);
    }
  });

  it('stay the same objects but for the one that takes a turn', () => {
    const before = upTo(60);
    const next = place(before, item(61));
    expect(next.map((group, nth) => group === before[nth])).toEqual([true, true, false]);
  });

  it('keep a turn where it is when its number fits there, and move it otherwise', () => {
    const sending = place(upTo(3), item(Infinity, 'new'));
    expect(numbers(move(sending, item(4, 'new')))).toEqual([1, 2, 3, 4]);
    expect(numbers(move(sending, item(1.5, 'new')))).toEqual([1, 1.5, 2, 3]);
  });

  it('lose a turn, and go with their last one', () => {
    expect(numbers(remove(upTo(3), 'k2'))).toEqual([1, 3]);
    expect(remove(upTo(1), 'k1')).toEqual([]);
    const groups = upTo(2);
    expect(remove(groups, 'none')).toBe(groups);
  });
});

describe('the words of growing texts', () => {
  const chunk = (msgId: string, delta: string): AgentEvent => ({
    sessionKey: 'http:a',
    turnId: 't',
    at: 0,
    type: 'stream_chunk',
    msgId,
    delta,
  });

  it('are applied once a frame, and before any other event', () => {
    const applied: string[] = [];
    const frames: (() => void)[] = [];
    const queue = new DeltaQueue(
      (event) => applied.push('delta' in event ? `${event.msgId}:${event.delta}` : event.type),
      (frame) => frames.push(frame),
    );
    expect(
      [chunk('a', 'one '), chunk('a', 'two '), chunk('b', 'three')].map((one) => queue.add(one)),
    ).toEqual([true, true, true]);
    expect([applied, frames.length]).toEqual([[], 1]);
    frames[0]?.();
    expect(applied).toEqual(['a:one two ', 'b:three']);

    queue.add(chunk('b', ' four'));
    expect(
      queue.add({ sessionKey: 'http:a', at: 0, type: 'turn_ended', turnId: 't', reason: 'completed' }),
    ).toBe(false);
    expect(applied.at(-1)).toBe('b: four');
    frames[1]?.();
    expect(applied).toHaveLength(3);
  });
});
