/** Pictures on the wire of both kinds of servers, and what happens when a server refuses them. */
import { afterEach, describe, expect, it } from 'vitest';
import type { ChatRequest } from '../../src/protocol/agent/provider.ts';
import { createOpenai } from '../../src/providers/openai/openai.ts';
import { toWire } from '../../src/providers/ollama/wire.ts';
import { collectChat } from '../fakes/agent/collect-chat.ts';
import { startScriptedUpstream, type UpstreamAnswer } from '../fakes/model/scripted-upstream.ts';
import { delta, STOP } from './failures/wire.ts';
import { never, question } from './request.ts';
import { OPENAI_SERVER } from './servers.ts';

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const thing of open.splice(0).toReversed()) await thing.close();
});

const images = [{ mimeType: 'image/jpeg', base64: 'AAAA' }];
const asked = (): ChatRequest => ({
  ...question('look'),
  messages: [{ role: 'user', content: 'look', images }],
});
const part = { type: 'image_url', image_url: { url: 'data:image/jpeg;base64,AAAA' } };

/** A server that gives these answers and records the requests. */
async function serve(vision: boolean, ...answers: UpstreamAnswer[]) {
  let nth = 0;
  const upstream = await startScriptedUpstream(() => answers[Math.min(nth++, answers.length - 1)]!);
  const provider = createOpenai({ ...OPENAI_SERVER, baseUrl: upstream.openaiUrl, vision });
  open.push(upstream, provider);
  const heard = () => upstream.calls.map(({ messages }) => messages[0]?.['content']);
  return { provider, heard };
}

const fine = { body: [delta({ content: 'A leaf.' }), ...STOP] };

describe('pictures', () => {
  it('go to an OpenAI-compatible server as data URLs, and to Ollama in base64', async () => {
    const { provider, heard } = await serve(true, fine);
    expect((await collectChat(provider.streamChat(asked(), never))).content).toBe('A leaf.');
    expect(heard()).toEqual([[{ type: 'text', text: 'look' }, part]]);
    const can = { contextWindow: 8_192, tools: false, thinking: false, vision: true };
    expect(toWire(asked(), can).messages).toEqual([{ role: 'user', content: 'look', images: ['AAAA'] }]);
  });

  it.each([
    [
      500,
      {
        error: {
          code: 500,
          message:
            'image input is not supported - hint: if this is unexpected, you may need to provide the mmproj',
        },
      },
    ],
    [400, { message: 'fake is not a multimodal model', type: 'BadRequestError' }],
    [400, { error: { message: 'This model does not support image inputs' } }],
  ])(
    'are left out immediately and from then on when a server refuses them with %i',
    async (status, refusal) => {
      const refused = { status, body: [JSON.stringify(refusal)] };
      const { provider, heard } = await serve(true, ...(status === 500 ? [refused] : []), refused, fine);
      let told: string[] = [];
      const request = { ...asked(), onOmissions: (parts: readonly string[]) => (told = [...told, ...parts]) };
      expect((await collectChat(provider.streamChat(request, never))).content).toBe('A leaf.');
      expect(told).toEqual(['pictures']);
      expect((await provider.capabilities('fake', never)).vision).toBe(false);
      await collectChat(provider.streamChat(request, never));
      const text = expect.stringMatching(/^look\n\[With this message came a picture/);
      const shown = [{ type: 'text', text: 'look' }, part];
      // A failure counts as a refusal once it was repeated.
      expect(heard()).toEqual([...(status === 500 ? [shown] : []), shown, text, text]);
    },
  );

  it('are not sent when the settings say that no model has vision', async () => {
    const { provider, heard } = await serve(false, fine);
    await collectChat(provider.streamChat(asked(), never));
    expect(heard()).toEqual([expect.stringContaining('You cannot see')]);
  });
});
