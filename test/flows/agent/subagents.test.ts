/** Subagents through a whole gateway: seen live over HTTP, reported on Telegram, ended by /stop. */
import { expect, it, vi } from 'vitest';
import { eventsUntil } from '../../channels/http/client.ts';
import type { FakeToolCall } from '../../fakes/ollama/ollama.ts';
import { describeGateway, FRIENDS, WAIT } from '../setup.ts';
import { lastUserText } from '../../fakes/model/spoken-text.ts';

const people = FRIENDS.values();
const enabled = ['list_dir', 'spawn_agent'];
const file = { access: { telegram: { allow: FRIENDS } }, tools: { enabled } };

const spawn = (task: string, more: Record<string, unknown> = {}): FakeToolCall => ({
  name: 'spawn_agent',
  args: { task, ...more },
});

describeGateway('subagents', { telegram: true, file }, (fixture) => {
  const answers = (said: string, ...given: ({ text: string } | { toolCalls: FakeToolCall[] })[]): void => {
    for (const answer of given) fixture().ollama.answer(answer, { when: said });
  };

  const cardOf = (chat: string) =>
    fixture()
      .telegram.messages(chat)
      .find(({ text }) => text.startsWith('◆'));
  const cardsIn = (chat: string): string[] =>
    fixture()
      .telegram.screen(chat)
      .filter((text) => text.startsWith('◆'));

  it('are streamed over SSE while they work, tagged and separate from the text of the turn (N-56, N-57, B-46)', async () => {
    answers(
      'two please',
      { toolCalls: [spawn('first task'), spawn('second task')] },
      { text: 'Both are done.' },
    );
    for (const task of ['first task', 'second task']) {
      answers(task, { toolCalls: [{ name: 'list_dir', args: { path: '.' } }] });
      fixture().ollama.answer({ text: `${task} done`, hold: true }, { when: task });
    }
    await fixture().post('nested', 'hello');
    await fixture().idle('http:nested');
    const open = () => fixture().call('/v1/sessions/http:nested/events');
    const [early, whole] = await Promise.all([open(), open()]);
    const turn = await fixture().post('nested', 'two please');
    // Both are working and held: what is read now was not held back until they ended.
    await eventsUntil(early, (event) => event.type === 'tool_result' && event.isSubagent === true);
    await vi.waitFor(() => expect(fixture().ollama.active).toBe(2), WAIT);
    for (const call of fixture().ollama.calls) call.release();
    const { events } = await eventsUntil(
      whole,
      ({ type, turnId }) => type === 'turn_ended' && turnId === turn,
    );
    const spawned = events.filter((event) => event.type === 'subagent_spawned');
    expect(spawned.map(({ task }) => task).toSorted()).toEqual(['first task', 'second task']);
    for (const { agentId, task } of spawned) {
      const own = events.filter((event) => event.agentId === agentId);
      expect(own.every((event) => event.isSubagent === true && event.turnId === turn)).toBe(true);
      expect(own.at(-1)).toMatchObject({
        type: 'subagent_completed',
        result: `${task} done`,
        completedNormally: true,
      });
      const said = own.flatMap((event) => (event.type === 'stream_chunk' ? [event.delta] : []));
      expect(said.join('')).toBe(`${task} done`);
    }
    const main = events.filter((event) => event.isSubagent !== true && event.turnId === turn);
    expect(main.flatMap((event) => (event.type === 'stream_chunk' ? [event.delta] : [])).join('')).toBe(
      'Both are done.',
    );
    expect((await fixture().messages('http:nested')).at(-1)?.content).toBe('Both are done.');
  });

  it.concurrent('gives a completion only the text of its own turn', async () => {
    answers('ask somebody', { toolCalls: [spawn('quiet task')] }, { text: 'They said it.' });
    answers('quiet task', { text: 'words of the subagent' });
    const answer = await fixture().call('/v1/chat/completions', {
      json: { model: 'default', stream: true, messages: [{ role: 'user', content: 'ask somebody' }] },
      headers: { 'x-session-id': 'plain' },
    });
    const text = await answer.text();
    expect(text).toContain('They');
    expect(text).not.toContain('words of the subagent');
  });

  it.concurrent('in the background let the chat continue, and their result arrives as a separate message (B-31, B-34)', async () => {
    const chat = people.next().value ?? '';
    answers(
      `look it up ${chat}`,
      { toolCalls: [spawn(`task ${chat}`, { background: true })] },
      { text: 'I have it looked up.' },
    );
    fixture().ollama.answer({ text: 'the answer is 42', hold: true }, { when: `task ${chat}` });
    fixture().ollama.answer(
      { text: 'It is 42.' },
      { when: new RegExp(`Report of the subagent[^]*task ${chat}`) },
    );
    fixture().telegram.says(chat, `look it up ${chat}`, chat);
    await vi.waitFor(() => {
      expect(fixture().telegram.screen(chat)).toContain('I have it looked up.');
      expect(cardsIn(chat)).toEqual([
        expect.stringContaining(`◆ default is working in the background: task ${chat}`),
      ]);
    }, WAIT);
    fixture().telegram.says(chat, `meanwhile ${chat}`, chat);
    await vi.waitFor(
      () => expect(fixture().telegram.screen(chat)).toContain(`echo: meanwhile ${chat}`),
      WAIT,
    );
    (await fixture().modelCall(`task ${chat}`)).release();
    await vi.waitFor(() => expect(fixture().telegram.screen(chat).at(-1)).toBe('It is 42.'), WAIT);
    // The card is the head of the report, which replies to it.
    expect(cardsIn(chat)).toEqual([`◆ default has finished: task ${chat}`]);
    const [card, report] = [cardOf(chat), fixture().telegram.messages(chat).at(-1)];
    expect(card?.buttons).toEqual([]);
    expect(report?.replyTo).toBe(card?.id);
    const messages = await fixture().messages(`telegram:${chat}`);
    expect(messages.map(({ role }) => role)).toEqual([
      'user',
      'assistant',
      'user',
      'assistant',
      'system',
      'assistant',
    ]);
    expect(messages[4]?.content).toContain('the answer is 42');
  });

  it.concurrent('in the background are listed by /status and ended by /stop, which reports it, and write nothing afterwards', async () => {
    const chat = people.next().value ?? '';
    answers(
      `begin ${chat}`,
      { toolCalls: [spawn(`endless ${chat}`, { background: true })] },
      { text: 'Begun.' },
    );
    fixture().ollama.answer({ text: 'never', hold: true }, { when: `endless ${chat}` });
    fixture().telegram.says(chat, `begin ${chat}`, chat);
    await vi.waitFor(() => expect(fixture().telegram.screen(chat)).toContain('Begun.'), WAIT);
    const call = await fixture().modelCall(`endless ${chat}`);
    fixture().telegram.says(chat, '/status', chat);
    const line = `In the background, at most 60 min left: default: endless ${chat}`;
    await vi.waitFor(() => expect(fixture().telegram.screen(chat).at(-1)).toContain(line), WAIT);
    fixture().telegram.says(chat, '/stop', chat);
    await vi.waitFor(() => expect(fixture().telegram.screen(chat)).toContain('Stopped subagents: 1.'), WAIT);
    fixture().telegram.says(chat, '/status', chat);
    await vi.waitFor(() => expect(fixture().telegram.screen(chat).at(-1)).toMatch(/^Idle/), WAIT);
    expect(fixture().telegram.screen(chat).at(-1)).not.toContain('In the background');
    expect((await call.closed).by).toBe('client');
    await fixture().idle(`telegram:${chat}`);
    await vi.waitFor(() => expect(cardsIn(chat)).toEqual([`◆ default was stopped: endless ${chat}`]), WAIT);
    expect((await fixture().messages(`telegram:${chat}`)).map(({ role }) => role)).toEqual([
      'user',
      'assistant',
    ]);
  });

  it('in the background show their step, tool and last line in one card, whose button stops only them', async () => {
    const chat = people.next().value ?? '';
    const { ollama, telegram } = fixture();
    answers(
      `two at once ${chat}`,
      {
        toolCalls: [
          spawn(`first ${chat}`, { background: true }),
          spawn(`second ${chat}`, { background: true }),
        ],
      },
      { text: 'Both begun.' },
    );
    ollama.answer(
      { text: 'I list *all* files.', toolCalls: [{ name: 'list_dir', args: { path: '.' } }] },
      { when: `first ${chat}` },
    );
    ollama.answer({ text: 'never', hold: true }, { when: `first ${chat}` });
    ollama.answer({ text: 'never', hold: true }, { when: `second ${chat}` });
    telegram.says(chat, `two at once ${chat}`, chat);
    await vi.waitFor(() => {
      expect(cardsIn(chat).join()).toContain(`background: first ${chat}\nstep 2\nI list *all* files.`);
    }, WAIT);
    const [first] = telegram.messages(chat).filter(({ text }) => text.includes(`first ${chat}`));
    const stop = first?.buttons[0]?.data ?? '';
    const press = telegram.presses(chat, chat, stop, first);
    await vi.waitFor(() => expect(telegram.pressed.answers.get(press)).toBe('It is being stopped.'), WAIT);
    await vi.waitFor(() => {
      expect(cardsIn(chat).toSorted()).toEqual([
        expect.stringContaining(`second ${chat}`),
        `◆ default was stopped: first ${chat}`,
      ]);
    }, WAIT);
    const again = telegram.presses(chat, chat, stop, first);
    await vi.waitFor(() => expect(telegram.pressed.answers.get(again)).toBe('It has already ended.'), WAIT);
    telegram.says(chat, '/stop', chat);
    await vi.waitFor(() => expect(cardsIn(chat).join()).not.toContain('working'), WAIT);
  });

  it('in the background keep their one card over a restart, and end it', async () => {
    const chat = people.next().value ?? '';
    const { ollama } = fixture();
    answers(
      `over night ${chat}`,
      { toolCalls: [spawn(`slow ${chat}`, { background: true })] },
      { text: 'Begun.' },
    );
    ollama.answer({ text: 'lost with the process', hold: true }, { when: `slow ${chat}` });
    ollama.answer({ text: 'finished after all' }, { when: `slow ${chat}` });
    ollama.answer({ text: 'Told.' }, { when: new RegExp(`Report of the subagent[^]*slow ${chat}`) });
    fixture().telegram.says(chat, `over night ${chat}`, chat);
    await vi.waitFor(() => expect(cardsIn(chat).join()).toContain('working'), WAIT);
    await fixture().modelCall(`slow ${chat}`);
    await fixture().restart();
    await vi.waitFor(() => expect(fixture().telegram.screen(chat).at(-1)).toBe('Told.'), WAIT);
    expect(cardsIn(chat)).toEqual([`◆ default has finished: slow ${chat}`]);
  });

  it('continue in the background after a restart of the gateway', async () => {
    answers(
      'over the restart',
      { toolCalls: [spawn('long task', { background: true })] },
      { text: 'Begun.' },
    );
    answers('long task', { toolCalls: [{ name: 'list_dir', args: { path: '.' } }] });
    fixture().ollama.answer({ text: 'lost with the process', hold: true }, { when: 'long task' });
    fixture().ollama.answer({ text: 'finished after all' }, { when: 'long task' });
    fixture().ollama.answer({ text: 'Told.' }, { when: /Report of the subagent[^]*long task/ });
    await fixture().post('restarted', 'over the restart');
    await vi.waitFor(() => {
      const calls = fixture().ollama.calls.filter(({ body }) => lastUserText(body) === 'long task');
      expect(calls).toHaveLength(2);
    }, WAIT);
    await fixture().restart();
    await vi.waitFor(async () => {
      const messages = await fixture().messages('http:restarted');
      expect(messages.at(-1)?.content).toBe('Told.');
      expect(messages.at(-2)?.content).toContain('finished after all');
    }, WAIT);
  });
});
