/** `parley import` from each program, in the forms in which it stores things. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { describeStore } from '../../database.ts';
import {
  entry,
  folderOf,
  HERMES_TABLES,
  job,
  lines,
  transcript,
  WEBUI_TABLES,
  writeSqlite,
} from './folders.ts';
import { importer } from './run.ts';

describeStore('an import from OpenClaw', (databases) => {
  it('brings chats from files: the branch that was on screen, with the names of the index', async () => {
    const { run, chats } = await importer(await databases.open());
    const folder = folderOf({
      'agents/main/sessions/sessions.json': JSON.stringify({
        'agent:main:telegram:group:-100': { sessionId: 's1', subject: 'The family' },
        'agent:main:subagent:x': { sessionId: 's2' },
      }),
      'agents/main/sessions/s1.jsonl': transcript(
        entry('a', null, 'user', 'Where is the key?'),
        entry('b', 'a', 'assistant', 'I do not know.'),
        { type: 'custom', id: 'c', parentId: 'a', customType: 'note', data: {} },
        entry('d', 'c', 'toolResult', 'ignored'),
        entry('e', 'd', 'assistant', 'Under the pot.'),
      ),
      'agents/main/sessions/s2.jsonl': transcript(entry('a', null, 'user', 'Work!')),
      'agents/main/sessions/s1.jsonl.reset.2026-01-01': 'x',
    });
    const text = await run('openclaw', folder);
    expect(text).toContain('1 new chat');
    expect(text).toMatch(/a conversation of OpenClaw itself: .*subagent/);
    expect(text).toMatch(/an old transcript: its chat was reset or deleted/);
    expect(await chats()).toEqual([
      { title: 'The family', messages: ['user: Where is the key?', 'assistant: Under the pot.'] },
    ]);
  });

  it('brings chats and schedules from SQLite, where it stores them since 2026.9', async () => {
    const { run, chats } = await importer(await databases.open());
    const folder = folderOf({ 'openclaw.json': '{}' });
    writeSqlite(folder, 'agents/main/agent/openclaw-agent.sqlite', [
      ['create table transcript_events (session_id text, seq integer, event_json text, created_at integer)'],
      [
        'create table session_entries (session_key text primary key, session_id text, entry_json text, updated_at integer)',
      ],
      [
        'insert into transcript_events values (?, ?, ?, 0)',
        [
          ['s1', 1, JSON.stringify(entry('a', null, 'user', 'Hello'))],
          ['s1', 2, JSON.stringify(entry('b', 'a', 'assistant', 'Hi!'))],
        ],
      ],
    ]);
    writeSqlite(folder, 'state/openclaw.sqlite', [
      ['create table cron_jobs (store_key text, job_id text, job_json text, sort_order integer)'],
      [
        "insert into cron_jobs values ('k', ?, ?, 0)",
        [['j1', JSON.stringify(job('j1', { kind: 'cron', expr: '0 9 * * *', tz: 'Europe/Berlin' }))]],
      ],
    ]);
    const text = await run('openclaw', folder);
    expect(text).toContain('1 new chat');
    expect(text).toContain('1 new schedule');
    expect((await chats()).map(({ title }) => title)).toEqual(['Hello', 'Job j1']);
  });

  it('brings schedules of every kind, and names those that cannot come', async () => {
    const store = await databases.open();
    const { run, tokenId } = await importer(store);
    const jobs = [
      job('cron', { kind: 'cron', expr: '0 9 * * 1-5', tz: 'Europe/Berlin' }),
      job('every', { kind: 'every', everyMs: 7_200_000 }),
      job('once', { kind: 'at', at: '2199-01-01T00:00:00Z' }),
      job('past', { kind: 'at', at: '2020-01-01T00:00:00Z' }),
      job('often', { kind: 'every', everyMs: 1_000 }),
      job('off', { kind: 'every', everyMs: 7_200_000 }, { enabled: false }),
      job('exit', { kind: 'on-exit', command: 'make' }),
      { nonsense: true },
    ];
    const folder = folderOf({
      'openclaw.json': '{}',
      'cron/jobs.json': JSON.stringify({ version: 1, jobs }),
    });
    const text = await run('openclaw', folder);
    expect(text).toContain('3 new schedules');
    expect(text).toMatch(/the schedule "Job past": .+/);
    expect(text).toMatch(/the schedule "Job often": .+minute/);
    expect(text).toContain('the schedule "Job off": it is switched off');
    expect(text).toContain('the schedule "Job exit": Parley has no schedule of the kind on-exit');
    expect(text).toContain('a schedule: its fields are not those that Parley knows');
    const rows = await store.schedules.schedules({ limit: 10 });
    expect(
      rows.map(({ timing, task, creatorId, sources }) => ({ timing, task, creatorId, sources })),
    ).toEqual(
      expect.arrayContaining([
        {
          timing: { kind: 'cron', expression: '0 9 * * 1-5', timeZone: 'Europe/Berlin' },
          task: 'Do cron',
          creatorId: `token:${tokenId}`,
          sources: ['local'],
        },
        expect.objectContaining({ timing: { kind: 'every', everyMs: 7_200_000 } }),
        expect.objectContaining({ timing: { kind: 'at', at: Date.parse('2199-01-01T00:00:00Z') } }),
      ]),
    );
    // No empty chat is left of those that were refused.
    expect(await store.sql`select key from session`).toHaveLength(3);
  });

  it('brings facts, and prompt files and skills only when asked', async () => {
    const store = await databases.open();
    const { run, home, tokenId } = await importer(store);
    const folder = folderOf({
      'workspace/MEMORY.md': '# Facts\n\n- Ada has a shed.\n- The shed\n  is green.\n\n(nothing else)\n',
      'workspace/memory/2026-01-01.md': 'Dear diary',
      'workspace/SOUL.md': 'Be kind.',
      'workspace/IDENTITY.md': 'Clawd',
      'workspace/skills/weather/SKILL.md': '---\nname: weather\ndescription: Rain\n---\nAsk',
      'workspace/skills/weather/scripts/ask.sh': 'curl …',
    });
    const text = await run('openclaw', folder);
    expect(text).toContain('2 new memories');
    expect(text).toMatch(/SOUL\.md: the model follows it .*--prompts/);
    expect(text).toMatch(/the skill weather: the model follows it .*--prompts/);
    expect(text).toMatch(/IDENTITY\.md: .*SOUL\.md/);
    const facts = await store.memories.memories(`token:${tokenId}`, 10);
    expect(facts.map(({ text: fact, untrusted }) => [fact, untrusted])).toEqual([
      ['The shed is green.', true],
      ['Ada has a shed.', true],
    ]);
    const second = await run('openclaw', folder, '--prompts');
    expect(second).toContain('1 new prompt file');
    expect(second).toContain('1 new skill');
    const workspace = path.join(home, 'workspace');
    expect(readFileSync(path.join(workspace, 'SOUL.md'), 'utf8')).toBe('Be kind.');
    expect(readFileSync(path.join(workspace, 'skills/weather/scripts/ask.sh'), 'utf8')).toBe('curl …');
  });
});

describeStore('an import from Hermes Agent', (databases) => {
  it('brings what people saw, without what was rewound, summarized or done by a schedule', async () => {
    const store = await databases.open();
    const { run, chats } = await importer(store);
    const folder = folderOf({
      'SOUL.md': 'Be brief.',
      'config.yaml': 'x: 1',
      'memories/USER.md': 'The user is Ada\n§\nShe lives in Kyiv,\nby the river',
      'cron/jobs.json': JSON.stringify({
        jobs: [
          {
            id: 'a1',
            name: 'News',
            prompt: 'Summarize the news',
            schedule: { kind: 'interval', minutes: 120, display: 'every 120m' },
            enabled: true,
          },
          {
            id: 'a2',
            name: 'Watchdog',
            script: 'x.py',
            no_agent: true,
            schedule: { kind: 'interval', minutes: 5 },
          },
        ],
      }),
    });
    const at = 1_770_364_143;
    writeSqlite(folder, 'state.db', [
      ...HERMES_TABLES,
      [
        'insert into sessions (id, source, title, started_at, pinned, model) values (?, ?, ?, ?, 1, ?)',
        [
          ['h1', 'telegram', 'A trip', at, 'hermes-4'],
          ['h2', 'cron', '', at, ''],
        ],
      ],
      [
        'insert into messages (session_id, role, content, timestamp, active, compacted, _compressed_summary) values (?, ?, ?, ?, ?, ?, ?)',
        [
          ['h1', 'user', 'Where to?', at + 1, 0, 1, 0],
          ['h1', 'assistant', 'To Lviv.', at + 2, 0, 1, 0],
          ['h1', 'user', 'A summary of it', at + 3, 1, 0, 1],
          ['h1', 'user', 'rewound', at + 4, 0, 0, 0],
          ['h1', 'user', `\0json:${JSON.stringify([{ type: 'text', text: 'By train?' }])}`, at + 5, 1, 0, 0],
          ['h1', 'tool', '{"trains": 3}', at + 6, 1, 0, 0],
          ['h1', 'assistant', 'Three go.', at + 7, 1, 0, 0],
          ['h2', 'user', 'a task', at, 1, 0, 0],
        ],
      ],
    ]);
    const text = await run('hermes', folder);
    expect(text).toContain('1 new chat');
    expect(text).toContain('2 new memories');
    expect(text).toContain('1 new schedule');
    expect(text).toContain('the schedule "Watchdog": it runs a program of its own');
    expect(text).toMatch(/config\.yaml: it has tokens and keys/);
    expect(await chats()).toContainEqual({
      title: 'A trip',
      messages: ['user: Where to?', 'assistant: To Lviv.', 'user: By train?', 'assistant: Three go.'],
    });
    const [listed] = await store.ledger.listSessions({ limit: 1, archived: false });
    expect(listed).toMatchObject({ title: 'A trip', pinned: true, archived: false });
  });
});

describeStore('an import from nanobot', (databases) => {
  it('brings sessions of every place in which it stored them', async () => {
    const { run, chats } = await importer(await databases.open());
    const session = (key: string, ...messages: object[]): string =>
      lines(
        { _type: 'metadata', key, created_at: '2026-04-03T00:02:00', metadata: { title: `On ${key}` } },
        ...messages,
      );
    const say = (role: string, content: unknown) => ({ role, content, timestamp: '2026-04-03T00:03:00' });
    const id = '0123456789abcdef0123456789abcdef';
    const folder = folderOf({
      [`sessions/${id}/dGVsZWdyYW06NDI.jsonl`]: session(
        'telegram:42',
        { _type: 'provider_state', state: {} },
        say('user', 'Hi'),
        { role: 'assistant', content: null, tool_calls: [{}] },
        say('tool', 'ignored'),
        say('assistant', 'Hello!'),
        { ...say('user', '/status'), _command: true },
      ),
      'workspace/sessions/cli_direct.jsonl': session('cli:direct', say('user', 'one'), say('user', 'two')),
      'sessions/cron_1.jsonl': session('cron:1', say('user', 'task')),
      'workspace/cron/jobs.json': JSON.stringify({
        version: 1,
        jobs: [
          {
            id: 'n1',
            name: 'Tea',
            enabled: true,
            schedule: { kind: 'every', atMs: null, everyMs: 3_600_000, expr: null, tz: null },
            payload: { kind: 'agent_turn', message: 'Remind me of tea' },
          },
        ],
      }),
      'workspace/memory/MEMORY.md': 'Ada drinks tea.\n',
      'workspace/memory/history.jsonl': '{}',
      'config.json': '{}',
    });
    const text = await run('nanobot', folder);
    expect(text).toContain('2 new chats');
    expect(text).toContain('1 new memory');
    expect(text).toContain('1 new schedule');
    expect(text).toMatch(/a conversation of nanobot itself/);
    expect(await chats()).toEqual(
      expect.arrayContaining([
        { title: 'On telegram:42', messages: ['user: Hi', 'assistant: Hello!'] },
        { title: 'On cli:direct', messages: ['user: one\n\ntwo'] },
      ]),
    );
  });
});

describeStore('an import from Open WebUI', (databases) => {
  const chat = (messages: object, currentId: string): string =>
    JSON.stringify({ title: 'T', history: { currentId, messages } });

  it('brings the chats of one person, with the answers that were on screen', async () => {
    const { run, chats } = await importer(await databases.open());
    const folder = folderOf({});
    const tree = chat(
      {
        q: { id: 'q', parentId: null, role: 'user', content: 'Cat or dog?', timestamp: 1_770_364_143 },
        a1: { id: 'a1', parentId: 'q', role: 'assistant', content: 'Cat.', model: 'qwen3:4b' },
        a2: {
          id: 'a2',
          parentId: 'q',
          role: 'assistant',
          content: [{ type: 'text', text: 'Dog.' }],
          model: 'qwen3:4b',
        },
      },
      'a2',
    );
    writeSqlite(folder, 'data/webui.db', [
      ...WEBUI_TABLES,
      [
        "insert into user values (?, 'x', ?, 'user')",
        [
          ['u1', 'ada@example.org'],
          ['u2', 'bob@example.org'],
        ],
      ],
      [
        'insert into chat (id, user_id, title, chat, created_at) values (?, ?, ?, ?, 1770364143)',
        [
          ['c1', 'u1', 'Pets', tree],
          ['c2', 'u2', 'Secrets of Bob', tree],
          ['c3', 'u1', 'Broken', '{"history": 3}'],
        ],
      ],
      [
        'insert into memory values (?, ?, ?, 0, 0)',
        [
          ['m1', 'u1', 'Ada has a dog.'],
          ['m2', 'u2', 'Bob has a secret.'],
        ],
      ],
      [
        'insert into automation values (?, ?, ?, ?, ?, 0, 0)',
        [
          [
            't1',
            'u1',
            'Daily',
            JSON.stringify({ prompt: 'News', model_id: 'm', rrule: 'RRULE:FREQ=DAILY;BYHOUR=8;BYMINUTE=30' }),
            1,
          ],
          ['t2', 'u1', 'Odd', JSON.stringify({ prompt: 'News', model_id: 'm', rrule: 'FREQ=YEARLY' }), 1],
        ],
      ],
      ["insert into skill values ('s1', 'u1', 'My Skill', 'About it', 'Do it', '{}')"],
      ["insert into tool values ('x', 'u1', 'calc', 'def f(): pass')"],
    ]);
    await expect(run('open-webui', folder)).rejects.toThrow(
      /Several people.*--user and one of:\n {2}- ada@example\.org\n {2}- bob@example\.org/,
    );
    const text = await run('open-webui', folder, '--user', 'ada@example.org', '--prompts');
    expect(text).toContain('1 new chat');
    expect(text).toContain('1 new memory');
    expect(text).toContain('1 new schedule');
    expect(text).toContain('1 new skill');
    expect(text).toContain('the automation "Odd": Parley has no schedule for its rule FREQ=YEARLY');
    expect(text).toContain('the chat "Broken": its messages are not stored in a form that Parley knows');
    expect(text).toContain('a tool: it is Python code');
    expect(await chats()).toContainEqual({
      title: 'Pets',
      messages: ['user: Cat or dog?', 'assistant: Dog.'],
    });
    expect(JSON.stringify(await chats())).not.toContain('Bob');
  });
});
