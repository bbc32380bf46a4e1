/** Titles of chats: generated once after the first answer, set by users, and never in the way of a turn. */
import { expect, it, vi } from 'vitest';
import { TITLE_REQUEST } from '../../../src/agent/after-turn/title-worker.ts';
import { describeGateway, FRIENDS, HALF, WAIT } from '../setup.ts';

const [ann = ''] = FRIENDS;

describeGateway('the title of a chat', { telegram: true }, (fixture) => {
  interface Listed {
    key: string;
    title: string | null;
  }
  const listed = async (key: string): Promise<Listed | undefined> => {
    const answer = await fixture().call('/v1/sessions?limit=200');
    const { sessions }: { sessions: Listed[] } = await answer.json();
    return sessions.find((session) => session.key === key);
  };
  const titled = (key: string, title: string): Promise<void> =>
    vi.waitFor(async () => expect((await listed(key))?.title).toBe(title), WAIT);
  const change = (key: string, title: string | null): Promise<Response> =>
    fixture().call(`/v1/sessions/${key}`, { method: 'PATCH', json: { title } });
  const titleCallsOn = (said: string): number =>
    fixture().ollama.titleCalls.filter(({ body }) => body.messages.some(({ content }) => content === said))
      .length;

  it('is generated once, by the model that answered, and sent to all who follow the chat', async () => {
    fixture().ollama.answer('**"Trains to Rome."**', { when: TITLE_REQUEST });
    // The answer ends, and gets its title, only once someone follows.
    fixture().ollama.answer(
      { text: 'By train. '.repeat(30), failure: HALF },
      { when: 'How do I get to Rome?' },
    );
    await fixture().post('rome', 'How do I get to Rome?');
    const events = await fixture().call('/v1/sessions/http:rome/events');
    (await fixture().modelCall('How do I get to Rome?')).release();
    const reader = events.body?.pipeThrough(new TextDecoderStream()).getReader();
    let seen = '';
    while (!seen.includes('session_titled')) {
      const { value = '', done = true } = (await reader?.read()) ?? {};
      if (done) break;
      seen += value;
    }
    await reader?.cancel();
    expect(seen).toContain('"title":"Trains to Rome"');
    expect((await listed('http:rome'))?.title).toBe('Trains to Rome');
    await fixture().post('rome', 'And back?');
    await fixture().idle('http:rome');
    expect(titleCallsOn('How do I get to Rome?')).toBe(1);
    const usage = await fixture()
      .sql`select model from usage where purpose = 'title' and session = 'http:rome'`;
    expect(usage).toHaveLength(1);
  });

  it('can be set and removed over HTTP; without one the next answer generates it', async () => {
    await fixture().post('tea', 'How is tea made?');
    await titled('http:tea', 'A short talk');
    expect(await (await change('http:tea', 'Tea')).json()).toMatchObject({ title: 'Tea' });
    await fixture().post('tea', 'And coffee?');
    await fixture().idle('http:tea');
    expect((await listed('http:tea'))?.title).toBe('Tea');
    expect(await (await change('http:tea', null)).json()).toMatchObject({ title: null });
    fixture().ollama.answer('Coffee', { when: TITLE_REQUEST });
    await fixture().post('tea', 'And cocoa?');
    await titled('http:tea', 'Coffee');
    const refused = await change('http:tea', 'x'.repeat(81));
    expect([refused.status, await refused.json()]).toMatchObject([
      400,
      { error: { code: 'bad_title', param: 'title', message: expect.stringContaining('81 characters') } },
    ]);
  });

  it('is the first words if the model gives none', async () => {
    fixture().ollama.answer('"…"', { when: TITLE_REQUEST });
    await fixture().post('words', 'What is the weather like in Oslo?');
    await titled('http:words', 'What is the weather like in Oslo?');
    expect(titleCallsOn('What is the weather like in Oslo?')).toBe(1);
  });

  it('yields to the next turn of its chat, which is answered immediately', async () => {
    fixture().ollama.answer({ text: 'late', hold: true }, { when: TITLE_REQUEST });
    await fixture().post('busy', 'first of the busy');
    const call = await vi.waitFor(() => {
      const found = fixture().ollama.titleCalls.find(({ body }) =>
        body.messages.some(({ content }) => content === 'first of the busy'),
      );
      if (found === undefined) throw new Error('no title is asked for yet');
      return found;
    }, WAIT);
    await fixture().post('busy', 'second of the busy');
    expect((await call.closed).by).toBe('client');
    await titled('http:busy', 'A short talk');
    expect((await fixture().messages('http:busy')).at(-1)?.content).toBe('echo: second of the busy');
  });

  it('is shown and set with /title', async () => {
    let seconds = Math.floor(Date.now() / 1_000);
    const replies = async (text: string): Promise<string> => {
      seconds += 60;
      const before = fixture().telegram.screen(ann).length;
      fixture().telegram.says(ann, text, ann, { fields: { date: seconds } });
      return await vi.waitFor(() => {
        const screen = fixture().telegram.screen(ann);
        if (screen.length <= before) throw new Error('no reply yet');
        return screen.slice(before).join('\n');
      }, WAIT);
    };
    expect(await replies('/title')).toContain('no title yet');
    expect(await replies('/title Ann and the bot')).toContain('now called: Ann and the bot');
    expect((await listed(`telegram:${ann}`))?.title).toBe('Ann and the bot');
    await replies('hello there');
    await fixture().idle(`telegram:${ann}`);
    expect(titleCallsOn('hello there')).toBe(0);
    expect(await replies('/title')).toContain('Ann and the bot');
  });
});
