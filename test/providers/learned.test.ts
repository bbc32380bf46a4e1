/** What is remembered of models that refuse a part of a request. */
import { describe, expect, it, onTestFinished } from 'vitest';
import { createLearnedModels, LEARNED_TTL_MS, MAX_LEARNED_MODELS } from '../../src/providers/learned.ts';
import { createOpenai } from '../../src/providers/openai/openai.ts';
import { collectChat } from '../fakes/agent/collect-chat.ts';
import { startScriptedUpstream } from '../fakes/model/scripted-upstream.ts';
import { delta, STOP } from './failures/wire.ts';
import { TOOLS } from './filter/setup.ts';
import { never, question } from './request.ts';
import { OPENAI_SERVER } from './servers.ts';

describe('what a model has refused', () => {
  it('is remembered for an hour, for a limited number of models', () => {
    let clock = 0;
    const learned = createLearnedModels(() => clock);
    learned.of('first').refused.add('tools');
    for (let nth = 1; nth < MAX_LEARNED_MODELS; nth += 1) learned.of(`model ${nth}`);
    expect([...learned.of('first').refused]).toEqual(['tools']);
    clock = LEARNED_TTL_MS - 1;
    expect([...learned.of('first').refused]).toEqual(['tools']);
    clock = LEARNED_TTL_MS;
    expect([...learned.of('first').refused]).toEqual([]);
    learned.of('second').refused.add('tools');
    for (let nth = 0; nth < MAX_LEARNED_MODELS; nth += 1) learned.of(`later ${nth}`);
    expect([...learned.of('second').refused]).toEqual([]);
  });

  it('is left out completely from then on, and the model is known to lack it', async () => {
    const refusals = [
      'fake does not support tools',
      "Unsupported parameter: 'max_tokens' is not supported. Use 'max_completion_tokens' instead.",
      "'temperature' does not support 0.7 with this model",
      'chat_template_kwargs is not supported',
    ];
    const upstream = await startScriptedUpstream((_body, nth) => {
      const message = refusals[nth];
      if (message === undefined) return { body: [delta({ content: 'Hello.' }), ...STOP] };
      return { status: 400, body: [JSON.stringify({ error: { message } })] };
    });
    const provider = createOpenai({ ...OPENAI_SERVER, baseUrl: upstream.openaiUrl });
    onTestFinished(async () => {
      await provider.close();
      await upstream.close();
    });
    const request = question('hi', { tools: TOOLS, think: true, temperature: 0.7, maxTokens: 500 });
    for (const _ of [1, 2]) {
      expect((await collectChat(provider.streamChat(request, never))).content).toBe('Hello.');
    }
    expect(upstream.calls).toHaveLength(refusals.length + 2);
    const last = upstream.calls.at(-1);
    expect(last).toMatchObject({ max_completion_tokens: 500 });
    for (const field of ['tools', 'max_tokens', 'temperature', 'chat_template_kwargs']) {
      expect(last).not.toHaveProperty(field);
    }
    expect(await provider.capabilities('fake', never)).toMatchObject({ tools: false, thinking: false });
  });

  it('is reported when it is refused again', async () => {
    const message = 'fake does not support tools';
    const upstream = await startScriptedUpstream(() => ({
      status: 400,
      body: [JSON.stringify({ error: { message } })],
    }));
    const provider = createOpenai({ ...OPENAI_SERVER, baseUrl: upstream.openaiUrl });
    onTestFinished(async () => {
      await provider.close();
      await upstream.close();
    });
    const request = question('hi', { tools: TOOLS });
    await expect(collectChat(provider.streamChat(request, never))).rejects.toMatchObject({
      code: 'bad_request',
    });
    expect(upstream.calls).toHaveLength(2);
  });
});
