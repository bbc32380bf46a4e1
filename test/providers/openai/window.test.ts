/** How large the window of a model on an OpenAI-compatible server is: as it reports, and as its refusals show. */
import { afterEach, describe, expect, it } from 'vitest';
import {
  DISCOVERY_TTL_MS,
  LEARNED_WINDOW_MS,
  MIN_LEARNED_WINDOW,
  UNKNOWN_WINDOW,
} from '../../../src/providers/discovery.ts';
import { drain } from '../../contracts/model/provider.ts';
import { never, question } from '../request.ts';
import { createLlamaPairs } from './setup.ts';

const pairs = createLlamaPairs();
afterEach(() => pairs.closeAll());

const long = question('word '.repeat(6_000), { contextWindow: UNKNOWN_WINDOW });

describe('the window of a model', () => {
  it.each([
    [
      'loaded with',
      { state: 'loaded', max_context_length: 131_072, loaded_context_length: 4_096 },
      4_096,
      undefined,
    ],
    ['at most able to load, as a guess', { state: 'not-loaded', max_context_length: 8_192 }, 8_192, true],
    ['assumed to have', { state: 'not-loaded', max_context_length: 131_072 }, UNKNOWN_WINDOW, true],
  ] as const)(
    'is the one that LM Studio says it is %s',
    async (_how, reports, contextWindow, windowGuessed) => {
      const { openai } = await pairs.start({}, { lmStudio: { reports, overflow: 'bare' } });
      expect(await openai.capabilities('fake', never)).toMatchObject({ contextWindow });
      expect((await openai.capabilities('fake', never)).windowGuessed).toBe(windowGuessed);
    },
  );

  it('is the one in the properties of a llama-server whose list does not say it', async () => {
    const { openai } = await pairs.start({}, { window: 4_096, listsWindow: false });
    expect(await openai.capabilities('fake', never)).toMatchObject({ contextWindow: 4_096 });
  });

  it.each(['n_ctx', 'only'] as const)(
    'is learned from a refusal that names it (%s), for an hour',
    async (overflow) => {
      let clock = 0;
      const server = { window: 4_096, lmStudio: { overflow } };
      const { openai } = await pairs.start({ monotonicNow: () => clock }, server);
      expect(await openai.capabilities('fake', never)).toMatchObject({ windowGuessed: true });
      expect((await drain(openai.streamChat(long, never))).error).toMatchObject({ window: 4_096 });
      const learned = await openai.capabilities('fake', never);
      expect(learned).toMatchObject({ contextWindow: 4_096 });
      expect(learned.windowGuessed).toBeUndefined();
      clock = LEARNED_WINDOW_MS - 1;
      expect(await openai.capabilities('fake', never)).toMatchObject({ contextWindow: 4_096 });
      clock = LEARNED_WINDOW_MS + DISCOVERY_TTL_MS;
      expect(await openai.capabilities('fake', never)).toMatchObject({ windowGuessed: true });
    },
  );

  it('is smaller than a prompt that was refused without a number, but never smaller than a small model', async () => {
    const server = { window: 64, lmStudio: { overflow: 'bare' } } as const;
    const { openai } = await pairs.start({}, server);
    const windows: number[] = [];
    for (const words of [6_000, 3_000, 4_000, 100]) {
      const request = question('word '.repeat(words), { contextWindow: UNKNOWN_WINDOW });
      expect((await drain(openai.streamChat(request, never))).error).toMatchObject({
        code: 'context_overflow',
      });
      windows.push((await openai.capabilities('fake', never)).contextWindow);
    }
    expect(windows).toEqual([10_000, 5_000, 5_000, MIN_LEARNED_WINDOW]);
  });

  it('is not what a caller asked for that asked for less', async () => {
    const { openai } = await pairs.start({}, { window: 8_192 });
    const words = question('word '.repeat(9_000), { contextWindow: 2_048 });
    expect((await drain(openai.streamChat(words, never))).error).toMatchObject({ window: 8_192 });
    expect(await openai.capabilities('fake', never)).toMatchObject({ contextWindow: 8_192 });
  });
});
