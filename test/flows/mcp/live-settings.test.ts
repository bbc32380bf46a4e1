/** MCP servers are added, changed and removed by editing `config.json` while the gateway runs. */
import { rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, expect, it, vi } from 'vitest';
import { scripted, seenBy, WAIT } from '../../fakes/mcp/servers.ts';
import { describeGateway } from '../setup.ts';

const seen = seenBy(afterAll);
/** What the scripted server says when it refuses to start. */
const KEY = 'fake-secret-0123456789';
const notes = (tools: string[]) => scripted(tools, { FAKE_LOG: seen.file });

describeGateway('MCP servers, by editing the settings', { file: {}, env: { NOTES_KEY: KEY } }, (fixture) => {
  const edit = async (content: unknown): Promise<void> => {
    const file = path.join(fixture().home, 'config.json');
    const text = typeof content === 'string' ? content : JSON.stringify(content);
    await writeFile(`${file}.swp`, text, { mode: 0o600 });
    await rename(`${file}.swp`, file);
  };
  const withServers = (servers: Record<string, unknown>) => edit({ mcp: { servers } });
  const say = async (session: string, content: string): Promise<string> => {
    const answer = await fixture().call(`/v1/sessions/http:${session}/messages`, { json: { content } });
    return JSON.stringify(await answer.json());
  };
  const states = async (): Promise<Record<string, unknown>> => ({
    ...(await fixture().gateway.health()).mcp,
  });
  const areUp = (expected: Record<string, number>): Promise<void> =>
    vi.waitFor(async () => {
      const up = Object.entries(expected).map(([name, tools]) => [name, { state: 'up', tools }]);
      expect(await states()).toEqual(Object.fromEntries(up));
    }, WAIT);
  const offered = async (session: string, said: string): Promise<string[]> => {
    await fixture().post(session, said);
    const { body } = await fixture().modelCall(said);
    await fixture().idle(`http:${session}`);
    return (body.tools ?? []).map((tool) => tool.function.name).filter((name) => name.includes('__'));
  };

  it('connects a new server, whose secret is in no log, and offers its tools and prompts to the next turn', async () => {
    expect(await say('first', '/help')).not.toContain('/prompt');
    expect(await offered('first', 'nothing yet')).toEqual([]);
    await withServers({ notes: notes(['echo']) });
    await areUp({ notes: 1 });
    expect(await offered('first', 'something now')).toContain('notes__echo');
    expect(await say('first', '/help')).toContain('/prompt');
    expect(await say('first', '/prompt')).toContain('notes summary');
    await withServers({ notes: { ...notes([]), env: { FAKE_STARTS: 'never', KEY: '${NOTES_KEY}' } } });
    await vi.waitFor(
      () => expect(fixture().log.join('')).toContain('I refuse to start: the token [secret]'),
      WAIT,
    );
    expect(fixture().log.join('')).not.toContain(KEY);
  });

  it('stops a changed server after the running call, and reconnects it with the new settings', async () => {
    await withServers({ notes: notes(['look', 'slow', 'hang']) });
    await areUp({ notes: 3 });
    fixture().ollama.answer({ toolCalls: [{ name: 'notes__slow', args: {} }] }, { when: 'take your time' });
    await fixture().post('slow', 'take your time');
    const id = await vi.waitFor(async () => {
      const { approvals }: { approvals: { id: string }[] } = await (
        await fixture().call('/v1/approvals')
      ).json();
      if (approvals[0] === undefined) throw new Error('nothing waits');
      return approvals[0].id;
    }, WAIT);
    await fixture().call(`/v1/approvals/${id}`, { json: { decision: 'approved' } });
    await vi.waitFor(() => expect(seen.lines()).toContain('call slow {}'), WAIT);
    const started = seen.lines().filter((line) => line.startsWith('started')).length;
    await withServers({ notes: { ...notes(['look', 'slow']), trusted: true } });
    await fixture().idle('http:slow');
    const { body } = await fixture().modelCall('take your time');
    expect(JSON.stringify(body.messages)).toContain('slow, but here');
    await areUp({ notes: 2 });
    expect(seen.lines().filter((line) => line.startsWith('started'))).toHaveLength(started + 1);
  });

  it('keeps servers whose settings are the same, and stops removed ones with their tools', async () => {
    await withServers({ notes: notes(['look']), more: notes(['echo']) });
    await areUp({ notes: 1, more: 1 });
    const started = seen.lines().filter((line) => line.startsWith('started')).length;
    await withServers({ notes: notes(['look']) });
    await areUp({ notes: 1 });
    expect(await offered('after', 'what is left')).toEqual(['notes__look']);
    expect(seen.lines().filter((line) => line.startsWith('started'))).toHaveLength(started);
  });

  it('changes nothing for an invalid edit, and reports line, column and reason', async () => {
    await edit(
      '{\n  "mcp": { "servers": {\n    "notes": { "command": "node", "env": { "KEY": "${NO_SUCH_KEY}" } }\n  } }\n}',
    );
    const errors = await vi.waitFor(async () => {
      const found: { errors: string[]; needsRestart: string[] } = await (
        await fixture().call('/v1/settings')
      ).json();
      if (found.errors.length === 0) throw new Error('no error yet');
      return found.errors;
    }, WAIT);
    expect(errors).toEqual([
      expect.stringMatching(
        /config\.json:3:\d+: mcp\.servers\.notes\.env\.KEY: the environment variable NO_SUCH_KEY is not set$/,
      ),
    ]);
    expect(await states()).toEqual({ notes: { state: 'up', tools: 1 } });
    await edit({});
    await vi.waitFor(async () => expect(await states()).toEqual({}), WAIT);
    expect(await offered('last', 'all gone')).toEqual([]);
  });
});
