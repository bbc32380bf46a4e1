/** Everything about people who write over HTTP: of a token, of an end user that a client names, of a user of the identity proxy. */
import { beforeAll, expect, it } from 'vitest';
import { endUserKey } from '../../../channels/http/inbound.ts';
import { hashSecret } from '../../../src/security/token-lookup.ts';
import { describeGateway } from '../setup.ts';
import { personText, rowsOf } from './person-data.ts';

const SECRETS = {
  ada: 'a-token-of-ada-0123456789',
  app: 'a-token-of-an-app-01234567',
  both: 'a-token-of-two-012345678',
};
const file = {
  tools: { enabled: ['memory'] },
  proxySignIn: { users: { 'ada@example.org': 'ada', 'bob@example.org': 'both', 'eve@example.org': 'both' } },
};

const model = { fallback: { text: 'Noted.' } };

describeGateway('the data of a person over HTTP', { file, model }, (fixture) => {
  const ids = new Map<string, string>();
  beforeAll(async () => {
    for (const [name, secret] of Object.entries(SECRETS)) {
      const scopes = ['chat', 'commands'] as const;
      const made = await fixture().store.access.putToken({
        hash: hashSecret(secret),
        name,
        scopes: [...scopes],
      });
      ids.set(name, made.tokenId);
    }
  });
  const person = (...args: string[]): Promise<string> => personText(fixture(), args);
  const says = async (token: string, id: string, content: string, user?: string): Promise<void> => {
    const json = { content, ...(user !== undefined && { user }) };
    const answer = await fixture().call(`/v1/sessions/http:${id}/messages`, { json, token });
    expect(answer.status).toBe(202);
    await fixture().idle(`http:${id}`);
  };
  const remembers = (token: string, id: string, fact: string, user?: string): Promise<void> => {
    const args = { action: 'save', text: fact };
    fixture().ollama.answer({ toolCalls: [{ name: 'memory', args }] }, { when: `note: ${fact}` });
    return says(token, id, `note: ${fact}`, user);
  };
  const rowsWith = async (word: string): Promise<string[]> =>
    (await rowsOf(fixture())).filter((row) => row.includes(word));

  it('of a token is deleted completely, with its sessions, memories, files, sign-ins and language', async () => {
    const ada = ids.get('ada') ?? '';
    await says(SECRETS.app, 'app', 'this stays with the app');
    await remembers(SECRETS.ada, 'ada', 'Ada keeps seven canaries');
    await fixture().call('/v1/language', { method: 'PATCH', json: { language: 'de' }, token: SECRETS.ada });
    const upload = await fixture().call('/v1/sessions/http:only-a-file/files?name=canaries.txt', {
      method: 'POST',
      token: SECRETS.ada,
      headers: { 'content-type': 'application/json' },
      json: { canaries: 7 },
    });
    expect(upload.status).toBe(201);
    const exported = JSON.parse(await person('export', `token:${ada}`)) as Record<
      string,
      { content?: string }[]
    >;
    expect(exported['memories']?.map(({ content }) => content)).toEqual(['Ada keeps seven canaries']);
    expect(exported['sessions']).toHaveLength(2);
    await expect(person('delete', `token:${ada}`)).rejects.toThrow(
      /their own sessions: http:ada, http:only-a-file/,
    );
    expect(await person('delete', 'proxy:ada@example.org', '--yes')).toContain('the token itself stays');
    expect(await rowsWith(ada)).toEqual([]);
    expect(await rowsWith('canaries')).toEqual([]);
    expect(await rowsWith('this stays with the app')).not.toEqual([]);
  });

  it('of an end user is deleted, and what others said to the same client stays', async () => {
    const app = ids.get('app') ?? '';
    const [grace, hedy] = ['grace@example.org', 'hedy@example.org'];
    await remembers(SECRETS.app, 'of-grace', 'Grace has a moth', grace);
    await remembers(SECRETS.app, 'of-hedy', 'Hedy has a torpedo', hedy);
    await says(SECRETS.app, 'of-both', 'a moth for the table', grace);
    await says(SECRETS.app, 'of-both', 'a torpedo for the table', hedy);
    const name = `token:${app}:user:${grace}`;
    const exported = await person('export', name);
    expect(exported).toContain('Grace has a moth');
    expect(exported).toContain('a moth for the table');
    expect(exported).not.toContain('torpedo');
    expect(await person('delete', name, '--yes')).toContain('their own sessions: http:of-grace');
    expect(await rowsWith(endUserKey(grace))).toEqual([]);
    expect(await rowsWith('moth')).toEqual([]);
    expect(await rowsWith('Hedy has a torpedo')).not.toEqual([]);
    expect(await rowsWith('a torpedo for the table')).not.toEqual([]);
    expect(await rowsWith(endUserKey(hedy))).not.toEqual([]);
    // Of the token everything goes, whichever end user said it.
    await person('delete', `token:${app}`, '--yes');
    expect(await rowsWith('torpedo')).toEqual([]);
    expect(await rowsWith(app)).toEqual([]);
  });

  it('of a proxy user who shares a token cannot be distinguished from that of the others', async () => {
    await expect(person('export', 'proxy:bob@example.org')).rejects.toThrow(/shares the token both/);
    await expect(person('export', 'proxy:nobody@example.org')).rejects.toThrow(
      /gives nobody@example.org no token/,
    );
    await expect(person('export', 'token:none')).rejects.toThrow(/There is no token none/);
  });
});
