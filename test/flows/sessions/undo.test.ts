/** A turn is undone with everything that it changed: over Telegram and HTTP, and what people changed since stays. */
import { hash } from 'node:crypto';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, it, vi } from 'vitest';
import { shellTool } from '../../fakes/agent/shell-tool.ts';
import type { FakeToolCall } from '../../fakes/ollama/reply.ts';
import { describeGateway, FRIENDS, WAIT } from '../setup.ts';

const enabled = ['write_file', 'edit_file', 'todo', 'scratchpad', 'cron', 'memory', 'message', 'spawn_agent'];
const GROUP = '-1009001';
const BOSS = '6001';
const options = {
  telegram: true,
  tools: [shellTool()],
  file: {
    access: {
      telegram: { allow: FRIENDS, groups: { [GROUP]: { mention: false } } },
      owners: { telegram: [BOSS] },
    },
    tools: { enabled },
  },
};

interface Undo {
  turnId: string;
  content: string;
  goesBack: { kind: string; name: string; how: string; text: string }[];
  stays: { kind: string; name: string; why: string; text: string }[];
}

describeGateway('a turn that is undone', options, (fixture) => {
  const folderOf = async (session: string): Promise<string> => {
    const row = await fixture().store.ledger.session(session as `http:${string}`);
    return path.join(fixture().home, 'workspace', 'sessions', row?.folder ?? '');
  };
  /** The files of the session, by path. */
  const filesOf = async (session: string): Promise<Record<string, string>> => {
    const folder = await folderOf(session);
    const entries = await readdir(folder, { recursive: true, withFileTypes: true });
    const files = entries.filter((one) => one.isFile()).map((one) => path.join(one.parentPath, one.name));
    const read = files
      .toSorted((a, b) => a.localeCompare(b))
      .map(async (file) => [path.relative(folder, file), await readFile(file, 'utf8')]);
    return Object.fromEntries(await Promise.all(read));
  };
  const works = (when: string, ...toolCalls: FakeToolCall[]): void =>
    fixture().ollama.answer({ toolCalls }, { when });
  const writes = (file: string, content: string): FakeToolCall => ({
    name: 'write_file',
    args: { path: file, content },
  });
  const shell = (command: string): FakeToolCall => ({ name: 'shell', args: { command } });
  const ask = async (id: string, content: string, ...calls: FakeToolCall[]): Promise<string> => {
    if (calls.length > 0) works(content, ...calls);
    const turnId = await fixture().post(id, content);
    await fixture().idle(`http:${id}`);
    return turnId;
  };
  const undo = (id: string, init: { json?: unknown; turn?: string } = {}): Promise<Response> =>
    fixture().call(
      `/v1/sessions/http:${id}/undo${init.turn === undefined ? '' : `?turn=${init.turn}`}`,
      init,
    );
  const preview = async (id: string): Promise<Undo> => (await undo(id)).json();

  it('takes its files, its todos, its schedules, notes and memories back in a chat, and shows them first', async () => {
    const [ann = ''] = FRIENDS;
    const { telegram, ollama } = fixture();
    const session = `telegram:${ann}`;
    const seen = (text: string): Promise<void> =>
      vi.waitFor(() => expect(telegram.screen(ann).join('\n')).toContain(text), WAIT);
    const says = async (text: string): Promise<void> => {
      telegram.says(ann, text, ann);
      await seen(`echo: ${text}`);
      await fixture().idle(session);
    };
    works('set up', writes('a.txt', 'one'), {
      name: 'todo',
      args: { action: 'replace', items: [{ text: 'Buy tea' }] },
    });
    await says('set up');
    const todos = await fixture().store.todos.todos(session as 'telegram:1');
    const before = await filesOf(session);
    works(
      'do it all',
      writes('a.txt', 'two'),
      writes('b.txt', 'new'),
      shell('mkdir d && echo c > d/c.bin && echo e > e.txt'),
      { name: 'todo', args: { action: 'replace', items: [{ text: 'Something else' }] } },
      { name: 'scratchpad', args: { action: 'set', name: 'idea', text: 'blue' } },
      { name: 'cron', args: { action: 'add', task: 'Water the plants', every_minutes: 60 } },
      { name: 'memory', args: { action: 'save', text: 'Ann likes blue.' } },
      { name: 'message', args: { text: 'Nearly there.' } },
    );
    await says('do it all');
    expect(Object.keys(await filesOf(session))).toEqual(['a.txt', 'b.txt', 'd/c.bin', 'e.txt']);
    await writeFile(path.join(await folderOf(session), 'd/c.bin'), 'by hand');

    telegram.says(ann, '/undo', ann);
    await seen('Undo “do it all” and its answer?');
    const shown = telegram.screen(ann).join('\n');
    expect(shown).toMatch(/Goes back: a\.txt \(restored\), b\.txt \(removed\), .*e\.txt \(removed\)/);
    for (const thing of [
      'the to-do list (restored)',
      'the note “idea” (removed)',
      'the memory “Ann likes blue.” (removed)',
    ])
      expect(shown).toContain(thing);
    expect(shown).toContain('the schedule “Water the plants” (removed)');
    expect(shown).toMatch(/Cannot go back: .*d\/c\.bin \(changed since\)/);
    expect(shown).toContain('the message sent here');
    expect(await filesOf(session)).toMatchObject({ 'a.txt': 'two' });

    telegram.press(ann, 'Undo', ann);
    await seen('Went back: a.txt (restored)');
    await fixture().idle(session);
    expect(await filesOf(session)).toEqual({ ...before, 'd/c.bin': 'by hand' });
    expect(await fixture().store.todos.todos(session as 'telegram:1')).toEqual(todos);
    expect((await fixture().store.scratchpad.notes(session as 'telegram:1')).size).toBe(0);
    expect(await fixture().store.memories.memories(session, 5)).toEqual([]);
    expect(await fixture().store.schedules.schedules({ session: session as 'telegram:1', limit: 5 })).toEqual(
      [],
    );

    await writeFile(path.join(await folderOf(session), 'a.txt'), 'two');
    telegram.press(ann, 'Undo', ann);
    await fixture().idle(session);
    await says('go on');
    expect(await filesOf(session)).toMatchObject({ 'a.txt': 'two' });
    expect(telegram.screen(ann).join('\n').split('Went back:')).toHaveLength(2);
    const { body } = ollama.calls.at(-1) ?? {};
    expect(JSON.stringify(body)).not.toContain('do it all');
  });

  it('is not undone when the person presses Keep', async () => {
    const [, ben = ''] = FRIENDS;
    const { telegram } = fixture();
    works('write it', writes('k.txt', 'kept'));
    telegram.says(ben, 'write it', ben);
    await vi.waitFor(() => expect(telegram.screen(ben).join()).toContain('echo: write it'), WAIT);
    await fixture().idle(`telegram:${ben}`);
    telegram.says(ben, '/undo', ben);
    await vi.waitFor(() => expect(telegram.screen(ben).join()).toContain('k.txt (removed)'), WAIT);
    telegram.press(ben, 'Keep', ben);
    await fixture().idle(`telegram:${ben}`);
    expect(await filesOf(`telegram:${ben}`)).toEqual({ 'k.txt': 'kept' });
    // The command with the end of the id stands for the button.
    const id = /\/undo (\w{8})/.exec(telegram.screen(ben).join('\n'))?.[1];
    telegram.says(ben, `/undo ${id}`, ben);
    await vi.waitFor(() => expect(telegram.screen(ben).join()).toContain('Went back: k.txt (removed)'), WAIT);
    expect(await filesOf(`telegram:${ben}`)).toEqual({});
  });

  it('is shown and undone over HTTP, once, with what its subagents wrote', async () => {
    await ask('http', 'first', writes('a.txt', '1'), writes('gone.txt', 'x'));
    works('a subagent writes', writes('s.txt', 'by the subagent'));
    const turnId = await ask(
      'http',
      'second',
      { name: 'spawn_agent', args: { task: 'a subagent writes' } },
      shell('rm gone.txt; echo 2 >> a.txt'),
    );
    expect(await filesOf('http:http')).toEqual({ 'a.txt': '12\n', 's.txt': 'by the subagent' });
    const goesBack = [
      { kind: 'file', name: 's.txt', how: 'removed', text: 's.txt (removed)' },
      { kind: 'file', name: 'a.txt', how: 'restored', text: 'a.txt (restored)' },
      { kind: 'file', name: 'gone.txt', how: 'restored', text: 'gone.txt (restored)' },
    ];
    expect(await preview('http')).toEqual({ turnId, content: 'second', goesBack, stays: [] });
    expect(await (await undo('http', { json: {} })).json()).toEqual({
      turnId,
      content: 'second',
      goesBack,
      stays: [],
    });
    expect(await filesOf('http:http')).toEqual({ 'a.txt': '1', 'gone.txt': 'x' });
    await writeFile(path.join(await folderOf('http:http'), 'a.txt'), '12\n');
    expect(await (await undo('http', { json: {}, turn: turnId })).json()).toMatchObject({ turnId, goesBack });
    expect(await filesOf('http:http')).toMatchObject({ 'a.txt': '12\n' });
  });

  it('keeps what a later turn built upon, which it names, until that turn is undone', async () => {
    const first = await ask('older', 'make both', writes('a.txt', '1'), writes('b.txt', '1'));
    const second = await ask('older', 'change one', writes('a.txt', '2'));
    expect(await (await undo('older', { turn: first })).json()).toMatchObject({
      goesBack: [{ name: 'b.txt' }],
      stays: [{ name: 'a.txt', why: 'later_turn' }],
    });
    expect((await undo('older', { json: {}, turn: second })).status).toBe(200);
    expect(await filesOf('http:older')).toEqual({ 'a.txt': '1', 'b.txt': '1' });
    expect((await undo('older', { json: {}, turn: first.slice(-8) })).status).toBe(200);
    expect(await filesOf('http:older')).toEqual({});
  });

  it('is refused while an answer runs, and says so', async () => {
    await ask('busy', 'write', writes('a.txt', '1'));
    fixture().ollama.answer({ text: 'never', hold: true }, { when: 'wait' });
    await fixture().post('busy', 'wait');
    await fixture().modelCall('wait');
    for (const json of [undefined, {}]) {
      const answer = await undo('busy', { json });
      expect(answer.status).toBe(409);
      expect(await answer.json()).toMatchObject({
        error: { code: 'not_changed', message: expect.stringContaining('/stop') },
      });
    }
    await fixture().call('/v1/sessions/http:busy/stop', { method: 'POST' });
    await fixture().idle('http:busy');
    expect(await filesOf('http:busy')).toEqual({ 'a.txt': '1' });
  });

  it('names what is too large to go back, and takes back links and large files that it made', async () => {
    await ask('large', 'begin');
    const folder = await folderOf('http:large');
    await mkdir(folder, { recursive: true });
    await writeFile(path.join(folder, 'large.bin'), Buffer.alloc(1024 * 1024 + 1));
    await writeFile(path.join(folder, 'mine.txt'), 'mine');
    await ask(
      'large',
      'overwrite',
      shell(
        'echo x > large.bin; echo y > mine.txt; ln -s mine.txt link; head -c 2000000 /dev/zero > made.bin',
      ),
    );
    expect(await preview('large')).toMatchObject({
      goesBack: [
        { name: 'link', how: 'removed' },
        { name: 'made.bin', how: 'removed' },
        { name: 'mine.txt', how: 'restored' },
      ],
      stays: [{ name: 'large.bin', why: 'too_large' }],
    });
    await rm(path.join(folder, 'made.bin'));
    await undo('large', { json: {} });
    expect(await filesOf('http:large')).toEqual({ 'large.bin': 'x\n', 'mine.txt': 'mine' });
  });

  it('takes the files of its message back', async () => {
    const [, , cat = ''] = FRIENDS;
    const { telegram } = fixture();
    const seen = (text: string): Promise<void> =>
      vi.waitFor(() => expect(telegram.screen(cat).join('\n')).toContain(text), WAIT);
    const list = telegram.files.document({ bytes: Buffer.from('buy milk'), name: 'list.txt' });
    telegram.sends(cat, { ...list, caption: 'keep this' }, cat);
    await seen('echo: keep this');
    await fixture().idle(`telegram:${cat}`);
    expect(Object.values(await filesOf(`telegram:${cat}`))).toEqual(['buy milk']);
    telegram.says(cat, '/undo', cat);
    await seen('list.txt (removed)');
    telegram.press(cat, 'Undo', cat);
    await seen('Went back:');
    await fixture().idle(`telegram:${cat}`);
    expect(await filesOf(`telegram:${cat}`)).toEqual({});
  });

  it('is undone in a group by the person who asked and by owners, and by no one else', async () => {
    const [, , , dan = '', eve = ''] = FRIENDS;
    const { telegram } = fixture();
    const seen = (text: string): Promise<void> =>
      vi.waitFor(() => expect(telegram.screen(GROUP).join('\n')).toContain(text), WAIT);
    for (const [said, file] of [
      ['for all', 'g.txt'],
      ['for some', 'h.txt'],
    ] as const) {
      works(said, writes(file, said));
      telegram.says(GROUP, said, dan);
      await seen(said);
      await fixture().idle(`telegram:${GROUP}`);
    }
    telegram.says(GROUP, '/undo', eve);
    await vi.waitFor(
      () =>
        expect(JSON.stringify(telegram.messages(GROUP)) + telegram.screen(eve).join()).toContain(
          'only the person who asked',
        ),
      WAIT,
    );
    telegram.says(GROUP, '/undo', dan);
    await seen('h.txt (removed)');
    const foreign = telegram.press(GROUP, 'Undo', eve);
    await vi.waitFor(
      () => expect(telegram.pressed.answers.get(foreign)).toContain('only the person who asked'),
      WAIT,
    );
    expect(await filesOf(`telegram:${GROUP}`)).toEqual({ 'g.txt': 'for all', 'h.txt': 'for some' });
    telegram.press(GROUP, 'Undo', dan);
    await seen('Went back: h.txt (removed)');
    telegram.says(GROUP, '/undo', BOSS);
    await seen('g.txt (removed)');
    telegram.press(GROUP, 'Undo', BOSS);
    await seen('Went back: g.txt (removed)');
    expect(await filesOf(`telegram:${GROUP}`)).toEqual({});
  });

  it('is finished at the next start if the gateway died in the middle, and the chat is told', async () => {
    const [, , , , , fay = ''] = FRIENDS;
    const { telegram, store } = fixture();
    const session = `telegram:${fay}` as const;
    works('half', writes('f.txt', 'half'));
    telegram.says(fay, 'half', fay);
    await vi.waitFor(() => expect(telegram.screen(fay).join()).toContain('echo: half'), WAIT);
    await fixture().idle(session);
    const { turnId = '' } = (await fixture().messages(session))[0] ?? {};
    const sha256 = hash('sha256', 'half');
    await store.undo.begin(session, turnId, new Map([['f.txt', { path: 'f.txt', sha256 }]]));
    expect(await filesOf(session)).toEqual({ 'f.txt': 'half' });
    await fixture().restart();
    expect(await filesOf(session)).toEqual({});
    await vi.waitFor(() => expect(telegram.screen(fay).join()).toContain('Went back: f.txt (removed)'), WAIT);
  });
});
