/** No HTTP client limit ends a long silence; alone in its file: the clock must be fake before undici's first timer. */
import { afterEach, describe, expect, it, vi } from 'vitest';
import { collectChat } from '../../fakes/agent/collect-chat.ts';
import { createPairs } from './setup.ts';
import { never, question } from '../request.ts';

const pairs = createPairs();
afterEach(async () => {
  vi.useRealTimers();
  await pairs.closeAll();
});

/** Seven minutes in steps of undici's own clock. */
function passSevenMinutes(): void {
  for (let halfSecond = 0; halfSecond < 840; halfSecond += 1) vi.advanceTimersByTime(500);
}

describe('a silence longer than the 300 s that undici allows', () => {
  it('ends neither a prefill nor a pause between tokens', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const { fake, ollama } = await pairs.start();
    fake.answer({ hold: true, text: ['at ', 'last'] });
    const prefill = collectChat(ollama.streamChat(question('think hard'), never));
    const silent = await fake.nextCall();
    passSevenMinutes();
    silent.release();
    expect((await prefill).content).toBe('at last');

    fake.answer({ text: ['at ', 'last'], failure: { kind: 'hang', after: 1 } });
    let content = '';
    for await (const chunk of ollama.streamChat(question('pause'), never)) {
      if (chunk.type !== 'text') continue;
      content += chunk.delta;
      if (content !== 'at ') continue;
      passSevenMinutes();
      (await fake.nextCall()).release();
    }
    expect(content).toBe('at last');
  });
});
