/** What a draft shows of a text that is being written. */
import type { Channel, Rendered } from '../../protocol/channel.ts';
import type { Place } from '../../protocol/message.ts';
import type { Clock } from '../../lib/clock.ts';
import type { LiveText } from '../live/live-text.ts';
import { documentOf, withFooter } from '../text/chunker.ts';

/**
 * The current look of a draft; undefined while there is nothing to show. `usual`: not as a rich message. Never
 * throws.
 */
export type DraftLook = (usual: boolean) => Promise<Rendered | undefined>;

/** Longest Markdown that is parsed as a whole for each draft, in UTF-16 units. */
const MAX_WHOLE = 65_536;

export interface DraftLookDeps {
  channel: Pick<Channel, 'renderWhole'>;
  place: Place;
  clock: Clock;
  yieldToEventLoop: () => Promise<void>;
}

/**
 * All of the text in the same kind of message as the answer, so that nothing jumps at its end; if there are several
 * messages, the newest.
 */
export function draftLook(text: Pick<LiveText, 'latest' | 'whole'>, deps: DraftLookDeps): DraftLook {
  const { channel, place, clock, yieldToEventLoop } = deps;
  return async (usual) => {
    const nowMs = clock.monotonicMs();
    if (!usual && channel.renderWhole !== undefined) {
      const { markdown, below } = await text.whole(nowMs, yieldToEventLoop);
      const read = async (source: string) => {
        const doc = await documentOf(source, yieldToEventLoop);
        return below === undefined ? doc : withFooter(doc, below);
      };
      const whole = { markdown, documentOf: read, grows: true } as const;
      const rich = markdown.length > MAX_WHOLE ? undefined : await channel.renderWhole(place, whole);
      if (rich !== undefined) return rich;
    }
    return await text.latest(nowMs, yieldToEventLoop);
  };
}
