/** Profiles in a running gateway: edited, switched, two at once; who may switch, and what users are told. */
import { mkdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, it, vi } from 'vitest';
import { hashSecret, newToken } from '../../../src/security/token-lookup.ts';
import { describeGateway, FRIENDS, WAIT } from '../setup.ts';
import { lastNote } from '../../fakes/model/spoken-text.ts';

const people = FRIENDS.values();
const OWNER_ID = '6001';
const FILE = {
  access: { telegram: { allow: FRIENDS }, owners: { telegram: [OWNER_ID] } },
  tools: { enabled: ['list_dir', 'switch_profile'] },
};

describeGateway('profiles', { telegram: true, file: FILE }, (fixture) => {
  const write = async (id: string, name: string, content: unknown): Promise<void> => {
    const folder = path.join(fixture().home, 'profiles', id);
    await mkdir(folder, { recursive: true });
    const text = typeof content === 'string' ? content : JSON.stringify(content);
    await writeFile(path.join(folder, name), text);
  };
  /** What `/profile` answers in the owner's `http:` session. */
  const command = async (id: string, content: string): Promise<string> => {
    const answer = await fixture().call(`/v1/sessions/http:${id}/messages`, { json: { content } });
    const { reply }: { reply?: string } = await answer.json();
    return reply ?? '';
  };
  const told = (content: string, pattern: RegExp): Promise<void> =>
    vi.waitFor(async () => expect(await command('looks', content)).toMatch(pattern), WAIT);
  /** What a person reads last in a private chat after writing this. */
  const says = async (person: string, text: string): Promise<string> => {
    const shown = fixture().telegram.screen(person).length;
    fixture().telegram.says(person, text, person);
    return await vi.waitFor(() => {
      const screen = fixture().telegram.screen(person);
      if (screen.length <= shown) throw new Error(`nothing new: ${JSON.stringify(screen)}`);
      return screen.at(-1) ?? '';
    }, WAIT);
  };
  const systemOf = async (said: string): Promise<string> => {
    const { body } = await fixture().modelCall(said);
    const system = body.messages.find(({ role }) => role === 'system')?.content ?? '';
    return `${system}\n${lastNote(body)}`;
  };

  it('uses an edited profile at the next turn, without a restart and without the old prompt (N-72, N-73)', async () => {
    await write('coder', 'system_prompt.md', 'You write COBOL.');
    await write('coder', 'config.json', { description: 'First edition' });
    await told('/profile', /First edition/);
    expect(await command('edits', '/profile coder')).toContain('`coder`');
    await fixture().post('edits', 'first question');
    expect(await systemOf('first question')).toContain('You write COBOL.');
    await fixture().idle('http:edits');
    await write('coder', 'system_prompt.md', 'You write Haskell.');
    await write('coder', 'config.json', { description: 'Second edition', enabledTools: [] });
    await told('/profile', /Second edition; no tools/);
    await fixture().post('edits', 'second question');
    const system = await systemOf('second question');
    expect(system).toContain('You write Haskell.');
    expect(system).not.toContain('COBOL');
    expect((await fixture().modelCall('second question')).body.tools ?? []).toEqual([]);
    await fixture().idle('http:edits');
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
    await Promise.all([fixture().post('quiet', 'asked quietly'), fixture().post('loud', 'asked loudly')]);
    const [quiet, loud] = await Promise.all([
      fixture().modelCall('asked quietly'),
      fixture().modelCall('asked loudly'),
    ]);
    expect(quiet.body).toMatchObject({ think: false, options: { temperature: 0.1 } });
    expect(await systemOf('asked quietly')).not.toContain('Iterations left');
    expect(loud.body.think).toBe(true);
    expect(await systemOf('asked loudly')).toContain('3 of 3');
    await fixture().idle('http:quiet');
    await fixture().idle('http:loud');
  });

  it('keeps the last valid version of a broken file, and reports it in the health, the status and to the owner', async () => {
    await write('fragile', 'config.json', { description: 'Good words' });
    await told('/profile', /Good words/);
    await write('fragile', 'config.json', '{"description": "secret-snippet", oops: }');
    await told('/profile', /profiles\/fragile\/config\.json:1:35: this is not a value/);
    expect(await command('looks', '/profile')).toContain('Good words');
    expect(await command('looks', '/status')).toContain('profiles have errors');
    const { profiles, ready } = await fixture().gateway.health();
    expect(ready).toBe(true);
    expect(profiles).toMatchObject({ state: 'degraded' });
    expect(JSON.stringify(profiles)).not.toContain('secret-snippet');
    const friend = people.next().value ?? '';
    expect(await says(friend, '/profile')).toContain('Good words');
    expect(JSON.stringify(fixture().telegram.screen(friend))).not.toContain('this is not a value');
    await rm(path.join(fixture().home, 'profiles', 'fragile'), { recursive: true });
    await vi.waitFor(
      async () => expect((await fixture().gateway.health()).profiles).toEqual({ state: 'up' }),
      WAIT,
    );
  });

  it('lets only owners switch, in chats as well as over HTTP', async () => {
    await write('guarded', 'config.json', { description: 'For owners to choose' });
    await told('/profile', /For owners to choose/);
    const friend = people.next().value ?? '';
    expect(await says(friend, '/profile guarded')).toContain('Only an owner');
    expect(await says(friend, '/model fake')).toContain('Only an owner');
    expect(await says(OWNER_ID, '/profile guarded')).toContain('guarded');
    expect(await says(OWNER_ID, '/model plain')).toContain('plain');
    const session = await fixture().store.ledger.session(`telegram:${OWNER_ID}`);
    expect(session).toMatchObject({ profileId: 'guarded', model: 'plain:latest' });
    expect(await says(OWNER_ID, '/profile nobody')).toContain('There is no profile');
    expect(await says(OWNER_ID, '/model nobody')).toContain('There is no model');
    expect(await says(OWNER_ID, '/model default')).toContain('fake');
    expect((await fixture().store.ledger.session(`telegram:${OWNER_ID}`))?.model).toBeUndefined();
    const { secret } = await chatToken();
    await fixture().call('/v1/sessions/http:chatter/messages', { token: secret, json: { content: 'hi' } });
    const change = { method: 'PATCH', token: secret, json: { profileId: 'guarded' } };
    const refused = await fixture().call('/v1/sessions/http:chatter', change);
    expect(refused.status).toBe(403);
    await fixture().idle('http:chatter');
  });

  it('lets the model of an owner switch in the middle of a turn, and no one else’s (N-55)', async () => {
    await write('tooled', 'config.json', { enabledTools: ['read_file'] });
    await write('tooled', 'system_prompt.md', 'You are tooled.');
    await told('/profile', /`tooled`/);
    const toolCalls = [{ name: 'switch_profile', args: { profile: 'tooled' } }];
    fixture().ollama.answer({ toolCalls }, { when: 'switch yourself' });
    await fixture().post('switching', 'switch yourself');
    await fixture().idle('http:switching');
    const { body } = await fixture().modelCall('switch yourself');
    expect(body.tools?.map((tool) => tool.function.name)).toEqual([
      'read_file',
      'plan',
      'todo',
      'scratchpad',
    ]);
    expect(body.messages[0]?.content).toContain('You are tooled.');
    const friend = people.next().value ?? '';
    fixture().ollama.answer({ toolCalls }, { when: 'switch me, too' });
    fixture().telegram.says(friend, 'switch me, too', friend);
    await vi.waitFor(async () => {
      const asked = await fixture().modelCall('switch me, too');
      expect(JSON.stringify(asked.body.messages)).toContain('Only an owner');
    }, WAIT);
    await fixture().idle(`telegram:${friend}`);
    expect((await fixture().store.ledger.session(`telegram:${friend}`))?.profileId).toBe('default');
  });

  /** A token that may chat and owns nothing. */
  async function chatToken(): Promise<{ secret: string }> {
    const secret = newToken();
    await fixture().store.access.putToken({ hash: hashSecret(secret), name: 'chatter', scopes: ['chat'] });
    return { secret };
  }
});
