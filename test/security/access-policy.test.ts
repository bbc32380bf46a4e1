/** Who may speak where: strangers, the paired, groups, owners, and what becomes of a pairing code. */
import { expect, it } from 'vitest';
import type { ChannelAccess } from '../../src/contracts/access.ts';
import { createAccessPolicy, hashSecret } from '../../src/security/index.ts';
import { GRANT_CACHE_MS, MAX_PAIRINGS } from '../../src/security/access-policy.ts';
import { describeEachDatabase } from '../database.ts';
import type { TestStore } from '../database.ts';
import { inbound } from '../store/requests.ts';

const RULES: ChannelAccess = { dm: 'pairing', allow: ['11'], groups: {}, owners: ['99'] };

function policyOf(store: TestStore, rules: Partial<ChannelAccess> = {}) {
  const clock = { ms: 0 };
  const policy = createAccessPolicy({
    access: store.access,
    channelAccess: (channel) => (channel === 'telegram' ? { ...RULES, ...rules } : undefined),
    now: () => clock.ms,
  });
  const from = (senderId: string, more = {}) => policy.authorize(inbound('m', { senderId, ...more }));
  return { policy, clock, from };
}

const GROUP = { place: 'group' as const, chatId: '-5', mentioned: true };
const codeIn = (reply: string | undefined): string => /pair approve (\w+)/.exec(reply ?? '')?.[1] ?? '';

describeEachDatabase('the access policy', (databases) => {
  it('knows owners by what is configured and by the scopes of their token, and nobody else', async () => {
    const store = await databases.open();
    const make = (name: string, scopes: ('chat' | 'admin')[]) =>
      store.access.putToken({ hash: hashSecret(name), name, scopes });
    const admin = await make('boss', ['chat', 'admin']);
    const friend = await make('friend', ['chat']);
    const { policy } = policyOf(store);
    const ids = [
      'telegram:99',
      'telegram:11',
      'discord:99',
      `token:${admin.tokenId}`,
      `token:${friend.tokenId}`,
    ];
    const owners = await Promise.all([...ids, 'system', 'token:', '99', ''].map((id) => policy.isOwner(id)));
    expect(owners).toEqual([true, false, false, true, false, false, false, false, false]);
    await store.access.revokeToken(admin.tokenId);
    expect(await policy.isOwner(`token:${admin.tokenId}`)).toBe(false);
  });

  it('keeps private and group rights apart: neither opens the other', async () => {
    const store = await databases.open();
    await store.access.addGrant('telegram', 'dm', '21');
    await store.access.addGrant('telegram', 'group', '-6');
    const { from } = policyOf(store, { groups: { '-7': { mention: true }, '-8': { mention: false } } });
    const table: [string, object, 'allow' | 'deny' | 'pairing'][] = [
      ['21', {}, 'allow'],
      ['21', { ...GROUP, chatId: '-5' }, 'deny'],
      ['21', { ...GROUP, chatId: '-6' }, 'allow'],
      ['31', { ...GROUP, chatId: '-6' }, 'allow'],
      ['31', { ...GROUP, chatId: '-6', mentioned: false }, 'deny'],
      ['31', { ...GROUP, chatId: '-7' }, 'allow'],
      ['31', { ...GROUP, chatId: '-7', mentioned: false }, 'deny'],
      ['31', { ...GROUP, chatId: '-8', mentioned: false }, 'allow'],
      ['11', {}, 'allow'],
      ['11', { ...GROUP, chatId: '-5' }, 'deny'],
      ['99', {}, 'allow'],
      ['99', { ...GROUP, chatId: '-5' }, 'deny'],
      ['-6', {}, 'pairing'],
      ['31', {}, 'pairing'],
      ['41', { senderName: '11' }, 'pairing'],
      ['51', { channel: 'discord' }, 'deny'],
      ['51', { channel: 'http' }, 'deny'],
    ];
    for (const [senderId, more, kind] of table) {
      expect((await from(senderId, more)).kind, `${senderId} ${JSON.stringify(more)}`).toBe(kind);
    }
  });

  it('tells only an owner how a group is let in', async () => {
    const { from } = policyOf(await databases.open());
    expect(await from('99', GROUP)).toEqual({
      kind: 'deny',
      reply: expect.stringContaining('pair group telegram -5'),
    });
    expect(await from('31', GROUP)).toEqual({ kind: 'deny' });
    expect(await from('99', { ...GROUP, mentioned: false })).toEqual({ kind: 'deny' });
  });

  it('gives strangers nothing where only the listed may write, and asks nobody where all may', async () => {
    const store = await databases.open();
    expect(await policyOf(store, { dm: 'allowlist' }).from('31')).toEqual({ kind: 'deny' });
    expect(await policyOf(store, { dm: 'open' }).from('31')).toEqual({ kind: 'allow', owner: false });
    expect(await store.access.pairings()).toEqual([]);
  });

  it('takes a code once, in its hour, from nobody else’s hand', async () => {
    const store = await databases.open();
    const { access, sql } = store;
    const { from } = policyOf(store);
    const first = await from('31');
    const code = 'reply' in first ? codeIn(first.reply) : '';
    expect(code).toMatch(/^[A-HJ-NP-Z2-9]{8}$/);
    expect(await from('31')).toEqual({ kind: 'deny' });
    for (const wrong of ['', 'AAAAAAAA', `${code}A`, code.slice(1)]) {
      expect(await access.approvePairing(hashSecret(wrong)), `code ${wrong}`).toBeUndefined();
    }
    expect(JSON.stringify(await sql`select * from pairing`)).not.toContain(code);
    expect(await access.approvePairing(hashSecret(code))).toMatchObject({
      channel: 'telegram',
      senderId: '31',
    });
    expect(await access.approvePairing(hashSecret(code))).toBeUndefined();
    expect(await from('31')).toEqual({ kind: 'allow', owner: false });
    expect((await from('32')).kind).toBe('pairing');
  });

  it('takes no code after its hour, and gives a new one then', async () => {
    const store = await databases.open();
    const { from } = policyOf(store);
    const first = await from('31');
    await store.sql`update pairing set expires_at = now() - interval '1 second'`;
    expect(
      await store.access.approvePairing(hashSecret('reply' in first ? codeIn(first.reply) : '')),
    ).toBeUndefined();
    expect((await from('31')).kind).toBe('pairing');
  });

  it(`holds ${MAX_PAIRINGS} codes of a channel and is silent to further strangers`, async () => {
    const { from } = policyOf(await databases.open());
    for (let n = 0; n < MAX_PAIRINGS; n += 1) expect((await from(`${1_000 + n}`)).kind).toBe('pairing');
    expect(await from('5000')).toEqual({ kind: 'deny' });
  });

  it('lets a revoked person in for two seconds at most', async () => {
    const store = await databases.open();
    await store.access.addGrant('telegram', 'dm', '21');
    const { from, clock } = policyOf(store);
    expect((await from('21')).kind).toBe('allow');
    await store.access.removeGrant('telegram', 'dm', '21');
    clock.ms += GRANT_CACHE_MS;
    expect((await from('21')).kind).toBe('pairing');
    expect(GRANT_CACHE_MS).toBeLessThanOrEqual(2_000);
  });
});
