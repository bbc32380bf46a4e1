/** Health of the channels: those that are enabled report it themselves, the others name what they need. */
import type { Channel, ChannelManifest } from '../protocol/channel.ts';
import { inEnglish, type Say, textRef, type TextRef } from '../protocol/texts/say.ts';
import type { ChannelHealth, HealthReport } from '../protocol/gateway-api.ts';

/** The health of every channel of the list, by name, with its label for people; `say` words what is wrong. */
export function channelHealth(
  list: readonly Pick<ChannelManifest, 'name' | 'label' | 'needs'>[],
  channels: ReadonlyMap<string, Channel>,
  healthOf: (channel: Channel) => ChannelHealth,
  say: Say = inEnglish,
): HealthReport['channels'] {
  return Object.fromEntries(
    list.map(({ name, label, needs }) => {
      const channel = channels.get(name);
      const health: ChannelHealth =
        channel === undefined
          ? { state: 'off', detail: textRef('health.needs', { needs }) }
          : healthOf(channel);
      const { notice, detail, ...state } = health;
      return [
        name,
        {
          ...state,
          label,
          ...(detail !== undefined && { detail: textOfDetail(detail, label, say) }),
          ...(notice !== undefined && { notice: say.text(notice) }),
        },
      ];
    }),
  );
}

/** What a platform or a library says stays in its words, in a sentence of the reader's language. */
function textOfDetail(detail: TextRef | string, network: string, say: Say): string {
  return typeof detail === 'string' ? say('health.other', { network, detail }) : say.text(detail);
}
