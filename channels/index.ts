/** The list of channels. Each is loaded only when it is switched on: an unused one costs nothing. */
import type { Channel, ChannelDeps } from '../src/contracts/channel.ts';
import type { Config } from '../src/config.ts';

export interface ChannelEntry {
  name: string;
  /** What switches it on, for people who wonder why it is off. */
  needs: string;
  isOn(config: Config): boolean;
  load(config: Config, deps: ChannelDeps): Promise<Channel>;
}

export const channelEntries: readonly ChannelEntry[] = [
  {
    name: 'http',
    needs: 'nothing',
    isOn: () => true,
    async load({ env, http }, deps) {
      const { create } = await import('./http/index.ts');
      return create({ host: env.HOST, port: env.PORT, ...http }, deps);
    },
  },
  {
    name: 'telegram',
    needs: 'TELEGRAM_BOT_TOKEN',
    isOn: ({ env }) => env.TELEGRAM_BOT_TOKEN !== undefined,
    async load({ env }, deps) {
      const { create } = await import('./telegram/index.ts');
      return create({ token: env.TELEGRAM_BOT_TOKEN ?? '', apiRoot: env.TELEGRAM_API_ROOT }, deps);
    },
  },
  {
    name: 'discord',
    needs: 'DISCORD_BOT_TOKEN',
    isOn: ({ env }) => env.DISCORD_BOT_TOKEN !== undefined,
    async load({ env }, deps) {
      const { create } = await import('./discord/index.ts');
      return create({ token: env.DISCORD_BOT_TOKEN ?? '', apiRoot: env.DISCORD_API_ROOT }, deps);
    },
  },
];

/** Where a channel listens; empty for one that does not. */
export function urlOf(channel: Channel | undefined): string {
  return channel !== undefined && 'url' in channel && typeof channel.url === 'string' ? channel.url : '';
}
