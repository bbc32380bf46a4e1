/** A person talks with the gateway from their editor: streams, stops, approves, and goes on after anything was killed. */
import { expect, it, vi } from 'vitest';
import { riskyTools } from '../../fakes/agent/risky-tools.ts';
import { freePort } from '../../fakes/network/free-port.ts';
import { telegramProcess } from '../telegram-process.ts';
import { describeGateway, HALF, OWNER, WAIT } from '../setup.ts';
import { type Editor, openEditor, select } from './editors.ts';

const STORY = Array.from({ length: 60 }, (_, n) => `word${n}`).join(' ');
const ran: string[] = [];
const SETTINGS = { tools: riskyTools(ran), file: { tools: { enabled: ['wipe', 'plan'] } } };
/** Processes that start and are killed take their time on a busy machine. */
const LONG = { timeout: 60_000, interval: 20 };

describeGateway('an editor', SETTINGS, (fixture) => {
  const editor = (...rest: [decide?: Parameters<typeof openEditor>[1]]): Promise<Editor> =>
    openEditor({ URL: fixture().gateway.url, PARLEY_TOKEN: OWNER }, ...rest);

  it('shows the answer and the thinking while they grow', async () => {
    const { begin, prompt, text } = await editor();
    const session = await begin();
    fixture().ollama.answer({ text: STORY, failure: HALF }, { when: 'a story please' });
    const reason = prompt(session, 'a story please');
    await fixture().releaseOnce('a story please', () => text(session).includes('word29'));
    expect(text(session)).not.toContain('word59');
    expect(await reason).toBe('end_turn');
    expect(text(session)).toBe(STORY);
    fixture().ollama.answer({ thinking: 'hm, another', text: 'Once more.' }, { when: 'and another' });
    expect(await prompt(session, 'and another')).toBe('end_turn');
    expect(text(session)).toBe('Once more.');
    expect(text(session, 'agent_thought_chunk')).toBe('hm, another');
    expect(text(session, 'user_message_chunk')).toBe('');
  });

  it('stops an answer', async () => {
    const { agent, begin, prompt, text } = await editor();
    const session = await begin();
    fixture().ollama.answer({ text: STORY, failure: HALF }, { when: 'never mind' });
    const reason = prompt(session, 'never mind');
    await vi.waitFor(() => expect(text(session)).toContain('word'), WAIT);
    await agent.notify('session/cancel', { sessionId: session });
    expect(await reason).toBe('cancelled');
  });

  it('asks its person before a dangerous call, and another editor asks again when the first has gone', async () => {
    ran.length = 0;
    const first = await editor();
    const session = await first.begin();
    fixture().ollama.answer(
      { toolCalls: [{ name: 'wipe', args: { word: 'disk' } }] },
      { when: 'wipe the disk' },
    );
    const lost = first.prompt(session, 'wipe the disk').catch(() => 'gone');
    await vi.waitFor(() => expect(first.asked).toHaveLength(1), WAIT);
    expect(first.asked[0]?.toolCall).toMatchObject({ title: 'wipe', rawInput: { word: 'disk' } });
    await first.kill();
    expect(await lost).toBe('gone');
    const second = await editor(() => Promise.resolve(select('approve')));
    await second.load(session);
    await vi.waitFor(() => expect(ran).toHaveLength(1), WAIT);
    await vi.waitFor(() => expect(second.text(session)).toBe('echo: wipe the disk'), WAIT);
    expect(second.text(session, 'user_message_chunk')).toBe('wipe the disk');
    expect(second.updates(session)).toContainEqual(
      expect.objectContaining({ sessionUpdate: 'tool_call_update', status: 'completed' }),
    );
  });

  it('denies a call, and does not run it', async () => {
    ran.length = 0;
    const { begin, prompt, asked } = await editor(() => Promise.resolve(select('deny')));
    const session = await begin();
    fixture().ollama.answer(
      { toolCalls: [{ name: 'wipe', args: { word: 'tape' } }] },
      { when: 'wipe the tape' },
    );
    expect(await prompt(session, 'wipe the tape')).toBe('end_turn');
    expect(asked).toHaveLength(1);
    expect(ran).toEqual([]);
  });

  it('lists its sessions, runs commands, and is told what is wrong with a token or a session', async () => {
    const { agent, begin, prompt, text, load } = await editor();
    const session = await begin();
    await prompt(session, 'the word marzipan');
    const { sessions } = await agent.request('session/list', {});
    expect(sessions.map(({ sessionId }) => sessionId)).toContain(session);
    expect(await prompt(session, '/help')).toBe('end_turn');
    expect(text(session)).toContain('/new');
    await expect(load('http:never-made')).rejects.toMatchObject({ data: { code: 'session_not_found' } });
    const stranger = await openEditor({ URL: fixture().gateway.url, PARLEY_TOKEN: 'not-a-token' });
    await expect(stranger.begin()).rejects.toMatchObject({ code: -32_000 });
  });
});

it('goes on when the gateway was killed in the middle of an answer, which then is exact', async () => {
  const port = await freePort();
  const { ollama, start, killAndStart } = await telegramProcess({ environment: { PORT: String(port) } });
  await start();
  const { begin, prompt, text } = await openEditor({ URL: `http://127.0.0.1:${port}`, PARLEY_TOKEN: OWNER });
  const session = await begin();
  ollama.answer({ text: STORY, failure: HALF }, { when: 'a long story' });
  const reason = prompt(session, 'a long story');
  await vi.waitFor(() => expect(text(session)).toContain('word29'), LONG);
  ollama.answer({ text: STORY }, { when: 'a long story' });
  await killAndStart();
  expect(await reason).toBe('end_turn');
  expect(text(session)).toBe(STORY);
  expect(await prompt(session, 'thanks')).toBe('end_turn');
  expect(text(session)).toBe('echo: thanks');
}, 180_000);
