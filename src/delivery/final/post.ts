/** Messages of a turn before its answer: committed, then delivered like any answer. */
import type { LaneRunner } from '../../protocol/bus.ts';
import type { Channel } from '../../protocol/channel.ts';
import { MAX_POSTS, type Post, type PostResult, type PostStore } from '../../protocol/delivery.ts';
import type { Attachment } from '../../protocol/media.ts';
import { parseAddress } from '../../protocol/message.ts';

/** Why a chat does not accept a file; undefined if it does. A channel that is off accepts it once it is on again. */
function fileRefusal(
  { bytes }: Attachment,
  channel: Pick<Channel, 'capabilities'> | undefined,
): PostResult | undefined {
  if (channel === undefined) return undefined;
  const { media, maxFileBytes } = channel.capabilities;
  if (!media) return { kind: 'no_files' };
  return bytes > maxFileBytes ? { kind: 'too_large', limit: maxFileBytes } : undefined;
}

/**
 * Creates `Post`: a message of a turn is committed when it resolves, then delivered like any answer; a turn has at
 * most `limit`.
 */
export function createPost(
  posts: PostStore,
  bus: LaneRunner,
  channels: ReadonlyMap<string, Pick<Channel, 'capabilities'>>,
  limit = MAX_POSTS,
): Post {
  return async (request) => {
    const { channel } = parseAddress(request.address);
    // Over HTTP the stored message is the delivery, and accepts any file that a session can hold.
    const refusal =
      request.file && channel !== 'http' ? fileRefusal(request.file, channels.get(channel)) : undefined;
    if (refusal !== undefined) return refusal;
    const { heads, ...result } = await posts.post(request, limit, bus.claimingNode('out'));
    bus.runHeads({ heads });
    return result;
  };
}
