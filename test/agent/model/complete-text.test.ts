/** A model call that is not an answer to anyone: what it returns, what is shown of it, and what it cost however it ends. */
import { expect, it } from 'vitest';
import { DEFAULT_LIMITS } from '../../../src/agent/deps.ts';
import { completeText, type TextCall } from '../../../src/agent/model/model-call.ts';
import { ProviderError } from '../../../src/protocol/errors.ts';
import type { EventBody } from '../../../src/protocol/event.ts';
import type { Usage } from '../../../src/protocol/agent/provider.ts';
import {
  fails,
  says,
  SCRIPT_USAGE,
  ScriptedProvider,
  type ScriptStep,
} from '../../fakes/agent/scripted-provider.ts';

async function gather(step: ScriptStep, over: Partial<TextCall> = {}) {
  const provider = new ScriptedProvider(step);
  const events: EventBody[] = [];
  const usages: Usage[] = [];
  const messages = [{ role: 'user' as const, content: 'Sum it up' }];
  const call: TextCall = {
    request: { model: 'test-model', messages, contextWindow: 4_096 },
    signal: new AbortController().signal,
    maxChars: 100,
    onUsage: (usage) => void usages.push(usage),
    ...over,
  };
  const shared = { provider, limits: DEFAULT_LIMITS };
  const read = completeText(shared, call, (event) => void events.push(event));
  const text = await read.catch((error: unknown) => (error instanceof ProviderError ? error.code : error));
  return { text, events, usages, provider };
}

const musing: ScriptStep = { chunks: [{ type: 'thinking', delta: 'Hm. ' }, ...says('It is', ' so.').chunks] };
const broken = new ProviderError('bad_response', 'cut', { retryable: true });
const shown = { msgId: 't.plan.1', title: 'A look' };

it('returns the text without the thinking, and emits nothing for a call that is not shown', async () => {
  expect(await gather(musing)).toMatchObject({ text: 'It is so.', events: [], usages: [SCRIPT_USAGE] });
});

it('emits text and thinking under the title of the call, with their usage', async () => {
  const { events, usages } = await gather(musing, { display: shown });
  const { msgId } = shown;
  expect(events).toEqual([
    { type: 'thinking_started', msgId, title: 'A look' },
    { type: 'thinking_delta', msgId, delta: 'Hm. ' },
    { type: 'thinking_delta', msgId, delta: 'It is' },
    { type: 'thinking_delta', msgId, delta: ' so.' },
    { type: 'thinking_finished', msgId, model: 'test-model', usage: SCRIPT_USAGE },
  ]);
  expect(usages).toEqual([SCRIPT_USAGE]);
});

it('emits a notice that the call waits in the queue, shown or not', async () => {
  const { events } = await gather({ ...says('ok'), ahead: 2 });
  expect(events).toMatchObject([{ type: 'notice', code: 'model_busy' }]);
});

it('reports the usage of a call that broke after its first chunk, but nothing for a call that never started', async () => {
  const late = await gather(fails(broken, 'It'), { display: shown });
  expect(late).toMatchObject({ text: 'bad_response', usages: [{ estimated: true, completionTokens: 1 }] });
  expect(late.events.at(-1)).toMatchObject({ type: 'thinking_finished', usage: { estimated: true } });
  const early = await gather(fails(broken), { display: shown });
  expect(early).toMatchObject({ text: 'bad_response', usages: [] });
  expect(early.events.at(-1)).toEqual({ type: 'thinking_finished', msgId: shown.msgId });
});

it.each([
  [10, 'abcdefghij', 0],
  [9, 'abcdefghij', 1],
])(
  'stops reading after more than %i characters, and closes the connection',
  async (maxChars, text, hungUp) => {
    const call = await gather(says('abcde', 'fghij'), { maxChars });
    expect(call).toMatchObject({ text, provider: { hungUp } });
    expect(call.usages).toHaveLength(1);
  },
);

it('keeps a character split across two chunks', async () => {
  expect((await gather(says('a\ud83d', '\ude00b'))).text).toBe('a😀b');
});
