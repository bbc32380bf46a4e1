/** Who may write where: strangers, paired users, groups and owners; and the lifecycle of a pairing code. */
import { expect, it } from 'vitest';
import type { ChannelAccess } from '../../src/protocol/access.ts';
import { configureChannel } from '../../src/protocol/channel-manifest.ts';
import { createAccessPolicy } from '../../src/security/index.ts';
import { hashSecret } from '../../src/security/token-lookup.ts';
import { GRANT_CACHE_MS, MAX_PAIRINGS } from '../../src/security/access-policy.ts';
import { describeStore, type TestStore } from '../database.ts';
import { office } from '../fakes/office/manifest.ts';
import { inbound } from '../store/requests.ts';
import { inEnglish, type TextRef } from '../../src/protocol/texts/say.ts';

const RULES: ChannelAccess = { dm: 'pairing', allow: ['11'], groups: {}, owners: ['99'] };

function policyOf(
  store: TestStore,
  rules: Partial<ChannelAccess> = {},
  more: readonly [string, ChannelAccess][] = [],
) {
  const clock = { ms: 0 };
  const policy = createAccessPolicy({
    access: store.access,
    groupChats: store.groupChats,
    channelAccess: (channel) => new Map([['telegram', { ...RULES, ...rules }], ...more]).get(channel),
    monotonicNow: () => clock.ms,
  });
  const from = (senderId: string, fields = {}) => policy.authorize(inbound('m', { senderId, ...fields }));
  return { policy, clock, from };
}

const GROUP = { place: 'group' as const, chatId: '-5', mentioned: true };
const codeIn = (reply: TextRef | undefined): string =>
  /pair approve (\w+)/.exec(reply === undefined ? '' : inEnglish.text(reply))?.[1] ?? '';

describeStore('the access policy', (databases) => {
  it('recognizes owners by the configuration and by the scopes of their token', async () => {
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

  it('recognizes an owner by pairing, wherever they write, until that is revoked', async () => {
    const store = await databases.open();
    const { policy, clock, from } = policyOf(store, { groups: { '-7': { mention: true } } });
    await store.access.addGrant('telegram', 'owner', '21');
    expect(await policy.isOwner('telegram:21')).toBe(true);
    expect(await policy.isOwner('discord:21')).toBe(false);
    expect(await from('21')).toEqual({ kind: 'allow', owner: true });
    expect(await from('21', { ...GROUP, chatId: '-7' })).toEqual({ kind: 'allow', owner: true });
    // A group needs its own grant even for an owner, and a group is never an owner.
    expect(await from('21', GROUP)).toMatchObject({ kind: 'deny' });
    await store.access.addGrant('telegram', 'group', '-9');
    expect(await policy.isOwner('telegram:-9')).toBe(false);
    await store.access.removeGrant('telegram', 'owner', '21');
    clock.ms += GRANT_CACHE_MS + 1;
    expect(await policy.isOwner('telegram:21')).toBe(false);
    expect(await from('21')).toMatchObject({ kind: 'pairing' });
  });

  it('keeps private and group grants apart: neither implies the other', async () => {
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

  it('answers the users, groups and owners that a fourth channel lists, with its own id format', async () => {
    const { access } = configureChannel(
      office,
      { OFFICE_TOKEN: 'offb-123456' },
      {
        access: {
          office: { dm: 'allowlist', allow: ['U0123ABC'], groups: { C0123ABC: { mention: false } } },
          owners: { office: ['U0456DEF'] },
        },
        settings: {},
      },
    );
    if (access === undefined) throw new Error('no access rules');
    const { policy, from } = policyOf(await databases.open(), {}, [['office', access]]);
    const dm = { channel: 'office', chatId: 'D0123ABC' };
    const group = { channel: 'office', chatId: 'C0123ABC', place: 'group', mentioned: false };
    expect(await from('U0123ABC', dm)).toEqual({ kind: 'allow', owner: false });
    expect(await from('U0456DEF', dm)).toEqual({ kind: 'allow', owner: true });
    expect(await from('U0789GHI', dm)).toEqual({ kind: 'deny' });
    expect(await from('U0789GHI', group)).toEqual({ kind: 'allow', owner: false });
    expect(await from('U0789GHI', { ...group, chatId: 'C0999XYZ' })).toEqual({ kind: 'deny', why: 'group' });
    expect(await policy.isOwner('office:U0456DEF')).toBe(true);
    expect(await policy.isOwner('office:U0123ABC')).toBe(false);
  });

  it('shows the command that allows a group only to an owner', async () => {
    const { from } = policyOf(await databases.open());
    expect(await from('99', GROUP)).toEqual({
      kind: 'deny',
      why: 'group',
      reply: { key: 'group.not_allowed', values: { channel: 'telegram', chat: '-5' } },
    });
    expect(await from('31', GROUP)).toEqual({ kind: 'deny', why: 'group' });
    expect(await from('99', { ...GROUP, mentioned: false })).toMatchObject({ kind: 'deny' });
  });

  it('ignores strangers under dm: allowlist, and answers everyone without pairing under dm: open', async () => {
    const store = await databases.open();
    expect(await policyOf(store, { dm: 'allowlist' }).from('31')).toEqual({ kind: 'deny' });
    expect(await policyOf(store, { dm: 'open' }).from('31')).toEqual({ kind: 'allow', owner: false });
    expect(await store.access.pairings()).toEqual([]);
  });

  it('accepts a code once, and grants only the user it was created for', async () => {
    const store = await databases.open();
    const { access, sql } = store;
    const { from } = policyOf(store);
    const first = await from('31');
    const code = 'reply' in first ? codeIn(first.reply) : '';
    expect(code).toMatch(/^[A-HJ-NP-Z2-9]{8}$/);
    expect(await from('31')).toEqual({ kind: 'deny', why: 'codes' });
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

  it('accepts no code after an hour, and offers a new one then', async () => {
    const store = await databases.open();
    const { from } = policyOf(store);
    const first = await from('31');
    await store.sql`update pairing set expires_at = now() - interval '1 second'`;
    expect(
      await store.access.approvePairing(hashSecret('reply' in first ? codeIn(first.reply) : '')),
    ).toBeUndefined();
    expect((await from('31')).kind).toBe('pairing');
  });

  it(`offers at most ${MAX_PAIRINGS} codes per channel at once and ignores further strangers`, async () => {
    const { from } = policyOf(await databases.open());
    for (let n = 0; n < MAX_PAIRINGS; n += 1) expect((await from(`${1_000 + n}`)).kind).toBe('pairing');
    expect(await from('5000')).toEqual({ kind: 'deny', why: 'codes' });
  });

  it('stops answering a revoked user within two seconds', async () => {
    const store = await databases.open();
    await store.access.addGrant('telegram', 'dm', '21');
    const { from, clock } = policyOf(store);
    expect((await from('21')).kind).toBe('allow');
    await store.access.removeGrant('telegram', 'dm', '21');
    clock.ms += GRANT_CACHE_MS;
    expect((await from('21')).kind).toBe('pairing');
    expect(GRANT_CACHE_MS).toBeLessThanOrEqual(2_000);
  });

  it('answers members of an allowed guild or role, in all its groups and nowhere else', async () => {
    const store = await databases.open();
    const { clock, from } = policyOf(store, { guilds: ['100'], roles: ['200'] });
    const member = (kind: 'guild' | 'role', id: string) => ({ ...GROUP, memberships: [{ kind, id }] });
    expect(await from('21', member('guild', '100'))).toEqual({ kind: 'allow', owner: false });
    expect(await from('21', member('role', '200'))).toEqual({ kind: 'allow', owner: false });
    expect(await from('21', { ...member('role', '200'), mentioned: false })).toMatchObject({ kind: 'deny' });
    for (const other of [member('role', '100'), member('guild', '200'), member('guild', '1'), GROUP])
      expect(await from('21', other)).toMatchObject({ kind: 'deny', why: 'group' });
    expect(await from('21', { memberships: [{ kind: 'role', id: '200' }] })).toMatchObject({
      kind: 'pairing',
    });
    await store.access.addGrant('telegram', 'role', '300');
    expect(await from('21', member('role', '300'))).toEqual({ kind: 'allow', owner: false });
    expect(await from('21', member('guild', '300'))).toMatchObject({ kind: 'deny' });
    await store.access.removeGrant('telegram', 'role', '300');
    clock.ms += GRANT_CACHE_MS + 1;
    expect(await from('21', member('role', '300'))).toMatchObject({ kind: 'deny' });
  });

  it("recognizes a thread's own grant only when its id is no other chat's", async () => {
    const store = await databases.open();
    await store.access.addGrant('telegram', 'group', '7');
    const inThread = { ...GROUP, threadId: '7' };
    expect(await policyOf(store, { threadsAreChats: true }).from('21', inThread)).toMatchObject({
      kind: 'allow',
    });
    expect(await policyOf(store).from('21', inThread)).toMatchObject({ kind: 'deny' });
    const listed = { groups: { '8': { mention: false } }, threadsAreChats: true as const };
    const quiet = { ...GROUP, threadId: '8', mentioned: false };
    expect(await policyOf(store, listed).from('21', quiet)).toMatchObject({ kind: 'allow' });
  });

  it('answers users who brought the bot into others’ chats by their own right, never by the chat’s', async () => {
    const store = await databases.open();
    const { from } = policyOf(store, { groups: { '-5': { mention: true } } });
    const guest = { ...GROUP, isGuest: true as const };
    expect(await from('11', guest)).toEqual({ kind: 'allow', owner: false });
    expect(await from('99', guest)).toEqual({ kind: 'allow', owner: true });
    expect(await from('21', guest)).toMatchObject({ kind: 'pairing' });
  });

  it('answers in the name of owners only, and gives no rights to whoever writes to them', async () => {
    const store = await databases.open();
    await store.access.addGrant('telegram', 'owner', '77');
    const { from } = policyOf(store, { dm: 'open', groups: { '99': { mention: false } } });
    const named = { place: 'group' as const, chatId: '99', mentioned: true };
    for (const owner of ['99', '77'])
      expect(await from('contact5', { ...named, onBehalfOf: owner })).toEqual({
        kind: 'allow',
        owner: false,
      });
    expect(await from('99', { ...named, onBehalfOf: '77' })).toEqual({ kind: 'allow', owner: false });
    expect(await from('99', { ...named, onBehalfOf: '99' })).toEqual({ kind: 'observe' });
    expect(await from('contact5', { ...named, onBehalfOf: '11' })).toEqual({ kind: 'deny' });
    expect(await from('contact5', { ...named, onBehalfOf: '99', fromBot: true })).toEqual({ kind: 'deny' });
  });
});
