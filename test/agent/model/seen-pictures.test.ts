/** Which pictures of a prompt a model gets. */
import { expect, it } from 'vitest';
import { MAX_PICTURES, withPictures } from '../../../src/agent/model/seen-pictures.ts';
import type { ChatMessage, ChatProvider, ChatRequest } from '../../../src/protocol/agent/provider.ts';

const never = new AbortController().signal;

/** What a model receives of these messages. */
async function seen(messages: ChatMessage[], vision = true): Promise<readonly ChatMessage[]> {
  let sent: ChatRequest | undefined;
  const provider: ChatProvider = {
    name: 'test',
    models: async () => [],
    capabilities: async () => ({ contextWindow: 8_192, tools: false, thinking: false, vision }),
    // oxlint-disable-next-line require-yield -- the answer does not matter
    async *streamChat(request) {
      sent = request;
    },
    close: async () => undefined,
  };
  const load = async (ref: string) => (ref === 'gone' ? undefined : { mimeType: 'image/jpeg', base64: ref });
  const request = { model: 'm', messages, contextWindow: 8_192 };
  const stream = withPictures(provider, load).streamChat(request, never)[Symbol.asyncIterator]();
  expect(await stream.next()).toMatchObject({ done: true });
  return sent?.messages ?? [];
}

const shown = (messages: readonly ChatMessage[]): string[] =>
  messages
    .flatMap((message) => (message.role === 'user' ? (message.images ?? []) : []))
    .map(({ base64 }) => base64);
const photos = (count: number): ChatMessage[] =>
  Array.from({ length: count }, (_, index) => ({ role: 'user', content: 'look', pictures: [`${index}`] }));

it(`sends up to ${MAX_PICTURES} pictures, and drops the oldest in batches, so that prompts keep their prefix`, async () => {
  expect(shown(await seen(photos(MAX_PICTURES)))).toHaveLength(MAX_PICTURES);
  expect(shown(await seen(photos(MAX_PICTURES + 1)))).toEqual(['3', '4', '5', '6']);
  expect(shown(await seen(photos(MAX_PICTURES + 2)))).toEqual(['3', '4', '5', '6', '7']);
  expect(shown(await seen(photos(MAX_PICTURES + 3)))).toHaveLength(MAX_PICTURES);
  expect(shown(await seen(photos(MAX_PICTURES + 4)))[0]).toBe('6');
});

it('sends a message without its picture when the picture no longer exists', async () => {
  expect(await seen([{ role: 'user', content: 'look', pictures: ['gone'] }])).toEqual([
    { role: 'user', content: 'look' },
  ]);
});

it('tells a model that cannot see how many pictures there were', async () => {
  const [message] = await seen([{ role: 'user', content: 'look', pictures: ['a', 'b'] }], false);
  expect(message?.content).toBe(
    'look\n[With this message came 2 pictures. You cannot see pictures: say so if it matters.]',
  );
});
