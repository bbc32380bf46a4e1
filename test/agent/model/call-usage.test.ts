/** Usage of one model call: reported by the server, or estimated. */
import { expect, it } from 'vitest';
import { completeUsage } from '../../../src/agent/model/model-call.ts';
import type { Usage } from '../../../src/protocol/agent/provider.ts';

const observed = { promptTokens: 90, output: 'x'.repeat(30), ms: 400 };
const usage = (promptTokens: number, completionTokens: number, modelMs: number): Usage => ({
  promptTokens,
  completionTokens,
  modelMs,
});

it.each([
  ['all', usage(9, 8, 7), usage(9, 8, 7)],
  ['no time', usage(9, 8, 0), usage(9, 8, 400)],
  ['no prompt', usage(0, 8, 7), { ...usage(90, 8, 7), estimated: true }],
  ['nothing', usage(0, 0, 0), { ...usage(90, 10, 400), estimated: true }],
  ['not its end', undefined, { ...usage(90, 10, 400), estimated: true }],
])('uses what a server reports and estimates the rest: it reported %s', (_case, reported, expected) => {
  expect(completeUsage(reported, observed)).toEqual(expected);
});
