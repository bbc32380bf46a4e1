/** What an OpenAI-compatible server gets back of its own answers, and other servers do not. */
import { afterEach, describe, expect, it } from 'vitest';
import type { ChatMessage, ToolSchema } from '../../../src/protocol/agent/provider.ts';
import { MAX_ECHO_BYTES } from '../../../src/providers/openai/echo.ts';
import { collectChat } from '../../fakes/agent/collect-chat.ts';
import { noThoughts, signatures, thoughtsOfAll, thoughtsOfCalls } from '../../fakes/model/echo-rules.ts';
import { type ServerRule, startStrictServer, type StrictAnswer } from '../../fakes/model/strict-server.ts';
import { never, question } from '../request.ts';
import { createLlamaPairs } from './setup.ts';

const pairs = createLlamaPairs();
const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  await pairs.closeAll();
  for (const server of open.splice(0)) await server.close();
});

const LOOK: ToolSchema = { name: 'look', description: 'Looks.', parameters: { type: 'object' } };
const CALL = { name: 'look', args: {} };

/** A server with these rules that answers everything alike, and what it was sent. */
async function start(answer: StrictAnswer, rules: readonly ServerRule[] = [], ownedBy = 'someone') {
  const server = await startStrictServer(rules, () => answer, ownedBy);
  open.push(server);
  const provider = pairs.providerAt({ baseUrl: server.openaiUrl, name: 'remote' });
  const ask = async (messages: readonly ChatMessage[], more: Parameters<typeof question>[1] = {}) =>
    await collectChat(provider.streamChat(question('', { messages, tools: [LOOK], ...more }), never));
  const answers = () => server.calls.at(-1)?.messages.filter(({ role }) => role === 'assistant') ?? [];
  return { server, ask, answers };
}

/** The history after an answer, as the agent writes it. */
function after(reply: Awaited<ReturnType<typeof collectChat>>): ChatMessage[] {
  const { content, thinking, toolCalls, echo } = reply;
  return [
    { role: 'user', content: 'Look.' },
    { role: 'assistant', content, thinking, ...(toolCalls.length > 0 && { toolCalls }), echo },
    ...toolCalls.map(({ id, name }): ChatMessage => ({
      role: 'tool',
      content: 'seen',
      toolCallId: id,
      toolName: name,
    })),
  ];
}

const FIRST: ChatMessage[] = [{ role: 'user', content: 'Look.' }];

describe('the thoughts of a server', () => {
  it.each(['reasoning_content', 'reasoning'])('go back under %s, as they came', async (field) => {
    const pieces = [{ [field]: 'I must ' }, { [field]: 'look.' }];
    const { ask, answers } = await start({ pieces, toolCalls: [CALL] });
    await ask(after(await ask(FIRST)));
    expect(answers()[0]).toMatchObject({ [field]: 'I must look.' });
  });

  it('go back with calls, and an empty one stands in for the others where a server refuses to do without', async () => {
    const rules = [thoughtsOfCalls, thoughtsOfAll];
    const { ask, answers } = await start({ pieces: [{ reasoning_content: 'Hm.' }], text: 'Hello.' }, rules);
    const first = await ask(FIRST);
    await ask([...after(first), { role: 'user', content: 'More.' }]);
    expect(answers()).toEqual([{ role: 'assistant', content: 'Hello.', reasoning_content: '' }]);
  });

  it('are asked for once by a server that no answer of the history is from, and it gets empty ones', async () => {
    const { server, ask } = await start({ text: 'Hello.' }, [thoughtsOfAll]);
    const history: ChatMessage[] = [...FIRST, { role: 'assistant', content: 'Yes?' }, ...FIRST];
    expect(await ask(history)).toMatchObject({ content: 'Hello.' });
    expect(await ask(history)).toMatchObject({ content: 'Hello.' });
    expect(server.refused).toHaveLength(1);
  });

  it('go to no other server, and to no other model', async () => {
    const deepseek = await start({
      pieces: [{ reasoning_content: 'Hm.', reasoning_details: [{ type: 'reasoning.text', text: 'Hm.' }] }],
      toolCalls: [{ ...CALL, extra: { extra_content: { google: { thought_signature: 'abc' } } } }],
    });
    const history = after(await deepseek.ask(FIRST)).map((message) =>
      message.role === 'assistant'
        ? { ...message, echo: { ...message.echo, from: 'remote/other' } }
        : message,
    );
    const groq = await start({ text: 'Seen.' }, [noThoughts]);
    expect(await groq.ask(history)).toMatchObject({ content: 'Seen.' });
    expect(Object.keys(groq.answers()[0] ?? {})).toEqual(['role', 'content', 'tool_calls']);
    expect(JSON.stringify(groq.answers())).not.toContain('extra_content');
  });

  it('of an earlier turn are left to the template of a local engine, which drops them', async () => {
    const { ask, answers } = await start({ pieces: [{ reasoning: 'Hm.' }], toolCalls: [CALL] }, [], 'vllm');
    const reply = await ask(FIRST);
    expect(reply.echo).toEqual({ from: 'remote/fake' });
    await ask(after(reply));
    expect(answers()[0]).toMatchObject({ reasoning: 'Hm.' });
  });

  it('are left out with `echo: false`, with everything else that came', async () => {
    const extra = { extra_content: { google: { thought_signature: 'abc' } } };
    const pieces = [{ reasoning_content: 'Hm.', ...extra }];
    const { ask, answers } = await start({ pieces, toolCalls: [{ ...CALL, extra }] });
    await ask(after(await ask(FIRST)), { echo: false });
    expect(JSON.stringify(answers())).not.toMatch(/reasoning_content|extra_content/);
  });
});

describe('the opaque fields of a server', () => {
  it('are the signatures of Gemini, with the call that has one and with a text', async () => {
    const signed = (signature: string) => ({ extra_content: { google: { thought_signature: signature } } });
    const { ask, answers } = await start({
      pieces: [signed('of the text')],
      text: 'Wait.',
      toolCalls: [{ ...CALL, extra: signed('of the call') }, CALL],
    });
    await ask(after(await ask(FIRST)));
    expect(answers()[0]).toMatchObject({
      ...signed('of the text'),
      tool_calls: [{ ...signed('of the call') }, { function: { name: 'look' } }],
    });
    expect(answers()[0]).not.toHaveProperty('tool_calls.1.extra_content');
  });

  it('are stood in for where a call is not of the model: by a signature that Gemini does not check', async () => {
    const signed = { extra_content: { google: { thought_signature: 'own' } } };
    const { server, ask, answers } = await start({ text: 'Seen.' }, [signatures]);
    const call = { id: 'abcdefgh1', name: 'look', args: {} };
    const unsigned: ChatMessage[] = [
      ...FIRST,
      { role: 'assistant', content: '', toolCalls: [call, { ...call, id: 'abcdefgh2' }] },
    ];
    expect(await ask(unsigned)).toMatchObject({ content: 'Seen.' });
    expect(server.refused).toHaveLength(1);
    const skip = { google: { thought_signature: 'skip_thought_signature_validator' } };
    expect(answers()[0]).toHaveProperty('tool_calls.0.extra_content', skip);
    expect(answers()[0]).not.toHaveProperty('tool_calls.1.extra_content');
    // A model that has signed a call before is not asked without.
    const other = await start({ text: 'Seen.', toolCalls: [{ ...CALL, extra: signed }] }, [signatures]);
    await other.ask([...after(await other.ask(FIRST)), ...unsigned]);
    expect(other.server.refused).toEqual([]);
  });

  it('are the details of OpenRouter: pieces of a text are joined, blocks keep their order', async () => {
    const text = { type: 'reasoning.text', format: 'anthropic-claude-v1', index: 0 };
    const hidden = { type: 'reasoning.encrypted', data: 'e30=', id: 'call_1', index: 1 };
    const { ask, answers } = await start({
      pieces: [
        { reasoning: 'I ', reasoning_details: [{ ...text, text: 'I ', signature: null }] },
        { reasoning: 'look.', reasoning_details: [{ ...text, text: 'look.' }] },
        { reasoning_details: [{ ...text, signature: 'sig' }] },
        { reasoning_details: [hidden, { ...hidden, index: 2 }] },
        { reasoning_details: [{ ...text, index: 3, text: 'Then' }] },
      ],
      toolCalls: [CALL],
    });
    const reply = await ask(FIRST);
    await ask(after(reply));
    expect(answers()[0]?.['reasoning_details']).toEqual([
      { ...text, text: 'I look.', signature: 'sig' },
      hidden,
      { ...hidden, index: 2 },
      { ...text, index: 3, text: 'Then' },
    ]);
    // They name calls by their ids.
    expect(answers()[0]).toHaveProperty('tool_calls.0.id', reply.toolCalls[0]?.id);
  });

  it('have a limit, above which the answer is refused', async () => {
    const detail = (chars: number) => ({
      reasoning_details: [{ type: 'reasoning.encrypted', data: 'x'.repeat(chars) }],
    });
    const around = Buffer.byteLength(JSON.stringify([null, detail(0).reasoning_details]));
    const within = await start({ pieces: [detail(MAX_ECHO_BYTES - around)], text: 'a' });
    expect(await within.ask(FIRST)).toMatchObject({ content: 'a' });
    const over = await start({ pieces: [detail(MAX_ECHO_BYTES - around + 1)], text: 'a' });
    await expect(over.ask(FIRST)).rejects.toMatchObject({ code: 'bad_response' });
  });
});
