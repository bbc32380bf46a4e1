/** Messages in the middle of a turn on their way out. */
import type { LaneRunner } from '../contracts/bus.ts';
import { MAX_POSTS } from '../contracts/delivery.ts';
import type { Post, PostStore } from '../contracts/delivery.ts';

/** Makes `post`: committed when it resolves, then delivered like any answer. */
export function createPost(posts: PostStore, bus: LaneRunner): Post {
  return async (request) => {
    const { heads, ...result } = await posts.post(request, MAX_POSTS, bus.claimingNode('out'));
    bus.runHeads({ heads });
    return result;
  };
}
