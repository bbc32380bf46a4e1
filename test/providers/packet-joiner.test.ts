/** Joining packets under load: nothing is held while idle, nothing beyond the limit, and no byte is lost or moved. */
import { PassThrough } from 'node:stream';
import { setImmediate as immediate } from 'node:timers/promises';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ProviderError } from '../../src/protocol/errors.ts';
import { BodyAnswer, LOAD_DELAY_MS, MAX_JOIN_MS, PacketJoiner } from '../../src/providers/answers/answer.ts';
import { FakeClock } from '../fakes/clock.ts';

/** Answers of a server under a load that the test sets, and all that their reader has read. */
function loadedServer(delayMs: number) {
  const clock = new FakeClock();
  const load = { delayMs };
  const joiner = new PacketJoiner(() => load.delayMs, clock);
  const open = () => {
    const body = new PassThrough();
    const { signal } = new AbortController();
    const lossError = () => new ProviderError('unavailable', 'The connection was lost.');
    const answer = new BodyAnswer(body, { signal, lossError, isDelimited: true, joiner }, () => undefined);
    const packets: string[] = [];
    const finished = (async () => {
      for (let next = await answer.read(); next !== undefined; next = await answer.read())
        packets.push(next.toString());
    })();
    /** Lets a packet arrive. */
    const arrive = async (packet: string): Promise<void> => {
      body.write(packet);
      await immediate();
    };
    const end = async (): Promise<void> => {
      body.end();
      await finished;
    };
    return { body, answer, packets, finished, arrive, end };
  };
  return { clock, load, open };
}

/** An answer that has begun. */
function begunAnswer(delayMs: number) {
  const { open, ...server } = loadedServer(delayMs);
  const opened = open();
  opened.answer.joinPackets();
  return { ...server, ...opened };
}

describe('packets', () => {
  it(`are read immediately, one by one, up to a loop delay of ${LOAD_DELAY_MS} ms`, async () => {
    const { packets, arrive, clock, end } = begunAnswer(LOAD_DELAY_MS);
    await arrive('a');
    await arrive('b');
    expect(packets).toEqual(['a', 'b']);
    expect(clock.waiting).toBe(0);
    await end();
  });

  it(`are read together after ${MAX_JOIN_MS} ms when the loop delay is above ${LOAD_DELAY_MS} ms`, async () => {
    const { packets, arrive, clock, end } = begunAnswer(LOAD_DELAY_MS + 0.1);
    await arrive('a');
    await clock.advance(MAX_JOIN_MS - 1);
    await arrive('b');
    expect(packets).toEqual([]);
    await clock.advance(1);
    expect(packets).toEqual(['ab']);
    await end();
  });

  it('are read immediately under load until the answer has begun', async () => {
    const { open } = loadedServer(100);
    const { answer, packets, arrive, end } = open();
    await arrive('head');
    await arrive('a');
    expect(packets).toEqual(['head', 'a']);
    answer.joinPackets();
    await arrive('b');
    expect(packets).toEqual(['head', 'a']);
    await end();
  });

  it('are read as soon as the answer ends', async () => {
    const { packets, arrive, end } = begunAnswer(100);
    await arrive('a');
    await arrive('b');
    await end();
    expect(packets).toEqual(['ab']);
  });

  it('are read before the failure that ends the answer', async () => {
    const { body, packets, arrive, finished } = begunAnswer(100);
    await arrive('a');
    body.destroy(new Error('reset'));
    await expect(finished).rejects.toThrow('The connection was lost.');
    expect(packets).toEqual(['a']);
  });

  it('are read with the next one, when held, once the load has passed', async () => {
    const { packets, arrive, load, end } = begunAnswer(100);
    await arrive('a');
    load.delayMs = 0;
    await arrive('b');
    expect(packets).toEqual(['ab']);
    await end();
  });

  it('are not held when they are long, and the answer continues after their time', async () => {
    const { packets, arrive, clock, end } = begunAnswer(100);
    const long = 'x'.repeat(16 * 1024);
    await arrive('a');
    await arrive(long);
    expect(packets).toEqual([`a${long}`]);
    await clock.advance(MAX_JOIN_MS);
    await arrive('b');
    await end();
    expect(packets).toEqual([`a${long}`, 'b']);
  });

  it('of many answers share one timer', async () => {
    const { open, clock } = loadedServer(100);
    const answers = Array.from({ length: 20 }, () => open());
    for (const { answer, arrive } of answers) {
      answer.joinPackets();
      await arrive('a');
      expect(clock.waiting).toBe(1);
    }
    await clock.advance(MAX_JOIN_MS);
    expect(answers.map(({ packets }) => packets)).toEqual(answers.map(() => ['a']));
    expect(clock.waiting).toBe(0);
    for (const { end } of answers) await end();
  });

  it('add up to the answer under any load', async () => {
    const step = fc.oneof(
      fc.record({ packet: fc.string({ minLength: 1, maxLength: 4 }) }),
      fc.record({ delayMs: fc.constantFrom(0, 5, 6, 80) }),
      fc.record({ ms: fc.nat(60) }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
        const { packets, arrive, clock, load, end } = begunAnswer(0);
        let sent = '';
        const seen: [text: string, sent: string][] = [];
        for (const one of steps) {
          if ('delayMs' in one) load.delayMs = one.delayMs;
          else if ('ms' in one) await clock.advance(one.ms);
          else {
            sent += one.packet;
            await arrive(one.packet);
            // While the event loop keeps up, all that has arrived was read.
            if (load.delayMs <= LOAD_DELAY_MS) seen.push([packets.join(''), sent]);
          }
        }
        await clock.advance(MAX_JOIN_MS);
        expect(packets.join('')).toBe(sent);
        expect(seen.map(([text]) => text)).toEqual(seen.map(([, before]) => before));
        expect(clock.waiting).toBe(0);
        await end();
      }),
      { numRuns: 200 },
    );
  });
});
