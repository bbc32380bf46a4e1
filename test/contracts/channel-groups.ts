/** The part of the channel contract about groups: who administers them. */
import { expect, it } from 'vitest';
import type { ChannelHarness } from './channel-harness.ts';

/** Runs the part over the harness of each test. */
export function groupContract(name: string, harness: () => ChannelHarness): void {
  it('knows the administrators of a group, also without being started', async () => {
    const { channel } = harness();
    const group = harness().group?.();
    if (group === undefined) throw new Error('the harness has no group');
    const { chatId, administrators, others } = group;
    const isAdmin = async (id: string) => [id, await channel.isAdmin?.({ channel: name, chatId }, id)];
    expect([administrators.length > 0, others.length > 0]).toEqual([true, true]);
    const found = await Promise.all([...administrators, ...others].map(isAdmin));
    expect(found).toEqual([...administrators.map((id) => [id, true]), ...others.map((id) => [id, false])]);
  });
}
