/** Grants of Discord's servers and roles: a member with the role is answered until they lose it. */
import { expect, it, vi } from 'vitest';
import type { FakeChannel } from '../../fakes/discord/platform.ts';
import { describeGateway, WAIT } from '../setup.ts';

describeGateway('grants of servers and roles', { discord: true }, (fixture) => {
  const answersIn = (channel: FakeChannel): number =>
    fixture()
      .discord.visible(channel)
      .filter(({ author, content }) => author.bot === true && content !== '').length;

  it('a role is answered in every channel while its member has it', async () => {
    const { discord } = fixture();
    const { platform } = discord;
    const role = platform.addRole('friends');
    await fixture().store.access.addGrant('discord', 'role', role);
    const [first, second] = [platform.addChannel(0), platform.addChannel(0)];
    const [ada, bo] = [discord.person('Ada'), discord.person('Bo')];
    ada.roles = [role];
    discord.says(first, 'from Bo', bo, { mention: true });
    discord.says(first, 'from Ada', ada, { mention: true });
    await vi.waitFor(() => expect(answersIn(first)).toBe(1), WAIT);
    discord.slash(second, 'ask', { prompt: 'by command' }, ada);
    await vi.waitFor(() => expect(answersIn(second)).toBe(1), WAIT);
    ada.roles = [];
    discord.says(second, 'no more', ada, { mention: true });
    const { channel: end, person } = discord.dm();
    await fixture().store.access.addGrant('discord', 'dm', person.id);
    discord.says(end, 'end', person);
    await vi.waitFor(() => expect(answersIn(end)).toBe(1), WAIT);
    expect([answersIn(first), answersIn(second)]).toEqual([1, 1]);
  });

  it('a schedule in a channel that only a role opens is refused, and is not created for a private chat instead', async () => {
    const { discord } = fixture();
    const { platform } = discord;
    const ada = discord.person('Ada');
    ada.roles = [platform.addRole('planners')];
    await fixture().store.access.addGrant('discord', 'role', ada.roles[0] ?? '');
    await fixture().store.access.addGrant('discord', 'owner', ada.id);
    const channel = platform.addChannel(0);
    discord.slash(channel, 'schedule', { what: 'add every 1h tell me' }, ada);
    await vi.waitFor(
      () => expect(discord.screen(channel, ada).join()).toContain('only where the group itself is allowed'),
      WAIT,
    );
  });
});
