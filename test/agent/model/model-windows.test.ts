/** How large a window a model is asked for: small at first, doubled within what it has, never smaller again. */
import { describe, expect, it } from 'vitest';
import { MAX_GROWN_MODELS, ModelWindows, SAFE_WINDOW } from '../../../src/agent/prompt/context-window.ts';

const free = { contextWindow: undefined };

describe('the window that a model is asked for', () => {
  it('doubles up to what the server reports, and no further', () => {
    const windows = new ModelWindows();
    const can = { contextWindow: 50_000 };
    const seen = [windows.of('m', can)];
    while (windows.grow('m', can, free)) seen.push(windows.of('m', can));
    expect(seen).toEqual([SAFE_WINDOW, 32_768, 50_000]);
    expect(windows.of('m', can)).toBe(50_000);
    expect(windows.of('other', can)).toBe(SAFE_WINDOW);
  });

  it('does not grow beyond a window that is guessed, or that a profile names', () => {
    const windows = new ModelWindows();
    const can = { contextWindow: 131_072 };
    expect(windows.grow('m', { ...can, windowGuessed: true }, free)).toBe(false);
    expect(windows.grow('m', can, { contextWindow: 8_192 })).toBe(false);
    expect(windows.grow('m', { contextWindow: SAFE_WINDOW }, free)).toBe(false);
    expect(windows.of('m', can)).toBe(SAFE_WINDOW);
  });

  it.each([
    ['qwen3-coder:480b-cloud', 131_072],
    ['glm-4.6:cloud', 131_072],
    ['ollama/glm-4.6:cloud', 131_072],
    ['cloudy', SAFE_WINDOW],
  ])('of %s is %i tokens at first, of 131,072', (model, tokens) => {
    expect(new ModelWindows().of(model, { contextWindow: 131_072 })).toBe(tokens);
  });

  it(`is remembered for ${MAX_GROWN_MODELS} models`, () => {
    const windows = new ModelWindows();
    const can = { contextWindow: 131_072 };
    for (let n = 0; n <= MAX_GROWN_MODELS; n += 1) windows.grow(`m${n}`, can, free);
    expect(windows.of('m0', can)).toBe(SAFE_WINDOW);
    expect(windows.of('m1', can)).toBe(2 * SAFE_WINDOW);
    expect(windows.of(`m${MAX_GROWN_MODELS}`, can)).toBe(2 * SAFE_WINDOW);
  });
});
