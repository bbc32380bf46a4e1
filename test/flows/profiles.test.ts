/** Profiles in a house that runs: edited, switched, two at once; who may switch, and what people are told. */
import { mkdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, it, vi } from 'vitest';
import { hashSecret, newToken } from '../../src/security/index.ts';
import { describeHouse, FRIENDS, WAIT } from './setup.ts';

const people = FRIENDS.values();
const OWNER_ID = '6001';
const FILE = {
  access: { telegram: { allow: FRIENDS }, owners: { telegram: [OWNER_ID] } },
  tools: { enabled: ['list_dir', 'switch_profile'] },
};

describeHouse('profiles', { telegram: true, file: FILE }, (house) => {
  const write = async (id: string, name: string, content: unknown): Promise<void> => {
    const folder = path.join(house().home, 'profiles', id);
    await mkdir(folder, { recursive: true });
    const text = typeof content === 'string' ? content : JSON.stringify(content);
    await writeFile(path.join(folder, name), text);
  };
  /** What `/profile` answers in the owner's `http:` session. */
  const command = async (id: string, content: string): Promise<string> => {
    const answer = await house().call(`/v1/sessions/http:${id}/messages`, { json: { content } });
    const { reply }: { reply?: string } = await answer.json();
    return reply ?? '';
  };
  const told = (content: string, pattern: RegExp): Promise<void> =>
    vi.waitFor(async () => expect(await command('looks', content)).toMatch(pattern), WAIT);
  /** What a person reads last in a private chat after writing this. */
  const says = async (person: string, text: string): Promise<string> => {
    const shown = house().telegram.screen(person).length;
    house().telegram.says(person, text, person);
    return await vi.waitFor(() => {
      const screen = house().telegram.screen(person);
      if (screen.length <= shown) throw new Error(`nothing new: ${JSON.stringify(screen)}`);
      return screen.at(-1) ?? '';
    }, WAIT);
  };
  const systemOf = async (said: string): Promise<string> => {
    const { body } = await house().modelCall(said);
    return body.messages
      .filter(({ role }) => role === 'system')
      .map(({ content }) => content)
      .join('\n');
  };

  it('uses an edited profile at the next turn, without a restart and without the old prompt (N-72, N-73)', async () => {
    await write('coder', 'system_prompt.md', 'You write COBOL.');
    await told('/profile', /`coder`/);
    expect(await command('edits', '/profile coder')).toContain('`coder`');
    await house().post('edits', 'first question');
    expect(await systemOf('first question')).toContain('You write COBOL.');
    await house().idle('http:edits');
    await write('coder', 'system_prompt.md', 'You write Haskell.');
    await write('coder', 'config.json', { description: 'Second edition', enabledTools: [] });
    await told('/profile', /Second edition; no tools/);
    await house().post('edits', 'second question');
    const system = await systemOf('second question');
    expect(system).toContain('You write Haskell.');
    expect(system).not.toContain('COBOL');
    expect((await house().modelCall('second question')).body.tools ?? []).toEqual([]);
    await house().idle('http:edits');
  });

  it('runs two profiles with different flags in one process (N-31, N-32, N-41)', async () => {
    await write('quiet', 'config.json', {
      thinkEnabled: false,
      iterationBudgetEnabled: false,
      temperature: 0.1,
    });
    await write('loud', 'config.json', {
      thinkEnabled: true,
      iterationBudgetEnabled: true,
      maxIterations: 3,
    });
    await told('/profile', /`loud`[\s\S]*`quiet`/);
    await command('quiet', '/profile quiet');
    await command('loud', '/profile loud');
    await Promise.all([house().post('quiet', 'asked quietly'), house().post('loud', 'asked loudly')]);
    const [quiet, loud] = await Promise.all([
      house().modelCall('asked quietly'),
      house().modelCall('asked loudly'),
    ]);
    expect(quiet.body).toMatchObject({ think: false, options: { temperature: 0.1 } });
    expect(await systemOf('asked quietly')).not.toContain('Iterations left');
    expect(loud.body.think).toBe(true);
    expect(await systemOf('asked loudly')).toContain('3 of 3');
    await house().idle('http:quiet');
    await house().idle('http:loud');
  });

  it('goes on with what a broken file said before, and tells health, the status and the owner', async () => {
    await write('fragile', 'config.json', { description: 'Good words' });
    await told('/profile', /Good words/);
    await write('fragile', 'config.json', '{"description": "secret-snippet", oops');
    await told('/profile', /profiles\/fragile\/config\.json: is not JSON/);
    expect(await command('looks', '/profile')).toContain('Good words');
    expect(await command('looks', '/status')).toContain('profiles have errors');
    const { profiles, ready } = await house().gateway.health();
    expect(ready).toBe(true);
    expect(profiles).toMatchObject({ state: 'degraded' });
    expect(JSON.stringify(profiles)).not.toContain('secret-snippet');
    const friend = people.next().value ?? '';
    expect(await says(friend, '/profile')).toContain('Good words');
    expect(JSON.stringify(house().telegram.screen(friend))).not.toContain('is not JSON');
    await rm(path.join(house().home, 'profiles', 'fragile'), { recursive: true });
    await vi.waitFor(
      async () => expect((await house().gateway.health()).profiles).toEqual({ state: 'up' }),
      WAIT,
    );
  });

  it('lets only owners switch, in chats as over HTTP', async () => {
    await write('guarded', 'config.json', { description: 'For owners to choose' });
    await told('/profile', /For owners to choose/);
    const friend = people.next().value ?? '';
    expect(await says(friend, '/profile guarded')).toContain('Only an owner');
    expect(await says(friend, '/model fake')).toContain('Only an owner');
    expect(await says(OWNER_ID, '/profile guarded')).toContain('guarded');
    expect(await says(OWNER_ID, '/model plain')).toContain('plain');
    const session = await house().store.ledger.session(`telegram:${OWNER_ID}`);
    expect(session).toMatchObject({ profileId: 'guarded', model: 'plain:latest' });
    expect(await says(OWNER_ID, '/profile nobody')).toContain('There is no profile');
    expect(await says(OWNER_ID, '/model nobody')).toContain('There is no model');
    expect(await says(OWNER_ID, '/model default')).toContain('fake');
    expect((await house().store.ledger.session(`telegram:${OWNER_ID}`))?.model).toBeUndefined();
    const { secret } = await chatToken();
    await house().call('/v1/sessions/http:chatter/messages', { token: secret, json: { content: 'hi' } });
    const change = { method: 'PATCH', token: secret, json: { profileId: 'guarded' } };
    const refused = await house().call('/v1/sessions/http:chatter', change);
    expect(refused.status).toBe(403);
    await house().idle('http:chatter');
  });

  it('lets the model of an owner switch in the middle of a turn, and nobody else’s (N-55)', async () => {
    await write('tooled', 'config.json', { enabledTools: ['read_file'] });
    await write('tooled', 'system_prompt.md', 'You are tooled.');
    await told('/profile', /`tooled`/);
    const toolCalls = [{ name: 'switch_profile', args: { profile: 'tooled' } }];
    house().ollama.answer({ toolCalls }, { when: 'switch yourself' });
    await house().post('switching', 'switch yourself');
    await house().idle('http:switching');
    const { body } = await house().modelCall('switch yourself');
    expect(body.tools?.map((tool) => tool.function.name)).toEqual(['read_file']);
    expect(body.messages[0]?.content).toContain('You are tooled.');
    const friend = people.next().value ?? '';
    house().ollama.answer({ toolCalls }, { when: 'switch me, too' });
    house().telegram.says(friend, 'switch me, too', friend);
    await vi.waitFor(async () => {
      const asked = await house().modelCall('switch me, too');
      expect(JSON.stringify(asked.body.messages)).toContain('Only an owner');
    }, WAIT);
    await house().idle(`telegram:${friend}`);
    expect((await house().store.ledger.session(`telegram:${friend}`))?.profileId).toBe('default');
  });

  /** A token that may chat and owns nothing. */
  async function chatToken(): Promise<{ secret: string }> {
    const secret = newToken();
    await house().store.access.putToken({ hash: hashSecret(secret), name: 'chatter', scopes: ['chat'] });
    return { secret };
  }
});
