/** Startup memory is released once, when nothing runs. */
import { describe, expect, it, vi } from 'vitest';
import { collectGarbage, releaseStartMemory } from '../../src/ops/start.ts';

describe('startup memory', () => {
  it('is collected once, as soon as the gateway is idle', async () => {
    const collect = vi.fn<() => void>();
    const answers = [false, false, true];
    const isIdle = vi.fn<() => Promise<boolean>>(async () => answers.shift() ?? true);
    releaseStartMemory(isIdle, { afterMs: 1, betweenMs: 1, collect });
    await vi.waitFor(() => expect(collect).toHaveBeenCalledTimes(1));
    expect(isIdle).toHaveBeenCalledTimes(3);
  });

  it('stays with a gateway that is always busy, or cannot tell', async () => {
    const collect = vi.fn<() => void>();
    const busy = vi.fn<() => Promise<boolean>>(async () => false);
    const broken = vi.fn<() => Promise<boolean>>().mockRejectedValue(new Error('the store is unreachable'));
    releaseStartMemory(busy, { afterMs: 1, betweenMs: 1, collect });
    releaseStartMemory(broken, { afterMs: 1, betweenMs: 1, collect });
    await vi.waitFor(() => expect([busy.mock.calls.length, broken.mock.calls.length]).toEqual([10, 10]));
    expect(collect).not.toHaveBeenCalled();
  });

  it('is memory that nothing refers to anymore', async () => {
    let large: object | undefined = { bytes: new Uint8Array(1_000) };
    const reference = new WeakRef(large);
    large = undefined;
    // A reference that was just created holds its target until the job ends.
    await new Promise((resolve) => setImmediate(resolve));
    collectGarbage();
    expect([reference.deref(), large]).toEqual([undefined, undefined]);
    expect(Reflect.get(globalThis, 'gc')).toBeUndefined();
  });
});
