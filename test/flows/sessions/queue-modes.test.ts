/** Messages that arrive during an answer, through a whole gateway: joined, interrupting, collected, by the mode. */
import { expect, it, vi } from 'vitest';
import type { ChatBody } from '../../fakes/ollama/ollama.ts';
import { describeGateway, FRIENDS, WAIT } from '../setup.ts';
import { withoutNotes } from '../../fakes/model/spoken-text.ts';

const people = FRIENDS.values();
const STORY = Array.from({ length: 400 }, (_, n) => `word${n}`).join(' ');

/** What the user has said since the assistant's last message. */
function lastTexts({ messages }: ChatBody): string[] {
  const last = messages.findLastIndex(({ role }) => role === 'assistant');
  return messages
    .slice(last + 1)
    .flatMap(({ role, content }) => (role === 'user' ? [withoutNotes(content)] : []));
}

describeGateway('Queue modes', { telegram: true, discord: true }, (fixture) => {
  /** A new user with an existing conversation, whose chat is in this mode. */
  const someone = async (mode: string): Promise<string> => {
    const chat = people.next().value ?? '';
    fixture().ollama.answer({ text: `Hello ${chat}` }, { when: `hi ${chat}` });
    fixture().telegram.says(chat, `hi ${chat}`, chat);
    await vi.waitFor(() => expect(screen(chat)).toEqual([`Hello ${chat}`]), WAIT);
    fixture().telegram.says(chat, `/queue ${mode}`, chat);
    await vi.waitFor(() => expect(screen(chat)[1]).toContain(`(${mode})`), WAIT);
    return chat;
  };
  const screen = (chat: string): string[] => fixture().telegram.screen(chat);
  const turns = (chat: string): Promise<{ reason: string }[]> =>
    fixture().sql<{ reason: string }[]>`
      select coalesce(reason, state) as reason from turn where session = ${`telegram:${chat}`} order by lane_seq`;

  it.concurrent('shows and sets the mode, by command and over HTTP, and lists all modes for an unknown one', async () => {
    const chat = await someone('steer');
    fixture().telegram.says(chat, '/queue', chat);
    await vi.waitFor(
      () => expect(screen(chat).at(-1)).toMatch(/steer\.[\s\S]*▶ steer[\s\S]*· collect/),
      WAIT,
    );
    fixture().telegram.says(chat, '/queue sideways', chat);
    await vi.waitFor(() => expect(screen(chat).at(-1)).toContain('queue, steer, interrupt, collect'), WAIT);
    const route = `/v1/sessions/telegram:${chat}`;
    const changed = await fixture().call(route, { method: 'PATCH', json: { queueMode: 'collect' } });
    expect([changed.status, await changed.json()]).toMatchObject([200, { queueMode: 'collect' }]);
    expect(await (await fixture().call(route)).json()).toMatchObject({ queueMode: 'collect' });
    const wrong = await fixture().call(route, { method: 'PATCH', json: { queueMode: 'sideways' } });
    expect([wrong.status, await wrong.json()]).toMatchObject([400, { error: { param: 'queueMode' } }]);
  });

  it.concurrent('takes a message that arrives in the meantime into the running turn at its next iteration (steer)', async () => {
    const chat = await someone('steer');
    const look = { toolCalls: [{ name: 'list_dir', args: { path: '.' } }], hold: true };
    fixture().ollama.answer(look, { when: `go ${chat}` });
    fixture().telegram.says(chat, `go ${chat}`, chat);
    const call = await fixture().modelCall(`go ${chat}`);
    fixture().ollama.answer({ text: 'Both of it.' }, { when: `also ${chat}` });
    fixture().telegram.says(chat, `also ${chat}`, chat);
    await vi.waitFor(async () => expect(await turns(chat)).toHaveLength(3), WAIT);
    call.release();
    await vi.waitFor(() => expect(screen(chat).at(-1)).toBe('Both of it.'), WAIT);
    await fixture().idle(`telegram:${chat}`);
    expect((await turns(chat)).map(({ reason }) => reason)).toEqual(['completed', 'completed', 'joined']);
    const { body } = await fixture().modelCall(`also ${chat}`);
    expect(lastTexts(body)).toEqual([`also ${chat}`]);
    expect(screen(chat).filter((text) => text === 'Both of it.')).toHaveLength(1);
  });

  it.concurrent('ends the running answer for the next message, keeps its text, and answers (interrupt)', async () => {
    const chat = await someone('interrupt');
    fixture().ollama.answer({ text: STORY, perSecond: 25 }, { when: `story ${chat}` });
    fixture().telegram.says(chat, `story ${chat}`, chat);
    await vi.waitFor(() => expect(screen(chat).at(-1)).toContain('word4'), WAIT);
    const call = await fixture().modelCall(`story ${chat}`);
    fixture().ollama.answer({ text: 'Short then.' }, { when: `short ${chat}` });
    const asked = performance.now();
    fixture().telegram.says(chat, `short ${chat}`, chat);
    const { by, at } = await call.closed;
    expect(by).toBe('client');
    expect(at - asked).toBeLessThan(2_000);
    await vi.waitFor(() => expect(screen(chat).at(-1)).toBe('Short then.'), WAIT);
    await fixture().idle(`telegram:${chat}`);
    expect(screen(chat).at(-2)).toMatch(/^word0 word1[\s\S]*\(interrupted by your next message\)$/);
    expect((await turns(chat)).map(({ reason }) => reason).slice(1)).toEqual(['interrupted', 'completed']);
  });

  it.concurrent('joins messages that follow each other quickly into one, without holding a lane in the meantime (collect)', async () => {
    const chat = await someone('collect');
    const paste = Array.from({ length: 600 }, (_, n) => `line${n}`).join('\n');
    const pieces = [`read ${chat}\n${paste.slice(0, 1_900)}`, paste.slice(1_900, 3_800), paste.slice(3_800)];
    fixture().ollama.answer({ text: 'I have read it.' }, { when: `read ${chat}` });
    fixture().telegram.says(chat, pieces[0] ?? '', chat);
    await vi.waitFor(async () => {
      const [lane] = await fixture().sql<{ owner: string | null; late: boolean }[]>`
        select owner, wake_at > now() as late from lane where key = ${`in:telegram:${chat}`} and tail > head`;
      expect(lane).toEqual({ owner: null, late: true });
    }, WAIT);
    for (const piece of pieces.slice(1)) fixture().telegram.says(chat, piece, chat);
    await vi.waitFor(() => expect(screen(chat).at(-1)).toBe('I have read it.'), WAIT);
    await fixture().idle(`telegram:${chat}`);
    const { body } = await fixture().modelCall(`read ${chat}`);
    expect(lastTexts(body)).toEqual([pieces.join('\n')]);
    expect((await turns(chat)).map(({ reason }) => reason).slice(1)).toEqual([
      'completed',
      'joined',
      'joined',
    ]);
  });

  it.concurrent('ends the deferred reply of a command whose question was answered together with the previous one', async () => {
    const room = fixture().discord.platform.addChannel(0);
    await fixture().store.access.addGrant('discord', 'group', room.id);
    const ada = fixture().discord.person('Ada');
    const look = { toolCalls: [{ name: 'list_dir', args: { path: '.' } }], hold: true };
    fixture().ollama.answer(look, { when: 'first of two' });
    fixture().discord.slash(room, '/ask', { prompt: 'first of two' }, ada);
    const call = await fixture().modelCall('first of two');
    await fixture().call(`/v1/sessions/discord:${room.id}`, {
      method: 'PATCH',
      json: { queueMode: 'steer' },
    });
    fixture().ollama.answer({ text: 'One answer for both.' }, { when: 'second of two' });
    fixture().discord.slash(room, '/ask', { prompt: 'second of two' }, ada);
    await vi.waitFor(async () => {
      const queued = await fixture().sql`select from turn where session = ${`discord:${room.id}`}`;
      expect(queued).toHaveLength(2);
    }, WAIT);
    call.release();
    await vi.waitFor(() => {
      expect(fixture().discord.screen(room)).toEqual([
        'One answer for both.',
        '(answered together with the previous message)',
      ]);
    }, WAIT);
  });
});
