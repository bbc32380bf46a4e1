/** Messages in the middle of a turn on their way out. */
import type { Carrier } from '../bus.ts';
import { MAX_POSTS } from '../posts.ts';
import type { Post, PostStore } from '../posts.ts';

/** Makes `post`: committed when it resolves, then delivered like any answer. */
export function createPost(posts: PostStore, bus: Carrier): Post {
  return async (request) => {
    const { heads, ...result } = await posts.post(request, MAX_POSTS, bus.claimant('out'));
    bus.run({ heads });
    return result;
  };
}
