/**
 * Edits of every kind while the gateway runs: bindings, groups, schedules, prompt files, profiles and their fallbacks
 * apply at once.
 */
import { mkdir, rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, it, vi } from 'vitest';
import { FAKE_MODELS } from '../../fakes/ollama/models.ts';
import { FAKE_BOT } from '../../fakes/telegram/telegram.ts';
import { describeGateway, WAIT } from '../setup.ts';

const [usualModel] = FAKE_MODELS;
const models = usualModel === undefined ? [] : [usualModel, { ...usualModel, name: 'spare:latest' }];
const NAME = `@${FAKE_BOT.username}`;
const GROUP = '-4300';
const [OWNER, ANN] = ['7001', '7002'];
const FILE = {
  limits: { messagesPerMinute: 1_000, messagesAtOnce: 1_000 },
  access: {
    telegram: { allow: [OWNER, ANN], groups: { [GROUP]: {} } },
    owners: { telegram: [OWNER] },
  },
};

describeGateway('an edit', { telegram: true, file: FILE, model: { models } }, (fixture) => {
  /** Writes a file as editors do: next to it first, then in its place. */
  const write = async (name: string, content: unknown): Promise<void> => {
    const file = path.join(fixture().home, name);
    await mkdir(path.dirname(file), { recursive: true });
    const text = typeof content === 'string' ? content : JSON.stringify(content);
    await writeFile(`${file}.swp`, text, { mode: 0o600 });
    await rename(`${file}.swp`, file);
  };
  const edit = async (more: object, counts: object = more): Promise<void> => {
    await write('config.json', { ...FILE, ...more });
    await vi.waitFor(async () => {
      const answer = await (await fixture().call('/v1/settings')).json();
      expect(answer).toMatchObject({ values: counts, errors: [] });
    }, WAIT);
  };
  let count = 0;
  /** What the model was asked when a user wrote; the question ends with a unique number. */
  const asks = async (from: string, chat = from) => {
    count += 1;
    const text = `question ${count}.`;
    fixture().telegram.says(chat, chat === from ? text : `${NAME} ${text}`, from);
    const { body } = await fixture().modelCall(text);
    await fixture().idle(`telegram:${chat}`);
    return { body, system: body.messages.find(({ role }) => role === 'system')?.content ?? '' };
  };
  /** Asks until the prompt says this: a profile applies once it is read. */
  const asksUntil = (what: string): Promise<void> =>
    vi.waitFor(async () => expect((await asks(OWNER)).system).toContain(what), { ...WAIT, interval: 200 });
  const says = async (from: string, text: string): Promise<string> => {
    const before = fixture().telegram.screen(from).length;
    fixture().telegram.says(from, text, from);
    return await vi.waitFor(() => {
      const screen = fixture().telegram.screen(from);
      if (screen.length <= before) throw new Error('no reply yet');
      return screen.at(-1) ?? '';
    }, WAIT);
  };

  it('of a profile, its fallbacks and the prompt files applies to the next turn', async () => {
    await write('workspace/AGENTS.md', 'Greet people by name.');
    await asksUntil('Greet people by name.');
    await write('workspace/AGENTS.md', 'Greet nobody.');
    await asksUntil('Greet nobody.');
    await write('profiles/default/config.json', { fallbacks: [] });
    await write('profiles/default/system_prompt.md', 'First edition.');
    await asksUntil('First edition.');
    await write('profiles/default/config.json', { fallbacks: ['spare'] });
    await write('profiles/default/system_prompt.md', 'Second edition.');
    await asksUntil('Second edition.');
    const failure = { kind: 'status', status: 500, error: 'model requires more system memory' } as const;
    fixture().ollama.answer({ failure }, { when: `question ${count + 1}.` });
    await asks(ANN);
    expect((await fixture().modelCall(`question ${count}.`)).body.model).toMatch(/^spare/);
  });

  it('of the bindings applies to the next message, and is reverted by the next edit', async () => {
    await write('profiles/team/config.json', { enabledTools: [] });
    await write('profiles/team/system_prompt.md', 'You are the team.');
    await vi.waitFor(async () => {
      const ids = JSON.stringify(await (await fixture().call('/v1/models')).json());
      expect(ids).toContain('"team"');
    }, WAIT);
    expect((await asks(ANN)).system).not.toContain('You are the team.');
    await edit({ bindings: [{ channel: 'telegram', user: ANN, profile: 'team', model: 'spare' }] });
    const bound = await asks(ANN);
    expect([bound.system, bound.body.model]).toEqual([expect.stringContaining('You are the team.'), 'spare']);
    expect((await asks(OWNER)).system).not.toContain('You are the team.');
    await edit({}, { bindings: [] });
    expect((await asks(ANN)).system).not.toContain('You are the team.');
  });

  it('lets the bot read along in a group from then on, and no longer after the next edit', async () => {
    const { telegram, sql } = fixture();
    const talks = (text: string): void => void telegram.says(GROUP, text, ANN);
    const observed = async (): Promise<string[]> =>
      (await sql`select content from observed order by id`).map(({ content }) => String(content));
    talks('Nobody hears this.');
    await asks(OWNER, GROUP);
    const groups = (observe: boolean) => ({
      access: { ...FILE.access, telegram: { ...FILE.access.telegram, groups: { [GROUP]: { observe } } } },
    });
    await edit(groups(true));
    talks('This is heard.');
    await vi.waitFor(async () => expect(await observed()).toEqual(['This is heard.']), WAIT);
    const { body } = await asks(OWNER, GROUP);
    expect(JSON.stringify(body.messages)).toContain('This is heard.');
    expect(JSON.stringify(body.messages)).not.toContain('Nobody hears this.');
    await edit(groups(false));
    talks('Nobody hears this either.');
    expect(JSON.stringify((await asks(OWNER, GROUP)).body.messages)).not.toContain('either');
    await edit({}, {});
  });

  it('of the schedules applies to the next one: their zone and how many a chat may have', async () => {
    await edit({ schedules: { timeZone: 'Asia/Tokyo', perSession: 1 } });
    expect(await says(ANN, '/schedule add "0 9 * * *" Say good morning')).toContain('(Asia/Tokyo)');
    expect(await says(ANN, '/schedule add "0 10 * * *" Say it again')).toMatch(/at most 1|1 schedule/);
    await edit({ schedules: { timeZone: 'UTC', perSession: 2 } });
    expect(await says(ANN, '/schedule add "0 10 * * *" Say it again')).toContain('(UTC)');
  });

  it('with three errors leaves everything as it was, and names all three with their lines', async () => {
    const text = `{
  "access": { "telegram": { "allow": ["${OWNER}", "${ANN}"] } },
  "bindings": [{ "channel": "semaphore", "profile": "default" }],
  "speech": { "baseUrl": "http://127.0.0.1:1/v1", "apiKeyEnv": "NO_SUCH_KEY" },
  "schedules": { "timeZone": "Mars" }
}`;
    await write('config.json', text);
    const errors = await vi.waitFor(async () => {
      const body: { errors: string[] } = await (await fixture().call('/v1/settings')).json();
      if (body.errors.length === 0) throw new Error('the file is not read yet');
      return body.errors;
    }, WAIT);
    expect(errors).toEqual([
      expect.stringMatching(/config\.json:3:\d+: bindings\.0\.channel/),
      expect.stringMatching(
        /config\.json:4:\d+: speech\.apiKeyEnv: the environment variable NO_SUCH_KEY is not set/,
      ),
      expect.stringMatching(/config\.json:5:\d+: schedules\.timeZone/),
    ]);
    expect((await asks(ANN)).body.messages.length).toBeGreaterThan(1);
    await edit({}, {});
  });
});
