/** Settings that change while the gateway runs: what applies at once, for whom, what waits, and invalid edits. */
import { readFile, rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, it, vi } from 'vitest';
import { z } from 'zod';
import { editableConfig } from '../../../src/live-config.ts';
import { defineTool } from '../../../src/protocol/agent/tool.ts';
import { configCommand } from '../../../src/settings/index.ts';
import { describeGateway, FRIENDS, WAIT } from '../setup.ts';

const people = FRIENDS.values();
const STRANGERS = ['8101', '8102'];
const FILE = {
  persona: 'You are Polly.',
  access: { telegram: { dm: 'allowlist', allow: FRIENDS } },
  tools: { enabled: ['list_dir'] },
};

/** A tool that ends when the test says so. */
let gate = Promise.withResolvers<void>();
const wait = defineTool({
  name: 'wait',
  description: 'Waits.',
  parameters: z.strictObject({}),
  effect: 'pure',
  risk: () => 'safe',
  reach: () => 'session',
  results: 'operator',
  execute: async () => {
    await gate.promise;
    return { content: 'waited' };
  },
});

describeGateway('settings', { telegram: true, file: FILE, tools: [wait] }, (fixture) => {
  /** Writes the file as editors do: next to it first, then in its place. */
  const edit = async (content: unknown): Promise<void> => {
    const file = path.join(fixture().home, 'config.json');
    const text = typeof content === 'string' ? content : JSON.stringify(content);
    await writeFile(`${file}.swp`, text, { mode: 0o600 });
    await rename(`${file}.swp`, file);
  };
  const settings = async () => {
    const answer = await fixture().call('/v1/settings');
    const body: { values: Record<string, unknown>; errors: string[]; needsRestart: string[] } =
      await answer.json();
    return body;
  };
  const counts = (values: Record<string, unknown>): Promise<void> =>
    vi.waitFor(async () => expect(await settings()).toMatchObject({ values, errors: [] }), WAIT);
  const status = async (): Promise<string> => {
    const init = { json: { content: '/status' } };
    const answer = await fixture().call('/v1/sessions/http:looks/messages', init);
    const { reply = '' }: { reply?: string } = await answer.json();
    return reply;
  };
  /** Every model call of a turn whose message says this. */
  const callsOf = (said: string) =>
    fixture()
      .ollama.calls.map(({ body }) => body)
      .filter(({ messages }) =>
        messages.some(({ role, content }) => role === 'user' && content.includes(said)),
      );
  const toolsOf = ({ tools = [] }: { tools?: { function: { name: string } }[] | undefined }): string[] =>
    tools.map((tool) => tool.function.name);
  /** Starts a turn that waits in a tool. */
  const begin = async (session: string, said: string): Promise<void> => {
    fixture().ollama.answer({ toolCalls: [{ name: 'wait', args: {} }] }, { when: said });
    await fixture().post(session, said);
  };

  it('apply to the next turn; a running turn keeps the settings it started with', async () => {
    gate = Promise.withResolvers();
    await begin('runs', 'first question');
    await fixture().modelCall('first question');
    await edit({ ...FILE, persona: 'You are Jack.', tools: { enabled: ['list_dir', 'read_file'] } });
    await counts({ persona: 'You are Jack.' });
    gate.resolve();
    await fixture().idle('http:runs');
    const calls = callsOf('first question');
    expect(calls).toHaveLength(2);
    for (const call of calls) {
      expect(call.messages[0]?.content).toContain('You are Polly.');
      expect(toolsOf(call)).not.toContain('read_file');
    }
    await fixture().post('runs', 'second question');
    const { body } = await fixture().modelCall('second question');
    expect(body.messages[0]?.content).toContain('You are Jack.');
    expect(toolsOf(body)).toContain('read_file');
    await fixture().idle('http:runs');
  });

  it('let people in, and limit them, as soon as they are edited', async () => {
    const [stranger = '', other = ''] = STRANGERS;
    const { telegram } = fixture();
    telegram.says(stranger, 'am I heard?', stranger);
    await vi.waitFor(() => expect(fixture().log.join('')).toContain('message_refused'), WAIT);
    expect(telegram.screen(stranger)).toEqual([]);
    const limits = { messagesPerMinute: 1, messagesAtOnce: 1 };
    await edit({ ...FILE, access: { telegram: { allow: [stranger, other] } }, limits });
    await counts({ limits });
    telegram.says(stranger, 'and now?', stranger);
    await vi.waitFor(() => expect(telegram.screen(stranger).join()).toContain('echo: and now?'), WAIT);
    telegram.says(stranger, 'once more', stranger);
    await vi.waitFor(
      () => expect(telegram.screen(stranger).join()).toContain('You are sending messages too fast'),
      WAIT,
    );
    await edit(FILE);
    await counts({ limits: { messagesPerMinute: 10, messagesAtOnce: 5 } });
    const before = telegram.screen(other).length;
    telegram.says(other, 'let me in', other);
    const friend = people.next().value ?? '';
    telegram.says(friend, 'hello', friend);
    await vi.waitFor(() => expect(telegram.screen(friend).join()).toContain('echo: hello'), WAIT);
    expect(telegram.screen(other)).toHaveLength(before);
  });

  it('change nothing while 50 turns run when the edit has three errors, and report where they are', async () => {
    gate = Promise.withResolvers();
    const sessions = Array.from({ length: 50 }, (_, index) => `many${index}`);
    await Promise.all(sessions.map((session) => begin(session, `of ${session}.`)));
    await vi.waitFor(
      () => expect(sessions.filter((session) => callsOf(`of ${session}.`).length > 0)).toHaveLength(50),
      WAIT,
    );
    await edit(`{
  // Three errors.
  "persona": "You are Jack."
  "limits": { "messagesPerMinute": "many" },
  "acess": {},
}`);
    await vi.waitFor(async () => expect((await settings()).errors).toHaveLength(3), WAIT);
    const { errors, values } = await settings();
    expect(errors).toEqual([
      expect.stringContaining('config.json:4:3: a comma is missing before this'),
      expect.stringContaining('config.json:4:15: limits.messagesPerMinute: '),
      expect.stringContaining('config.json:5:3: acess: there is no such field'),
    ]);
    expect(values).toMatchObject({ persona: 'You are Polly.', limits: { messagesPerMinute: 10 } });
    expect(await status()).toMatch(/The settings have errors; [^]*:4:15: limits\.messagesPerMinute/);
    const open = await (await fetch(`${fixture().gateway.url}/readyz`)).json();
    expect(open).toMatchObject({ ready: true, settings: { state: 'degraded' } });
    expect(JSON.stringify(open)).not.toContain('acess');
    expect(fixture().log.filter((line) => line.includes('settings_invalid'))).toHaveLength(1);
    gate.resolve();
    for (const session of sessions) await fixture().idle(`http:${session}`);
    for (const session of sessions) {
      const calls = callsOf(`of ${session}.`);
      expect(calls).toHaveLength(2);
      for (const { messages } of calls) expect(messages[0]?.content).toContain('You are Polly.');
    }
    await edit(FILE);
    await counts({ persona: 'You are Polly.' });
    expect(await status()).not.toContain('errors');
  });

  it('report what applies only after a restart, until the change is reverted', async () => {
    const channels = { http: { limits: { turnsPerToken: 7 } } };
    await edit({ ...FILE, persona: 'You are Jack.', channels, turns: { concurrency: 9 } });
    const waiting = ['channels.http.limits.turnsPerToken', 'turns.concurrency'];
    await vi.waitFor(async () => expect((await settings()).needsRestart).toEqual(waiting), WAIT);
    expect(await status()).toContain(`Changed settings that need a restart: ${waiting.join(', ')}`);
    const lines = fixture().log.filter((line) => line.includes('settings_need_restart'));
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain('turns.concurrency');
    // The rest of the edit applies.
    await fixture().post('rest', 'third question');
    const { body } = await fixture().modelCall('third question');
    expect(body.messages[0]?.content).toContain('You are Jack.');
    await fixture().idle('http:rest');
    await edit(FILE);
    await vi.waitFor(async () => expect((await settings()).needsRestart).toEqual([]), WAIT);
    expect(await status()).not.toContain('restart');
  });

  it('refuse unknown tools and a deleted file, and keep the previous settings', async () => {
    await edit({ ...FILE, persona: 'You are Jack.', tools: { enabled: ['dance'] } });
    await vi.waitFor(async () => expect((await settings()).errors.join()).toContain('no tool "dance"'), WAIT);
    expect((await settings()).values).toMatchObject({ persona: 'You are Polly.' });
    await rename(path.join(fixture().home, 'config.json'), path.join(fixture().home, 'elsewhere.json'));
    await vi.waitFor(async () => expect((await settings()).errors.join()).toContain('is gone'), WAIT);
    await edit(FILE);
    await counts({ persona: 'You are Polly.' });
  });

  it('take over what "parley config set" writes, which keeps the comments', async () => {
    await edit(
      `{ // who it is\n  "persona": "You are Polly.",\n  "access": { "telegram": { "allow": ["${FRIENDS[0]}"] } },\n}`,
    );
    await counts({
      access: expect.objectContaining({ telegram: expect.objectContaining({ dm: 'pairing' }) }),
    });
    const said = configCommand(['set', 'persona', 'You are Anne.'])(editableConfig(fixture().env));
    expect(said).toContain('applies it automatically');
    await counts({ persona: 'You are Anne.' });
    expect(await readFile(path.join(fixture().home, 'config.json'), 'utf8')).toContain('// who it is');
    const waits = configCommand(['set', 'turns.concurrency', '64'])(editableConfig(fixture().env));
    expect(waits).toContain('needs a restart');
    const schema = await readFile(path.join(fixture().home, 'config.schema.json'), 'utf8');
    expect(JSON.parse(schema)).toMatchObject({ type: 'object', additionalProperties: false });
  });
});
