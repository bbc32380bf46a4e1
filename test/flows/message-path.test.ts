/** The path of one message from the channel to the delivered answer: what is committed and what is shown at each step. */
import { expect, it, vi } from 'vitest';
import { z } from 'zod';
import { defineTool, type ToolContext } from '../../src/protocol/agent/tool.ts';
import { describeGateway, FRIENDS, WAIT } from './setup.ts';
import { NO_QUESTION } from '../../src/providers/shape.ts';
import { lastNote, messagesWithoutNotes } from '../fakes/model/spoken-text.ts';

const [chat = ''] = FRIENDS;
const KEY = `telegram:${chat}`;
/** Two messages of this length are more than the model's window holds. */
const LONG = 'long '.repeat(1_500);
const models = [
  { name: 'small:latest', contextLength: 8_192, capabilities: ['completion', 'tools'] as const },
];

/** The one call of `probe`: its context, and the promise it waits for. */
let call = openCall();
function openCall() {
  return { context: Promise.withResolvers<ToolContext>(), end: Promise.withResolvers<void>() };
}
const probe = defineTool({
  name: 'probe',
  description: 'Waits until the test has looked around.',
  parameters: z.object({ note: z.string() }),
  effect: 'pure',
  results: 'operator',
  risk: () => 'safe',
  reach: () => 'session',
  async execute({ note }, context) {
    call.context.resolve(context);
    await call.end.promise;
    return { content: `probed ${note}` };
  },
});

describeGateway('a message', { telegram: true, tools: [probe], model: { models } }, (fixture) => {
  /** What is committed of the chat's second turn, and whether its answer is on screen. */
  const state = async () => {
    const messages = (await fixture().messages(KEY)).slice(2);
    const journal = await fixture().sql<{ kind: string }[]>`
      select kind from context where turn_id = ${messages[0]?.turnId ?? ''} order by seq`;
    return {
      messages: messages.map(({ role }) => role),
      journal: journal.map(({ kind }) => kind),
      shown: fixture().telegram.screen(chat).includes('the answer'),
    };
  };

  it('passes bus, session, context, model, tools, store and delivery in this order (B-01)', async () => {
    const { telegram, ollama } = fixture();
    call = openCall();
    ollama.answer('noted');
    telegram.says(chat, `earlier ${LONG}`, chat);
    await vi.waitFor(() => expect(telegram.screen(chat)).toEqual(['noted']), WAIT);
    await fixture().idle(KEY);
    ollama.answer({ toolCalls: [{ name: 'probe', args: { note: 'all' } }], hold: true });
    ollama.answer({ text: 'the answer', hold: true });

    telegram.says(chat, `now ${LONG}`, chat);
    const first = await fixture().modelCall('now long');
    // Bus and session: the message is committed before the model is asked.
    expect(await state()).toEqual({ messages: ['user'], journal: [], shown: false });
    // Context: the system prompt first, the message itself last; the oldest message no longer fits and is left out.
    const contents = first.body.messages.map(({ role, content }) => `${role} ${content.slice(0, 9)}`);
    expect(contents).toEqual([
      expect.stringMatching(/^system/),
      `user ${NO_QUESTION.slice(0, 9)}`,
      'assistant noted',
      'user now long ',
    ]);
    expect(lastNote(first.body)).toMatch(/^It is /);
    first.release();

    // The model's answer is committed before its tool runs, which is checked where the tool is called.
    expect(await call.context.promise).toMatchObject({ sessionKey: KEY, address: KEY, userId: KEY });
    expect(await state()).toEqual({ messages: ['user'], journal: ['user', 'assistant'], shown: false });
    call.end.resolve();

    // The tool's result is committed before the model is asked again, with it.
    const second = await vi.waitFor(() => {
      if (ollama.calls[2] === undefined) throw new Error('the model was not asked again');
      return ollama.calls[2];
    }, WAIT);
    expect(messagesWithoutNotes(second.body.messages).at(-1)).toMatchObject({
      role: 'tool',
      content: 'probed all',
    });
    const calledOnce = ['user', 'assistant', 'tool_result'];
    expect(await state()).toEqual({ messages: ['user'], journal: calledOnce, shown: false });

    // The answer is stored before it is delivered: Telegram refuses it at first.
    for (const method of ['editMessageText', 'editMessageText', 'sendMessage', 'sendMessage'])
      telegram.failure({ kind: 'status', status: 502, method });
    second.release();
    await vi.waitFor(async () => expect((await state()).messages).toEqual(['user', 'assistant']), WAIT);
    const answered = { messages: ['user', 'assistant'], journal: [...calledOnce, 'assistant'] };
    expect(await state()).toEqual({ ...answered, shown: false });
    await vi.waitFor(() => expect(telegram.screen(chat)).toContain('the answer'), WAIT);
    await fixture().idle(KEY);
    expect(await state()).toEqual({ ...answered, shown: true });
  });

  it('may call a tool that was added: the model sees its schema and reads its result (B-15)', async () => {
    const { ollama } = fixture();
    call = openCall();
    call.end.resolve();
    ollama.answer({ toolCalls: [{ name: 'probe', args: { note: 'twice' } }] }, { when: 'use the tool' });
    await fixture().post('added-tool', 'use the tool');
    await fixture().idle('http:added-tool');
    const calls = ollama.calls.filter(({ body }) => JSON.stringify(body.messages).includes('use the tool'));
    const offered = calls[0]?.body.tools?.find((tool) => tool.function.name === 'probe')?.function;
    expect(offered).toMatchObject({
      description: 'Waits until the test has looked around.',
      parameters: { type: 'object', properties: { note: { type: 'string' } }, required: ['note'] },
    });
    expect(messagesWithoutNotes(calls[1]?.body.messages ?? []).at(-1)).toMatchObject({
      role: 'tool',
      content: 'probed twice',
    });
  });
});
