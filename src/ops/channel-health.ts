/** How the doors stand: those that are switched on say so themselves, the others what they need. */
import type { Channel } from '../contracts/channel.ts';
import type { HealthReport } from '../contracts/gateway-api.ts';

/** The health of every channel of the list, by name. */
export function channelHealth(
  entries: readonly { name: string; needs: string }[],
  channels: ReadonlyMap<string, Channel>,
  healthOf: (channel: Channel) => HealthReport['channels'][string],
): HealthReport['channels'] {
  return Object.fromEntries(
    entries.map(({ name, needs }) => {
      const channel = channels.get(name);
      return [name, channel === undefined ? { state: 'off', detail: `needs ${needs}` } : healthOf(channel)];
    }),
  );
}
