/** The gateway as an MCP server: what a program reads and does through it, and what it is refused. */
import { Client } from '@modelcontextprotocol/client';
import { expect, it, vi } from 'vitest';
import type { Scope } from '../../../src/protocol/access.ts';
import { riskyTools } from '../../fakes/agent/risky-tools.ts';
import { describeGateway, FRIENDS, HALF, OWNER, WAIT } from '../setup.ts';
import { connectProgram, KINDS, type Program } from './programs.ts';

const [HUMAN = '', FRIEND = '', SHY = '', LINKED = ''] = FRIENDS;
const STORY = Array.from({ length: 60 }, (_, n) => `word${n}`).join(' ');
const ran: string[] = [];
const SETTINGS = {
  telegram: true,
  tools: riskyTools(ran),
  file: {
    access: { telegram: { allow: FRIENDS }, owners: { telegram: [HUMAN] } },
    tools: { enabled: ['wipe', 'plan'] },
  },
};

describeGateway('a program with a token', SETTINGS, (fixture) => {
  const program = (token?: string): Promise<Program> => connectProgram(fixture().gateway.url, token);
  const tokenWith = async (...scopes: Scope[]): Promise<string> => {
    const json = { name: `coder ${scopes.join(' ')}`, scopes };
    const { secret } = await (await fixture().call('/v1/tokens', { json })).json();
    return secret;
  };
  const screen = (chat: string): string => fixture().telegram.screen(chat).join('\n');
  const seen = (chat: string, text: string): Promise<void> =>
    vi.waitFor(() => expect(screen(chat)).toContain(text), WAIT);
  const greets = async (chat: string): Promise<void> => {
    fixture().telegram.says(chat, `hello ${chat}`, chat);
    await seen(chat, `echo: hello ${chat}`);
  };
  const replies = (chat: string, question: string, text: string): void => {
    const asked = fixture()
      .telegram.messages(chat)
      .findLast((message) => message.text.includes(question));
    fixture().telegram.says(chat, text, chat, { replyTo: asked?.id });
  };

  it.each(KINDS)(
    'reads, talks and is refused what is not there, whatever protocol it speaks (%s)',
    async (kind) => {
      const { call, client } = await connectProgram(fixture().gateway.url, OWNER, kind);
      const { tools } = await client.listTools();
      expect(tools.map(({ name }) => name)).toContain('ask_person');
      expect(client.getInstructions()).toContain('ask_person');
      const session = `http:kind-${KINDS.indexOf(kind)}`;
      const said = await call(
        'send_message',
        { session, content: 'good morning' },
        { progress: () => undefined },
      );
      expect(said).toMatchObject({ text: 'echo: good morning', fields: { state: 'answered' } });
      const read = await client.readResource({ uri: `parley://sessions/${session}/messages` });
      expect(JSON.stringify(read.contents)).toContain('good morning');
      await expect(client.readResource({ uri: 'parley://nothing' })).rejects.toMatchObject({ code: -32_602 });
      await expect(call('no_such_tool')).rejects.toMatchObject({ code: -32_602 });
    },
  );

  it('is told at once that there are no changes to listen to', async () => {
    const { client } = await program();
    if (!(client instanceof Client)) throw new TypeError('an older client listens to nothing');
    const subscription = await client.listen({ toolsListChanged: true });
    expect(subscription.honoredFilter).toEqual({});
    expect(await subscription.closed).toBe('graceful');
  });

  it('talks with the bot, and is shown the answer while it grows', async () => {
    const { call } = await program();
    const lines: string[] = [];
    fixture().ollama.answer({ text: STORY, failure: HALF }, { when: 'tell me a story' });
    const answer = call(
      'send_message',
      { session: 'http:story', content: 'tell me a story', key: 's1' },
      { progress: (line) => lines.push(line) },
    );
    await fixture().releaseOnce('tell me a story', () => lines.length > 0);
    const { text, fields } = await answer;
    expect(text).toBe(STORY);
    expect(lines[0]).toContain('word29');
    expect(fields).toMatchObject({ state: 'answered', reason: 'completed', key: 's1' });
    const again = await call('send_message', {
      session: 'http:story',
      content: 'tell me a story',
      key: 's1',
    });
    expect(again).toEqual({ text, fields, isError: false });
    const messages = JSON.parse((await call('read_messages', { session: 'http:story' })).text);
    expect(messages.messages.map(({ role }: { role: string }) => role)).toEqual(['user', 'assistant']);
  });

  it('lists, searches and stops sessions, and reads them as resources', async () => {
    const { call, client } = await program();
    await call('send_message', { session: 'http:lists', content: 'the word marzipan' });
    expect((await call('list_sessions', { limit: 5 })).text).toContain('"key":"http:lists"');
    expect((await call('search_sessions', { words: 'marzipan' })).text).toContain('http:lists');
    expect(JSON.parse((await call('stop_session', { session: 'http:lists' })).text)).toMatchObject({
      stopped: false,
    });
    const { resources } = await client.listResources();
    expect(resources.map(({ uri }) => uri)).toContain('parley://sessions/http:lists/messages');
    const read = await client.readResource({ uri: 'parley://sessions/http:lists/messages' });
    expect(JSON.stringify(read.contents)).toContain('marzipan');
    const { resourceTemplates } = await client.listResourceTemplates();
    expect(resourceTemplates.map(({ uriTemplate }) => uriTemplate)).toContain('parley://plans/{plan}');
  });

  it('adds a schedule once, lists and removes it', async () => {
    const { call } = await program();
    await call('send_message', { session: 'http:plans', content: 'hi' });
    const schedule = { session: 'http:plans', task: 'water the plants', inMinutes: 500, key: 'water' };
    const { id } = JSON.parse((await call('add_schedule', schedule)).text);
    expect(JSON.parse((await call('add_schedule', schedule)).text).id).toBe(id);
    expect((await call('list_schedules')).text).toContain('water the plants');
    expect((await call('remove_schedule', { schedule: id })).isError).toBe(false);
    expect((await call('list_schedules')).text).not.toContain('water the plants');
  });

  it('searches what is remembered about its person', async () => {
    const { call } = await program();
    const [token] = await fixture().store.access.tokens();
    const user = `token:${token?.tokenId}` as const;
    const fact = (text: string) => ({ key: `t/${text}`, text, session: 'http:x' as const, untrusted: false });
    await fixture().store.memories.remember(user, fact('Prefers tea over coffee'));
    await fixture().store.memories.remember(user, fact('Lives in Kiel'));
    const found = JSON.parse((await call('search_memories', { words: 'tea' })).text);
    expect(found.memories.map(({ text }: { text: string }) => text)).toEqual(['Prefers tea over coffee']);
  });

  it('decides a tool call that waits, if its token has the scope', async () => {
    const token = await tokenWith('chat', 'approve');
    const { call } = await program(token);
    fixture().ollama.answer({ toolCalls: [{ name: 'wipe', args: { word: 'disk' } }] }, { when: 'wipe it' });
    const waiting = await call('send_message', {
      session: 'http:wiping',
      content: 'wipe it',
      key: 'w',
      waitSeconds: 0,
    });
    expect(waiting.fields).toMatchObject({ state: 'waiting' });
    const id = await vi.waitFor(async () => {
      const { approvals } = JSON.parse((await call('list_approvals')).text);
      expect(approvals).toHaveLength(1);
      return approvals[0].id;
    }, WAIT);
    const chatOnly = await program(await tokenWith('chat'));
    const refused = await chatOnly.call('decide_approval', { approval: id, decision: 'approved' });
    expect(refused).toMatchObject({ isError: true, fields: { code: 'forbidden' } });
    expect(refused.text).toContain('lacks the scope "approve"');
    const { tools } = await chatOnly.client.listTools();
    expect(tools.map(({ name }) => name)).not.toContain('decide_approval');
    const decided = await call('decide_approval', { approval: id, decision: 'denied', reason: 'Too risky.' });
    expect(JSON.parse(decided.text)).toMatchObject({ decision: 'denied' });
    expect(ran).toEqual([]);
    const over = await call('decide_approval', { approval: id, decision: 'approved' });
    expect(over).toMatchObject({ isError: true, fields: { code: 'already_decided' } });
  });

  it('asks the only owner when it names no one, and anyone by name with the scope admin', async () => {
    await greets(HUMAN);
    await greets(FRIEND);
    const { call } = await program();
    const lines: string[] = [];
    const owner = call(
      'ask_person',
      { key: 'q1', question: 'Which colour?' },
      { progress: (l) => lines.push(l) },
    );
    await seen(HUMAN, 'Which colour?');
    const friend = call('ask_person', { key: 'q2', question: 'Which size?', to: `telegram:${FRIEND}` });
    await seen(FRIEND, 'Which size?');
    replies(FRIEND, 'Which size?', 'Large');
    replies(HUMAN, 'Which colour?', 'Blue');
    expect((await owner).fields).toMatchObject({ state: 'answered', answer: 'Blue' });
    expect((await friend).fields).toMatchObject({ state: 'answered', answer: 'Large' });
    // As a week later.
    expect(await fixture().store.lanes.purge(0, 1_000)).toBeGreaterThan(0);
    const again = await call('ask_person', { key: 'q1', question: 'Which colour?' });
    expect(again.fields).toEqual((await owner).fields);
    const other = await call('ask_person', { key: 'q1', question: 'Which shape?' });
    expect(other).toMatchObject({ isError: true, fields: { code: 'other_question' } });
    expect(fixture().ollama.calls.some(({ body }) => JSON.stringify(body).includes('Which colour?'))).toBe(
      false,
    );
    expect((await call('list_sessions')).text).not.toContain('Which colour?');
    expect((await call('list_sessions', { archived: true })).text).toContain('Which colour?');
  });

  it('reads that a person refuses, and then asks them no more', async () => {
    await greets(SHY);
    const { call } = await program();
    const answer = call('ask_person', { key: 'r1', question: 'Your age?', to: `telegram:${SHY}` });
    await seen(SHY, 'Your age?');
    fixture().telegram.press(SHY, 'Never ask me', SHY);
    expect(await answer).toMatchObject({
      isError: false,
      text: 'They do not want to answer this.',
      fields: { state: 'unanswered' },
    });
    const later = await call('ask_person', { key: 'r2', question: 'Your name?', to: `telegram:${SHY}` });
    expect(later).toMatchObject({ isError: true, fields: { code: 'not_asked' } });
    const same = await call('ask_person', { key: 'r1', question: 'Your age?', to: `telegram:${SHY}` });
    expect(same.fields).toMatchObject({ state: 'unanswered' });
  });

  it('asks with the scope chat only the person whose chat shares its session', async () => {
    await greets(LINKED);
    const token = await tokenWith('chat', 'commands');
    const { call } = await program(token);
    const stranger = await call('ask_person', { key: 'c1', question: 'Anyone?' });
    expect(stranger).toMatchObject({ isError: true, fields: { code: 'forbidden' } });
    expect(stranger.text).toContain('lacks the scope "admin"');
    await call('send_message', { session: 'http:shared', content: 'hi' });
    const alone = await call('ask_person', { key: 'c2', question: 'You?', session: 'http:shared' });
    expect(alone.text).toContain('no private chat shares the session http:shared');
    const { code } = await (
      await fixture().call('/v1/sessions/http:shared/links', { token, json: {} })
    ).json();
    fixture().telegram.says(LINKED, `/link ${code}`, LINKED);
    await vi.waitFor(async () => {
      const { asks } = await (await fixture().call('/v1/sessions/http:shared/surfaces', { token })).json();
      expect(asks).toBeTruthy();
    }, WAIT);
    await fixture().call(`/v1/links/${code}`, { token, json: { session: 'http:shared', agree: true } });
    fixture().telegram.says(LINKED, '/link yes', LINKED);
    await seen(LINKED, 'now shares this conversation');
    const answer = call('ask_person', { key: 'c3', question: 'Ready?', session: 'http:shared' });
    await seen(LINKED, 'Ready?');
    replies(LINKED, 'Ready?', 'Ready.');
    expect((await answer).fields).toMatchObject({ state: 'answered', answer: 'Ready.' });
  });

  it('has no more than three questions wait for a person, however many it asks at once', async () => {
    const chat = FRIENDS[5] ?? '';
    await greets(chat);
    const { call } = await program();
    const results = await Promise.all(
      Array.from({ length: 8 }, (_, n) =>
        call('ask_person', {
          key: `m${n}`,
          question: `Number ${n}?`,
          to: `telegram:${chat}`,
          waitSeconds: 0,
        }),
      ),
    );
    expect(results.filter(({ fields }) => fields['state'] === 'waiting')).toHaveLength(3);
    expect(results.filter(({ fields }) => fields['code'] === 'too_many_questions')).toHaveLength(5);
  });
});
