/** The list of channels: one line each. Only manifests are loaded here; a channel's code is loaded when it is switched on. */
import type { ChannelManifest } from '../src/protocol/channel.ts';
import { loadManifests } from '../src/protocol/channel-manifest.ts';

/** The manifests of all channels, in the order of health and help; a missing or malformed one stops every command. */
export const channels: readonly ChannelManifest[] = await loadManifests([
  import('./http/manifest.ts'),
  import('./telegram/manifest.ts'),
  import('./discord/manifest.ts'),
  import('./slack/manifest.ts'),
  import('./matrix/manifest.ts'),
]);
