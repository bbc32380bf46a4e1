/** The end user in a request (`user` in OpenAI's API): the person whom the holder of the token serves. */
import { createHash } from 'node:crypto';
import { z } from 'zod';

/** Longest name of an end user, in UTF-16 units. */
export const MAX_END_USER = 512;

const name = z.string().min(1).max(MAX_END_USER);

/**
 * The field as a digest, undefined without one: any characters, e-mail addresses too, and nothing of them is stored. An
 * object, as some clients send it, counts by its `id`.
 */
export const endUserSchema = z
  .union([name, z.looseObject({ id: name })], {
    error: `must be the name of an end user, 1 to ${MAX_END_USER} characters, or an object with such an "id"`,
  })
  .nullish()
  .transform((user) => {
    if (user === undefined || user === null) return undefined;
    const id = typeof user === 'string' ? user : user.id;
    return endUserKey(id);
  });

/** What stands for an end user in messages and memories: names can be anything, and some are addresses of people. */
export function endUserKey(name: string): string {
  return createHash('sha256').update(name).digest('base64url');
}
