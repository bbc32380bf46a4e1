/** A turn outlives its database: Postgres restarts while the model is silent, and crashes while it is answering. */
import { describe, expect, it } from 'vitest';
import { outliveRestarts } from '../../crash/outlive.ts';

describe('a turn whose Postgres restarts', () => {
  it('continues before the first token and in the middle of the answer, with one model call and no text lost', async () => {
    const { answer, expected, modelCalls } = await outliveRestarts({
      silenceMs: 3_000,
      tokensMs: 4_000,
    });
    expect(answer).toBe(expected);
    expect(modelCalls).toBe(1);
  }, 120_000);
});
