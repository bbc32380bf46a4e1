/** `parley pair` for channels with different id formats. */
import { describe, expect, it } from 'vitest';
import { channels } from '../../channels/index.ts';
import { pairChannels, pairCommand } from '../../src/security/pair-command.ts';
import { hashSecret, newPairingCode } from '../../src/security/token-lookup.ts';
import { describeStore } from '../database.ts';
import { office } from '../fakes/office/manifest.ts';

const ALL = [...channels, office];

describeStore('parley pair', (databases) => {
  it('allows groups of every channel and revokes grants, with their id formats', async () => {
    const { access } = await databases.open();
    const pair = (...args: string[]) => pairCommand(access, ALL, args);
    expect(await pair()).toBe('No users are paired and no requests are pending.');
    expect(await pair('group', 'office', 'C0123ABC')).toBe(
      'The bot answers in office group C0123ABC when it is mentioned.',
    );
    expect(await access.hasGrant('office', 'group', 'C0123ABC')).toBe(true);
    expect(await pair()).toContain('granted  office group C0123ABC');
    expect(await pair('revoke', 'office', 'C0123ABC')).toBe('Revoked office C0123ABC.');
    expect(await access.hasGrant('office', 'group', 'C0123ABC')).toBe(false);
    await access.addGrant('office', 'dm', 'U0123ABC');
    expect(await pair('revoke', 'office', 'U0123ABC')).toBe('Revoked office U0123ABC.');
    await expect(pair('revoke', 'telegram', '-1001')).rejects.toThrow(
      'There is no grant for telegram -1001.',
    );
  });

  it('allows servers and roles where users belong to any', async () => {
    const { access } = await databases.open();
    const pair = (...args: string[]) => pairCommand(access, ALL, args);
    expect(await pair('guild', 'discord', '777')).toContain('Everyone in the discord guild 777');
    expect(await pair('role', 'discord', '778')).toContain('Everyone with the discord role 778');
    expect(await pair()).toMatch(/granted {2}discord guild 777 since .*\ngranted {2}discord role 778 since /);
    await expect(pair('role', 'telegram', '778')).rejects.toThrow(/on Telegram have no role/);
    await expect(pair('guild', 'discord', 'friends')).rejects.toThrow(/must be a numeric id/);
    expect(await pair('revoke', 'discord', '777')).toBe('Revoked discord 777.');
    expect(await pair('revoke', 'discord', '778')).toBe('Revoked discord 778.');
    expect(await access.grants()).toEqual([]);
  });

  it('approves a user by the code they were shown', async () => {
    const { access } = await databases.open();
    const code = newPairingCode();
    const request = {
      channel: 'office',
      senderId: 'U0123ABC',
      senderName: 'Ada',
      codeHash: hashSecret(code),
    };
    await access.openPairing({ ...request, ttlMs: 60_000, maxPending: 5 });
    expect(await pairCommand(access, ALL, [])).toMatch(/^pending {2}office U0123ABC Ada until /);
    expect(await pairCommand(access, ALL, ['approve', ` ${code}`])).toBe(
      'Ada (office U0123ABC) may write to the bot now.',
    );
    expect(await access.hasGrant('office', 'dm', 'U0123ABC')).toBe(true);
    await expect(pairCommand(access, ALL, ['approve', code])).rejects.toThrow(/unknown, used or expired/);
  });

  it('makes the first approved user the owner, unless told otherwise, until they are revoked', async () => {
    const { access } = await databases.open();
    const approve = async (senderId: string, firstOwns: boolean): Promise<string> => {
      const code = newPairingCode();
      const request = { channel: 'office', senderId, codeHash: hashSecret(code) };
      await access.openPairing({ ...request, ttlMs: 60_000, maxPending: 5 });
      return await pairCommand(access, ALL, ['approve', code], { firstOwns });
    };
    const owners = async (): Promise<string[]> =>
      (await access.grants()).filter(({ kind }) => kind === 'owner').map(({ id }) => id);
    expect(await approve('U0000000', false)).not.toContain('owner');
    expect(await owners()).toEqual([]);
    expect(await approve('U0000001', true)).toContain('npx parley pair revoke office U0000001');
    expect(await approve('U0000002', true)).toBe('U0000002 (office U0000002) may write to the bot now.');
    expect(await owners()).toEqual(['U0000001']);
    expect(await pairCommand(access, ALL, [])).toContain('granted  office owner U0000001');
    expect(await pairCommand(access, ALL, ['revoke', 'office', 'U0000001'])).toBe('Revoked office U0000001.');
    expect(await owners()).toEqual([]);
    expect(await approve('U0000003', true)).toContain('There was no owner yet');
  });

  it('makes one owner when two users are approved at the same moment', async () => {
    const { access } = await databases.open();
    const codes = Array.from({ length: 6 }, newPairingCode);
    for (const [n, code] of codes.entries()) {
      const request = { channel: 'office', senderId: `U${n}`, codeHash: hashSecret(code) };
      await access.openPairing({ ...request, ttlMs: 60_000, maxPending: 10 });
    }
    const approved = await Promise.all(
      codes.map((code) => access.approvePairing(hashSecret(code), { firstOwns: true })),
    );
    expect(approved.filter((one) => one?.isOwner === true)).toHaveLength(1);
    expect((await access.grants()).filter(({ kind }) => kind === 'owner')).toHaveLength(1);
  });

  it('prints a stranger’s name on one line, with its control characters as numbers', async () => {
    const { access } = await databases.open();
    const code = newPairingCode();
    const senderName = 'Bob\u001b[2J\r\ngranted  telegram dm 1\u202e\u2028';
    const request = { channel: 'office', senderId: 'U0123ABC', senderName, codeHash: hashSecret(code) };
    await access.openPairing({ ...request, ttlMs: 60_000, maxPending: 5 });
    const shown = String.raw`Bob\u{1b}[2J\u{d}\u{a}granted  telegram dm 1\u{202e}\u{2028}`;
    const listed = await pairCommand(access, ALL, []);
    expect(listed.split('\n')).toHaveLength(1);
    expect(listed).toContain(`pending  office U0123ABC ${shown} until `);
    expect(await pairCommand(access, ALL, ['approve', code])).toBe(
      `${shown} (office U0123ABC) may write to the bot now.`,
    );
  });

  it('refuses ids in other formats and unknown channels, and names what it expects', async () => {
    const { access } = await databases.open();
    const refused = (...args: string[]) => pairCommand(access, ALL, args);
    await expect(refused('group', 'office', '42')).rejects.toThrow(
      '"42" is not an id of Office chat: it must be an id such as U0123ABC.',
    );
    await expect(refused('group', 'office', 'U0123ABC')).rejects.toThrow(/not an id of Office chat/);
    await expect(refused('revoke', 'telegram', '@ada')).rejects.toThrow(
      /"@ada" is not an id of Telegram: it must be a numeric id/,
    );
    for (const name of ['http', 'pigeon'])
      await expect(refused('group', name, '42')).rejects.toThrow(
        /expected one of telegram, discord, slack, matrix, office/,
      );
    for (const args of [['dance'], ['group', 'office'], ['approve']])
      await expect(refused(...args)).rejects.toThrow(/^Expected: pair/);
    expect(await access.grants()).toEqual([]);
  });
});

describe('the channels of parley pair', () => {
  it('are those with their own user ids', () => {
    expect(pairChannels(ALL)).toEqual(['telegram', 'discord', 'slack', 'matrix', 'office']);
  });
});
