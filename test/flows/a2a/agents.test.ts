/** Another agent uses the bot: finds its card, talks, watches, stops, approves, and goes on after the gateway was killed. */
import { type Task, TaskState } from '@a2a-js/sdk';
import { expect, it, vi } from 'vitest';
import type { Scope } from '../../../src/protocol/access.ts';
import { riskyTools } from '../../fakes/agent/risky-tools.ts';
import { freePort } from '../../fakes/network/free-port.ts';
import { telegramProcess } from '../telegram-process.ts';
import { describeGateway, HALF, OWNER, WAIT } from '../setup.ts';
import { answerOf, connectAgent, say, Shown } from './agents.ts';

const STORY = Array.from({ length: 60 }, (_, n) => `word${n}`).join(' ');
const ON = { channels: { http: { a2a: { enabled: true, name: 'Bot of the house' } } } };
const ran: string[] = [];
const SETTINGS = { tools: riskyTools(ran), file: { ...ON, tools: { enabled: ['wipe', 'plan'] } } };
const LONG = { timeout: 60_000, interval: 20 };

describeGateway('another agent', SETTINGS, (fixture) => {
  const agent = (token?: string) => connectAgent(fixture().gateway.url, token);
  const tokenWith = async (...scopes: Scope[]): Promise<string> => {
    const json = { name: `agent ${scopes.join(' ')}`, scopes };
    return (await (await fixture().call('/v1/tokens', { json })).json()).secret;
  };
  const sent = async (...message: Parameters<typeof say>): Promise<Task> => {
    const result = await (await agent()).sendMessage(say(...message));
    if (!('status' in result)) throw new TypeError('a message came instead of a task');
    return result;
  };

  it('finds the card without a token, and gets an answer in a context that it continues', async () => {
    const client = await agent();
    const card = await client.getAgentCard();
    expect(card).toMatchObject({ name: 'Bot of the house', capabilities: { streaming: true } });
    const first = await sent('good morning');
    expect(first.status?.state).toBe(TaskState.TASK_STATE_COMPLETED);
    expect(answerOf(first)).toBe('echo: good morning');
    const second = await sent('and again', { contextId: first.contextId });
    expect(second.contextId).toBe(first.contextId);
    expect(await fixture().messages(`http:${first.contextId}`)).toHaveLength(4);
    const stored = await client.getTask({ tenant: '', id: first.id });
    expect([stored.id, answerOf(stored)]).toEqual([first.id, 'echo: good morning']);
  });

  it('sends a message once, however often it repeats it', async () => {
    const message = { messageId: 'order-7', contextId: 'orders' };
    const [one, two] = [await sent('a cake please', message), await sent('a cake please', message)];
    expect(two.id).toBe(one.id);
    expect(await fixture().messages('http:orders')).toHaveLength(2);
    const alone = { messageId: 'order-8' };
    const [three, four] = [await sent('a tart please', alone), await sent('a tart please', alone)];
    expect([four.id, four.contextId]).toEqual([three.id, three.contextId]);
  });

  it('watches an answer grow, also from a second stream, and is told that a task has ended', async () => {
    const client = await agent();
    const [shown, other] = [new Shown(), new Shown()];
    fixture().ollama.answer({ text: STORY, failure: HALF }, { when: 'a story please' });
    const reading = shown.read(client.sendMessageStream(say('a story please')));
    await vi.waitFor(() => expect(shown.text).toContain('word29'), WAIT);
    const id = shown.task?.id ?? '';
    const also = other.read(client.resubscribeTask({ tenant: '', id }));
    await vi.waitFor(() => expect(other.task?.id).toBe(id), WAIT);
    await fixture().releaseOnce('a story please', () => true);
    await Promise.all([reading, also]);
    expect([shown.text, other.text]).toEqual([STORY, STORY]);
    expect(shown.states.at(-1)).toBe(TaskState.TASK_STATE_COMPLETED);
    const late = new Shown().read(client.resubscribeTask({ tenant: '', id }));
    await expect(late).rejects.toThrow('This task has ended');
  });

  it('cancels a task, once', async () => {
    const client = await agent();
    const shown = new Shown();
    fixture().ollama.answer({ text: STORY, failure: HALF }, { when: 'never mind' });
    const reading = shown.read(client.sendMessageStream(say('never mind')));
    await vi.waitFor(() => expect(shown.text).toContain('word'), WAIT);
    const canceled = await client.cancelTask({ tenant: '', id: shown.task?.id ?? '', metadata: undefined });
    expect(canceled.status?.state).toBe(TaskState.TASK_STATE_CANCELED);
    await reading;
    expect(shown.states.at(-1)).toBe(TaskState.TASK_STATE_CANCELED);
    const again = client.cancelTask({ tenant: '', id: canceled.id, metadata: undefined });
    await expect(again).rejects.toThrow('This task has ended');
  });

  it('is asked about a dangerous call, which runs only after exactly the word for it', async () => {
    ran.length = 0;
    fixture().ollama.answer(
      { toolCalls: [{ name: 'wipe', args: { word: 'disk' } }] },
      { when: 'wipe the disk' },
    );
    const waiting = await sent('wipe the disk');
    expect(waiting.status?.state).toBe(TaskState.TASK_STATE_INPUT_REQUIRED);
    expect(JSON.stringify(waiting.status?.message?.parts)).toContain('wipes a disk');
    const { id: taskId } = waiting;
    await expect(sent('I would approve it if I were you', { taskId })).rejects.toThrow('single word');
    const chatOnly = await agent(await tokenWith('chat'));
    await expect(chatOnly.sendMessage(say('approve', { taskId }))).rejects.toThrow('scope "approve"');
    const stranger = await agent(await tokenWith('chat', 'approve'));
    await expect(stranger.sendMessage(say('approve', { taskId }))).rejects.toThrow('There is no task');
    expect(ran).toEqual([]);
    const done = await sent('Approve', { taskId });
    expect([done.id, done.status?.state]).toEqual([taskId, TaskState.TASK_STATE_COMPLETED]);
    expect(ran).toEqual(['wipe disk']);
    await expect(sent('approve', { taskId })).rejects.toThrow('waits for nothing');
  });

  it('is refused what the bot does not take, with the codes of the protocol', async () => {
    const call = async (method: string, params: object, headers: Record<string, string> = {}) => {
      const json = { jsonrpc: '2.0', id: 1, method, params };
      return (await (await fixture().call('/a2a', { json, headers })).json()).error?.code;
    };
    const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'hi' }] };
    expect([
      await call('ListTasks', {}),
      await call('GetTask', { id: 'none' }),
      await call('SendMessage', { message: { ...message, parts: [{ raw: 'AAAA' }] } }),
      await call('SendMessage', { message: { ...message, contextId: 'no/such context' } }),
      await call('SendMessage', {}),
      await call('GetTask', { id: 'none' }, { 'a2a-version': '0.3' }),
    ]).toEqual([-32_601, -32_001, -32_005, -32_602, -32_602, -32_009]);
    expect((await fixture().call('/a2a', { json: {}, token: 'wrong' })).status).toBe(401);
  });
});

describeGateway('a gateway that is not announced', {}, (fixture) => {
  it('has neither a card nor a door for other agents', async () => {
    expect((await fetch(new URL('/.well-known/agent-card.json', fixture().gateway.url))).status).toBe(404);
    const json = { jsonrpc: '2.0', id: 1, method: 'GetTask', params: { id: 'none' } };
    expect((await fixture().call('/a2a', { json })).status).toBe(404);
  });
});

it('finds its task again after the gateway was killed in the middle, with the exact answer', async () => {
  const port = await freePort();
  const environment = { PORT: String(port) };
  const { ollama, start, killAndStart } = await telegramProcess({ environment, config: ON });
  await start();
  const client = await connectAgent(`http://127.0.0.1:${port}`, OWNER);
  const shown = new Shown();
  ollama.answer({ text: STORY, failure: HALF }, { when: 'a long story' });
  const lost = shown.read(client.sendMessageStream(say('a long story'))).catch(() => 'lost');
  await vi.waitFor(() => expect(shown.text).toContain('word29'), LONG);
  ollama.answer({ text: STORY }, { when: 'a long story' });
  await killAndStart();
  await lost;
  const id = shown.task?.id ?? '';
  await vi.waitFor(async () => {
    const task = await client.getTask({ tenant: '', id });
    expect([task.status?.state, answerOf(task)]).toEqual([TaskState.TASK_STATE_COMPLETED, STORY]);
  }, LONG);
}, 180_000);
