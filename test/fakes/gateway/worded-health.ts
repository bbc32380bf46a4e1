/** The health of a channel as people read it in English. */
import type { Channel } from '../../../src/protocol/channel.ts';
import { inEnglish } from '../../../src/protocol/texts/say.ts';

/** Its state, and what is wrong in words. */
export function wordedHealth(channel: Pick<Channel, 'health'>): { state: string; detail?: string } {
  const { state, detail } = channel.health();
  if (detail === undefined) return { state };
  return { state, detail: typeof detail === 'string' ? detail : inEnglish.text(detail) };
}
