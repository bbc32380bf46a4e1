/** The list of channels: one line each. Only manifests are loaded here; a channel's code is loaded when it is switched on. */
import type { ChannelManifest } from '../src/contracts/channel.ts';

const folders = await Promise.all([
  import('./http/manifest.ts'),
  import('./telegram/manifest.ts'),
  import('./discord/manifest.ts'),
  import('./slack/manifest.ts'),
  import('./matrix/manifest.ts'),
]);

/** The manifests of all channels, in the order in which health and help list them. */
export const channels: readonly ChannelManifest[] = folders.map(({ manifest }) => manifest);
