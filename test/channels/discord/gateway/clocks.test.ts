/** Nodes whose clocks are wrong: how far events are stored is a time of the clock that all of them share. */
import { expect, it, onTestFinished, vi } from 'vitest';
import { DiscordSetup } from '../../../fakes/discord/setup.ts';

const WAIT = { timeout: 10_000, interval: 5 };
const HOUR_MS = 3_600_000;

it.each([
  ['ahead before and right after the restart', 2 * HOUR_MS, 0],
  ['right before and ahead after the restart', 0, 2 * HOUR_MS],
  ['right before and behind after the restart', 0, -2 * HOUR_MS],
])('reads what was missed, whatever the clocks of the nodes say: %s', async (_name, first, second) => {
  let aheadMs = first;
  const nodes = await DiscordSetup.open({ timing: { epochNow: () => Date.now() + aheadMs } });
  onTestFinished(() => nodes.close());
  const { channel: chat, person: bo } = nodes.discord.dm('Bo');
  const heard = () => nodes.connections.records.get(`discord:${nodes.discord.platform.bot.id}`)?.heardAt;
  await nodes.start();
  nodes.discord.says(chat, 'before', bo);
  await vi.waitFor(() => expect(nodes.contents).toEqual(['before']), WAIT);
  await vi.waitFor(() => expect(heard()).toBeDefined(), WAIT);
  nodes.connections.chats = [{ address: `discord:${chat.id}`, changedAt: Date.now() }];
  await nodes.restart(() => {
    aheadMs = second;
    nodes.discord.gateway.forgetSessions();
    nodes.discord.says(chat, 'missed', bo);
  });
  await vi.waitFor(() => expect(nodes.contents).toContain('missed'), WAIT);
  expect(Math.abs((heard() ?? 0) - Date.now())).toBeLessThan(HOUR_MS);
});
