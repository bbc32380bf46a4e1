/** What people belong to on Discord: sent with each message, else requested, and who administers a server. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { PermissionFlagsBits } from 'discord.js';
import { reacts } from '../../../fakes/discord/acts.ts';
import { DiscordSetup } from '../../../fakes/discord/setup.ts';
import { type FakeChannel, type FakePerson, Refusal } from '../../../fakes/discord/platform.ts';
import type { InboundMessage, Place } from '../../../../src/protocol/message.ts';

const WAIT = { timeout: 5_000, interval: 5 };

describe('what people on Discord belong to', () => {
  let setup: DiscordSetup;
  let room: FakeChannel;
  let ada: FakePerson;
  let role: string;

  beforeEach(async () => {
    setup = await DiscordSetup.open();
    room = setup.discord.platform.addChannel(0);
    role = setup.discord.platform.addRole('friends');
    ada = setup.discord.person('Ada');
    ada.roles = [role];
    await setup.start();
  });
  afterEach(async () => {
    await setup.close();
  });

  const arrived = async (count: number): Promise<InboundMessage | undefined> => {
    await vi.waitFor(() => expect(setup.received).toHaveLength(count), WAIT);
    return setup.received.at(-1);
  };
  const own = () => [
    { kind: 'guild', id: setup.discord.platform.guildId },
    { kind: 'role', id: role },
  ];

  it('comes with each message, command, press and reaction, as it is at that time', async () => {
    setup.discord.says(room, 'one', ada, { mention: true });
    expect((await arrived(1))?.memberships).toEqual(own());
    setup.discord.slash(room, 'ask', { prompt: 'two' }, ada);
    expect((await arrived(2))?.memberships).toEqual(own());
    const answer = setup.discord.platform.add(room.id, setup.discord.platform.bot, 'words');
    reacts(setup.discord, answer, ada, '👎');
    expect((await arrived(3))?.memberships).toEqual(own());
    ada.roles = [];
    setup.discord.says(room, 'four', ada, { mention: true });
    expect((await arrived(4))?.memberships).toEqual(own().slice(0, 1));
    const { channel } = setup.discord.dm();
    setup.discord.says(channel, 'five', ada);
    expect((await arrived(5))?.memberships).toEqual([]);
  });

  it('comes with the name of the channel for those who are answered, which Discord is asked once', async () => {
    room.name = 'plans';
    setup.discord.says(room, 'not to the bot', ada);
    expect((await arrived(1))?.chatName).toBeUndefined();
    for (const text of ['one', 'two']) setup.discord.says(room, text, ada, { mention: true });
    await arrived(3);
    expect(setup.received.slice(1).map(({ chatName }) => chatName)).toEqual(['plans', 'plans']);
    const calls = setup.discord.rest.calls.filter((label) => /GET \/guilds\/[^/]+\/channels/.test(label));
    expect(calls).toHaveLength(1);
  });

  it('is requested for missed messages, since the history does not include it', async () => {
    setup.discord.says(room, 'before', ada, { mention: true });
    await arrived(1);
    await vi.waitFor(() => expect([...setup.connections.records.values()][0]?.heardAt).toBeDefined(), WAIT);
    await setup.restart(() => {
      setup.connections.chats = [{ address: `discord:${room.id}`, changedAt: Date.now() }];
      setup.discord.gateway.forgetSessions();
      setup.discord.says(room, 'missed', ada, { mention: true });
      const gone = setup.discord.person('Gone');
      setup.discord.platform.members.delete(gone.id);
      setup.discord.says(room, 'left since', gone, { mention: true });
    });
    await vi.waitFor(() => expect(setup.contents).toContain('left since'), WAIT);
    const [missed, left] = setup.received.slice(-2);
    expect(missed?.memberships).toEqual(own());
    expect(left?.memberships).toEqual([]);
  });

  it('makes administrators of owners and of roles that manage the server, and of no one else', async () => {
    const { platform } = setup.discord;
    const place: Place = { channel: 'discord', chatId: room.id };
    const isAdmin = async (id: string) => await setup.channel.isAdmin?.(place, id);
    expect(await isAdmin(ada.id)).toBe(false);
    expect(await isAdmin(platform.newId())).toBe(false);
    const [chief, helper, owner] = ['Chief', 'Helper', 'Owner'].map((name) => setup.discord.person(name));
    if (chief === undefined || helper === undefined || owner === undefined) throw new Error('nobody');
    chief.roles = [platform.addRole('chiefs', PermissionFlagsBits.Administrator)];
    helper.roles = [platform.addRole('helpers', PermissionFlagsBits.ManageGuild)];
    platform.ownerId = owner.id;
    expect(await Promise.all([chief, helper, owner].map(({ id }) => isAdmin(id)))).toEqual([
      true,
      true,
      true,
    ]);
    expect(await isAdmin('not an id')).toBe(false);
    const { channel } = setup.discord.dm();
    expect(await setup.channel.isAdmin?.({ channel: 'discord', chatId: channel.id }, owner.id)).toBe(false);
    setup.discord.failure({
      kind: 'refuse',
      refusal: new Refusal(404, 10_004, 'Unknown Guild'),
      match: /GET \/guilds/,
    });
    expect(await isAdmin(owner.id)).toBe(false);
  });
});
