/** What the Ollama provider sends: pinned options, only what the model supports, and a conversation the server accepts. */
import { afterEach, describe, expect, it } from 'vitest';
import { collectChat } from '../../fakes/agent/collect-chat.ts';
import type { ChatMessage, ChatRequest, ToolSchema } from '../../../src/protocol/agent/provider.ts';
import { createPairs } from './setup.ts';
import { never, question } from '../request.ts';

const pairs = createPairs();
afterEach(() => pairs.closeAll());

const tools: ToolSchema[] = [
  { name: 'look', description: 'Looks.', parameters: { type: 'object', properties: {} } },
];

async function sent(request: ChatRequest) {
  const { fake, ollama } = await pairs.start();
  await collectChat(ollama.streamChat(request, never));
  return fake.calls[0]?.body;
}

describe('a request to Ollama', () => {
  it('always pins the window, refuses silent truncation and leaves keep_alive alone (B-11, N-64)', async () => {
    const body = await sent(question('hi', { temperature: 0.3, maxTokens: 77 }));
    expect(body).toMatchObject({
      truncate: false,
      shift: false,
      stream: true,
      options: { num_ctx: 8_192, temperature: 0.3, num_predict: 77 },
    });
    expect(body).not.toHaveProperty('keep_alive');
  });

  it('loads the model once for calls that differ in everything but the window', async () => {
    const { fake, ollama } = await pairs.start();
    for (const more of [{}, { temperature: 1 }, { think: true }, { tools }, { maxTokens: 5 }]) {
      await collectChat(ollama.streamChat(question('hi', more), never));
    }
    expect(fake.loads).toHaveLength(1);
  });

  it('sends the thinking switch to a model that can think, and nothing to one that cannot (N-31)', async () => {
    expect((await sent(question('hi', { think: true })))?.think).toBe(true);
    expect((await sent(question('hi')))?.think).toBe(false);
    expect(await sent(question('hi', { think: true, model: 'plain' }))).not.toHaveProperty('think');
  });

  it('offers tools only to a model that can call them', async () => {
    expect((await sent(question('hi', { tools })))?.tools?.[0]?.function.name).toBe('look');
    expect(await sent(question('hi', { tools, model: 'plain' }))).not.toHaveProperty('tools');
    expect(await sent(question('hi', { tools: [] }))).not.toHaveProperty('tools');
  });

  it('sends a conversation with tool calls and their results in the server’s format', async () => {
    const messages: ChatMessage[] = [
      { role: 'system', content: 'be kind' },
      { role: 'user', content: 'look twice' },
      {
        role: 'assistant',
        content: '',
        thinking: 'two looks',
        toolCalls: [
          { id: 'lookCall1', name: 'look', args: { at: 'a' } },
          { id: 'lookCall2', name: 'look', args: {}, malformed: 'oops' },
        ],
      },
      { role: 'tool', content: 'seen', toolCallId: 'lookCall1', toolName: 'look' },
      { role: 'tool', content: 'not run', toolCallId: 'lookCall2', toolName: 'look' },
      { role: 'assistant', content: 'done' },
      { role: 'user', content: 'thanks' },
    ];
    const body = await sent(question('', { messages, tools }));
    expect(body?.messages).toEqual([
      { role: 'system', content: 'be kind' },
      { role: 'user', content: 'look twice' },
      {
        role: 'assistant',
        content: '',
        thinking: 'two looks',
        tool_calls: [
          { id: 'lookCall1', function: { name: 'look', arguments: { at: 'a' } } },
          { id: 'lookCall2', function: { name: 'look', arguments: {} } },
        ],
      },
      { role: 'tool', content: 'seen', tool_name: 'look', tool_call_id: 'lookCall1' },
      { role: 'tool', content: 'not run', tool_name: 'look', tool_call_id: 'lookCall2' },
      { role: 'assistant', content: 'done' },
      { role: 'user', content: 'thanks' },
    ]);
  });
});

describe('an answer of Ollama', () => {
  it('includes tool calls from the done line as well as from earlier ones (N-50)', async () => {
    const { fake, ollama } = await pairs.start();
    for (const toolCallsIn of ['chunk', 'done'] as const) {
      fake.answer({
        text: 'wait ',
        toolCalls: [{ name: 'look', args: { at: 'a' }, id: 'call_1' }],
        toolCallsIn,
      });
      const reply = await collectChat(ollama.streamChat(question('hi', { tools }), never));
      expect(reply.toolCalls).toEqual([{ id: 'call_1', name: 'look', args: { at: 'a' } }]);
      expect(reply.finishReason).toBe('tool_calls');
    }
  });

  it('gives calls that share an id separate ids', async () => {
    const { fake, ollama } = await pairs.start();
    const call = { name: 'look', args: {}, id: 'same' };
    fake.answer({ toolCalls: [call, call] });
    const { toolCalls } = await collectChat(ollama.streamChat(question('hi', { tools }), never));
    expect(toolCalls[0]?.id).toBe('same');
    expect(toolCalls[1]?.id).not.toBe('same');
  });

  it('reports model time in milliseconds and tokens as the server counted them', async () => {
    const { fake, ollama } = await pairs.start();
    fake.answer({ text: 'one two', completionTokens: 41 });
    const { usage } = await collectChat(ollama.streamChat(question('hi'), never));
    expect(usage).toMatchObject({ promptTokens: 5, completionTokens: 41 });
    expect(usage.modelMs).toBeGreaterThanOrEqual(2);
    expect(usage.modelMs).toBeLessThan(10_000);
  });

  it('reads lines that end in CRLF, with empty lines in between', async () => {
    const { fake, ollama } = await pairs.start();
    fake.answer({ text: 'a b', eol: '\r\n', failure: { kind: 'bytes', after: 1, bytes: '\r\n\n' } });
    expect((await collectChat(ollama.streamChat(question('hi'), never))).content).toBe('a b');
  });
});
