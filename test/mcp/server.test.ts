/** Servers as local programs: what they see, what they offer, and everything that can go wrong with them. */
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { Tool } from '../../src/protocol/agent/tool.ts';
import { executeTool, checkCall } from '../../src/agent/tools/tool-run.ts';
import { PROBE_MS } from '../../src/mcp/connection.ts';
import { MAX_MCP_TOOLS } from '../../src/mcp/index.ts';
import { MAX_DESCRIPTION_CHARS, MAX_SERVER_TOOLS } from '../../src/mcp/server-tools.ts';
import { MAX_LINES } from '../../src/mcp/stdio-transport.ts';
import { toolContext } from '../fakes/agent/tool-context.ts';
import { allUp, openMcp, type OpenMcp, scripted, seenBy, startMcp, WAIT } from '../fakes/mcp/servers.ts';

function toolOf(mcp: OpenMcp, name: string): Tool {
  const found = mcp.tools().find((tool) => tool.name === name);
  if (found === undefined)
    throw new Error(
      `no ${name} among ${mcp
        .tools()
        .map((tool) => tool.name)
        .join(', ')}`,
    );
  return found;
}

/** Calls a tool the way the agent does. */
async function call(mcp: OpenMcp, name: string, args: Record<string, unknown> = {}, signal?: AbortSignal) {
  const tool = toolOf(mcp, name);
  const checked = checkCall({ id: '1', name, args }, new Map([[name, tool]]));
  if ('refusal' in checked) return checked.refusal;
  return await executeTool(tool, checked.args, toolContext(signal && { signal }), tool.limitMs ?? 60_000);
}

describe('a server that is a program', () => {
  it('offers its tools, and its results are text of others', async () => {
    const mcp = await startMcp({
      notes: scripted(['echo', 'fails', 'structured', 'image', 'mixed', 'garbage']),
    });
    expect(mcp.tools().map(({ name }) => name)).toContain('notes__echo');
    const echo = toolOf(mcp, 'notes__echo');
    expect(echo).toMatchObject({ effect: 'unsafe', results: 'mcp:notes', describedBy: 'mcp:notes' });
    expect(echo.risk({})).toBe('dangerous');
    expect(echo.reach({})).toBe('outside');
    expect(echo.schema).toEqual({
      type: 'object',
      properties: { text: { type: 'string' } },
      required: ['text'],
    });
    const answer = await call(mcp, 'notes__echo', { text: 'hello' });
    expect(answer).toEqual({
      content: 'hello',
      isError: false,
      sources: ['mcp:notes'],
      from: 'the MCP server notes',
    });
    expect(await call(mcp, 'notes__echo', { text: 5 })).toMatchObject({
      isError: true,
      content: expect.stringContaining('/text must be of type string'),
    });
    expect(await call(mcp, 'notes__fails')).toMatchObject({ isError: true, content: 'The disk is full.' });
    expect((await call(mcp, 'notes__structured')).content).toBe('{"degrees":21}');
    expect(await call(mcp, 'notes__image')).toMatchObject({
      content: '(an image, image/png, 6 bytes: the file inbox/tools/image)\na picture',
      pictures: ['folder/image'],
    });
    const mixed = (await call(mcp, 'notes__mixed')).content;
    expect(mixed).toContain('buy milk');
    expect(mixed).toContain('application/zip, 6 bytes, not shown');
    expect(mixed).toContain('a link to the resource notes://3');
    expect(mixed).toContain('a part of a kind that this gateway does not know');
    expect(mixed).toContain('(and 104 more parts: not shown)');
    expect(await call(mcp, 'notes__garbage')).toMatchObject({
      isError: true,
      content: expect.stringContaining('does not follow the protocol'),
    });
    expect(mcp.status()).toMatchObject([{ name: 'notes', state: 'up', notices: [] }]);
  });

  it('can, when trusted, read without a question where it declares reading, and do nothing else', async () => {
    const mcp = await startMcp({ notes: { ...scripted(['echo', 'look', 'search']), trusted: true } });
    const look = toolOf(mcp, 'notes__look');
    expect([look.effect, look.risk({}), look.reach({}), look.describedBy]).toEqual([
      'pure',
      'safe',
      'session',
      undefined,
    ]);
    const search = toolOf(mcp, 'notes__search');
    expect([search.effect, search.risk({}), search.reach({})]).toEqual(['pure', 'caution', 'outside']);
    const echo = toolOf(mcp, 'notes__echo');
    expect([echo.effect, echo.risk({}), echo.reach({})]).toEqual(['unsafe', 'dangerous', 'outside']);
    expect((await call(mcp, 'notes__look')).sources).toEqual(['mcp:notes']);
  });

  it('sees the variables it is given, a few harmless ones, and none of the gateway’s', async () => {
    vi.stubEnv('NOTES_KEY', 'key-of-the-notes');
    const mcp = await startMcp({ notes: scripted(['environment'], { KEY: '${NOTES_KEY}' }) });
    const seen: Record<string, string> = JSON.parse((await call(mcp, 'notes__environment')).content);
    expect(Object.keys(seen).toSorted()).toEqual(['CWD', 'FAKE_TOOLS', 'HOME', 'KEY', 'PATH']);
    expect(seen['KEY']).toBe('key-of-the-notes');
    expect(seen['CWD']).toBe(`${mcp.folder}/notes`);
  });

  it('has names that model servers accept, each only once, and only the requested tools', async () => {
    const mcp = await startMcp({ notes: scripted(['odd', 'odd_too', 'long', 'echo']) });
    const names = mcp.status()[0]?.tools ?? [];
    expect(names[0]).toBe('notes__odd__name___of__a_tool');
    expect(new Set(names).size).toBe(4);
    for (const name of names) expect(name).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
    expect((await call(mcp, names[0] ?? '')).content).toBe('odd');
    expect((await call(mcp, names[1] ?? '')).content).toBe('odd, too');
    expect((await call(mcp, names[2] ?? '')).content).toBe('long');
    const few = await startMcp({ notes: { ...scripted(['echo', 'look']), tools: ['look', 'lock'] } });
    expect(few.status()[0]?.tools).toEqual(['notes__look']);
    expect(few.status()[0]?.notices).toEqual(['The server has no tool "lock", which "tools" names.']);
  });

  it('loses only the tools that cannot be used: a schema of 2 MB, no name, a task', async () => {
    const mcp = await startMcp({ notes: scripted(['huge', 'nameless', 'task', 'wordy', 'echo']) });
    expect(mcp.status()[0]?.tools).toEqual(['notes__wordy', 'notes__echo']);
    expect(mcp.tools()[0]?.description.length).toBe(MAX_DESCRIPTION_CHARS + 1);
    expect(mcp.status()[0]?.notices).toEqual([
      'The tool "huge" is left out: its schema has 2049 KiB, and 16 KiB are allowed.',
      'A tool is left out: it has no name.',
      'The tool "task" is left out: it runs only as a task, which this gateway does not support.',
    ]);
    expect(mcp.logged.join('')).toContain('its schema has 2049 KiB');
  });

  it(`offers at most ${MAX_SERVER_TOOLS} tools, and all servers ${MAX_MCP_TOOLS}, and says so`, async () => {
    const many = scripted(['echo'], { FAKE_MANY: '80' });
    const mcp = await startMcp({ one: many, two: many });
    expect(mcp.tools().filter(({ name }) => name.includes('__'))).toHaveLength(MAX_MCP_TOOLS);
    const [one, two] = mcp.status();
    expect(one?.tools).toHaveLength(MAX_SERVER_TOOLS);
    expect(one?.notices).toEqual(['17 tools are left out: a server may have 64; "tools" can choose which.']);
    expect(two?.tools).toHaveLength(MAX_MCP_TOOLS - MAX_SERVER_TOOLS);
    expect(two?.notices[1]).toContain('28 tools are left out: all servers together may have 100');
  });

  it('can change its tools at any time, a thousand times a second', async () => {
    const seen = seenBy();
    const mcp = await startMcp({ notes: scripted(['echo', 'change', 'storm'], { FAKE_LOG: seen.file }) });
    const before = mcp.tools();
    expect(mcp.tools()).toBe(before);
    await call(mcp, 'notes__change');
    await vi.waitFor(() => expect(toolOf(mcp, 'notes__fresh')).toBeDefined(), WAIT);
    expect(mcp.tools()).not.toBe(before);
    expect(mcp.tools().map(({ name }) => name)).not.toContain('notes__change');
    const lists = seen.lines().filter((line) => line === 'list').length;
    await call(mcp, 'notes__storm');
    await vi.waitFor(
      () => expect(seen.lines().filter((line) => line === 'list').length).toBeGreaterThan(lists),
      WAIT,
    );
    expect(seen.lines().filter((line) => line === 'list').length - lists).toBeLessThanOrEqual(6);
  });

  it('is refused access to our model and questions to users, and continues', async () => {
    const mcp = await startMcp({ notes: scripted(['ask_user', 'use_model', 'roots']) });
    const asking = (await call(mcp, 'notes__ask_user')).content;
    expect(asking).toMatch(
      /^\{"action":"decline"\}\n\(During this call the server wanted to ask the user: "Your password\?"/,
    );
    expect(asking).toContain('so it was declined');
    expect((await call(mcp, 'notes__use_model')).content).toContain('"code":-1');
    expect((await call(mcp, 'notes__roots')).content).toContain('"code":-32601');
    expect(mcp.logged.join('')).toContain('mcp_request_declined');
  });

  it('is notified when a call is stopped, and answers the next one', async () => {
    const seen = seenBy();
    const mcp = await startMcp({ notes: scripted(['hang', 'echo'], { FAKE_LOG: seen.file }) });
    const stop = new AbortController();
    const hanging = call(mcp, 'notes__hang', {}, stop.signal);
    await vi.waitFor(() => expect(seen.lines()).toContain('call hang {}'), WAIT);
    stop.abort();
    expect((await hanging).content).toContain('was stopped before it finished. Its outcome is unknown');
    await vi.waitFor(() => expect(seen.lines()).toContain('notified notifications/cancelled'), WAIT);
    expect((await call(mcp, 'notes__echo', { text: 'still here' })).content).toBe('still here');
  });

  it('has a limit for each call, after which the call is cancelled', async () => {
    const seen = seenBy();
    const mcp = await startMcp({
      notes: { ...scripted(['hang'], { FAKE_LOG: seen.file }), timeoutMs: 1_000 },
    });
    expect((await call(mcp, 'notes__hang')).content).toContain('did not finish within 1 s');
    await vi.waitFor(() => expect(seen.lines()).toContain('notified notifications/cancelled'), WAIT);
  });

  it('is reported and restarted when it ends during a call or floods', async () => {
    const mcp = await startMcp({ notes: scripted(['exit', 'flood', 'echo']) });
    expect(await call(mcp, 'notes__exit')).toMatchObject({
      isError: true,
      content: expect.stringContaining('Whether it took effect is unknown'),
    });
    expect(mcp.tools()).not.toEqual([]);
    await vi.waitFor(() => expect(mcp.logged.join('')).toContain('The program ended (code 3)'), WAIT);
    await allUp(mcp);
    expect((await call(mcp, 'notes__echo', { text: 'back' })).content).toBe('back');
    expect((await call(mcp, 'notes__flood')).isError).toBe(true);
    await vi.waitFor(() => expect(mcp.logged.join('')).toContain('more than 10 MiB'), WAIT);
    await vi.waitFor(
      async () => expect((await call(mcp, 'notes__echo', { text: 'again' })).content).toBe('again'),
      WAIT,
    );
  });

  it(`writes at most ${MAX_LINES} lines into the log`, async () => {
    const mcp = await startMcp({ notes: scripted(['noise']) });
    await call(mcp, 'notes__noise');
    await vi.waitFor(
      () => expect(mcp.logged.filter((line) => line.includes('noise')).length).toBe(MAX_LINES),
      WAIT,
    );
    expect(Math.max(...mcp.logged.map((line) => line.length))).toBeLessThan(3_000);
  });
});

describe('what a server stores', () => {
  it('is listed and read by two extra tools; only a trusted server is read without a question', async () => {
    const trusted = { ...scripted(['echo']), trusted: true };
    const mcp = await startMcp({ notes: scripted(['echo']), files: trusted });
    const list = await call(mcp, 'list_resources', { server: 'notes' });
    expect(list.content).toBe('notes://1 first: the first note\nnotes://2 second\nnotes://{n} a note');
    expect(list.sources).toEqual(['mcp:notes']);
    const read = await call(mcp, 'read_resource', { server: 'notes', uri: 'notes://1' });
    expect(read).toMatchObject({ content: 'The text of notes://1.', sources: ['mcp:notes'] });
    const tool = toolOf(mcp, 'read_resource');
    expect(tool.risk({ server: 'notes', uri: 'a' })).toBe('dangerous');
    expect(tool.risk({ server: 'files', uri: 'a' })).toBe('caution');
    expect(tool.reach({ server: 'files', uri: 'a' })).toBe('outside');
    expect((await call(mcp, 'read_resource', { server: 'nodes', uri: 'a' })).content).toContain(
      'There is no server "nodes". The servers are: notes, files.',
    );
  });
});

describe('a server of 2025', () => {
  it.each(['exit', 'ignore'])(
    'that expects to be introduced to first (%s) is started again, or waited for',
    async (probe) => {
      const mcp = await startMcp({ notes: scripted(['echo'], { FAKE_PROBE: probe }) });
      expect((await call(mcp, 'notes__echo', { text: 'hello' })).content).toBe('hello');
    },
    2 * PROBE_MS,
  );
});

describe('an unavailable server', () => {
  it('delays nothing, says why, and hides its secrets', async () => {
    vi.stubEnv('NOTES_KEY', 'fake-secret-0123456789');
    const mcp = openMcp({
      gone: { command: '/nonexistent/program' },
      refuses: scripted([], { FAKE_STARTS: 'never', KEY: '${NOTES_KEY}' }),
      silent: scripted([], { FAKE_STARTS: 'silent' }),
    });
    mcp.start();
    await vi.waitFor(() => {
      const [gone, refuses, silent] = mcp.status();
      expect(gone).toMatchObject({
        state: 'down',
        error: expect.stringContaining('"/nonexistent/program" cannot be started'),
      });
      expect(refuses).toMatchObject({
        state: 'down',
        error: expect.stringContaining('its last line: I refuse to start'),
      });
      expect(silent).toMatchObject({ state: 'connecting' });
    }, WAIT);
    expect(mcp.status()[1]?.error).toContain('the token [secret] is wrong');
    expect(mcp.tools()).toEqual([]);
    await mcp.close();
    expect(mcp.status().map(({ state }) => state)).toEqual(['closed', 'closed', 'closed']);
  });

  it('ends with the gateway, even when it ignores the end of its input and SIGTERM', async () => {
    const seen = seenBy();
    const mcp = await startMcp({
      notes: scripted(['echo'], { FAKE_LOG: seen.file, FAKE_IGNORES: 'everything' }),
    });
    const pid = Number(/^started (\d+)/.exec(seen.lines()[0] ?? '')?.[1]);
    expect(() => process.kill(pid, 0)).not.toThrow();
    await mcp.close();
    await vi.waitFor(() => expect(() => process.kill(pid, 0)).toThrow(/ESRCH/), WAIT);
    expect(seen.lines()).toContain('ignored SIGTERM');
  });
});

afterEach(() => void vi.unstubAllEnvs());
