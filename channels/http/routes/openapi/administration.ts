/** The API's description: administration, which needs a token with the scope `admin`. */
import { grantSchema, pairingSchema } from '../admin/access.ts';
import { changesSchema } from '../admin/config.ts';
import { letterSchema } from '../admin/contents.ts';
import { newProfileSchema, profileEditSchema } from '../admin/profiles.ts';
import { renameSchema, tokenSchema } from '../admin/tokens.ts';
import type { Operations } from './operation.ts';

const tag = 'administration';

export const ADMIN_OPERATIONS: Operations = {
  'GET /v1/health': {
    tag,
    summary: 'Channels with their last error, the model, the database',
    description: 'The complete report of `/readyz`, in the language of the caller.',
  },
  'GET /v1/access': {
    tag,
    summary: 'Pending pairing codes, grants and owners',
    description: 'Who waits to be let in, who was, and whom config.json allows.',
  },
  'POST /v1/access/pairings': {
    tag,
    summary: 'Let in the person who was given a pairing code',
    description: 'A code counts for an hour. The first person becomes an owner unless `firstOwns` is false.',
    body: pairingSchema,
  },
  'POST /v1/access/grants': {
    tag,
    summary: 'Let a person or a group in',
    description: 'A person (`dm`), a `group` or an `owner`, by the id on its network.',
    body: grantSchema,
    status: 201,
  },
  'DELETE /v1/access/grants/:channel/:kind/:id': {
    tag,
    summary: 'End a grant',
    description: 'Their next message is refused as that of a stranger.',
  },
  'GET /v1/tokens': {
    tag,
    summary: 'Tokens, without their secrets',
    description: 'With name, scopes, end and the time of their last use.',
  },
  'POST /v1/tokens': {
    tag,
    summary: 'Make a token, whose secret is shown once',
    description:
      'With a name, scopes and, if it should end, `expiresInDays`; the gateway keeps only a digest of the secret.',
    body: tokenSchema,
    status: 201,
  },
  'PATCH /v1/tokens/:id': {
    tag,
    summary: 'Rename a token',
    description: 'Its scopes and its secret stay.',
    body: renameSchema,
  },
  'POST /v1/tokens/:id/rotate': {
    tag,
    summary: 'Give a token another secret, which is shown once',
    description: 'The earlier secret stops working at once, also on open streams.',
  },
  'DELETE /v1/tokens/:id': {
    tag,
    summary: 'Revoke a token',
    description: 'Never the one of the request. Its streams end within a second; its sessions stay.',
  },
  'GET /v1/profiles': {
    tag,
    summary: 'The profiles',
    description: 'Built-in ones, and those with files of their own.',
  },
  'POST /v1/profiles': {
    tag,
    summary: 'Make a profile',
    description: 'Checked before it is written; in use from the next turn.',
    body: newProfileSchema,
    status: 201,
  },
  'GET /v1/profiles/:id': {
    tag,
    summary: 'One profile: what its files say, and their schema',
    description: 'With the version that a change must name.',
  },
  'PATCH /v1/profiles/:id': {
    tag,
    summary: 'Change the files of a profile, as they were read with `version`',
    description: 'Checked before they are written; 409 when the files have another version by then.',
    body: profileEditSchema,
  },
  'DELETE /v1/profiles/:id': {
    tag,
    summary: 'Delete the files of a profile; a built-in one is as without them then',
    description: '409 when the files have another version by then, or a built-in profile has none.',
    query: { version: 'that of the profile as it was read' },
  },
  'GET /v1/memories': {
    tag,
    summary: 'What is remembered about people',
    description: 'Of all people, newest first, 200 a page.',
  },
  'DELETE /v1/memories/:id': {
    tag,
    summary: 'Forget one of it',
    description: 'No later answer is told of it.',
  },
  'GET /v1/dead-letters': {
    tag,
    summary: 'Messages that were given up',
    description: 'With the error that ended the last attempt.',
  },
  'POST /v1/dead-letters/retry': {
    tag,
    summary: 'Try one again',
    description: 'It is queued again, by its lane and number.',
    body: letterSchema,
  },
  'POST /v1/dead-letters/drop': {
    tag,
    summary: 'Drop one',
    description: 'It is not tried again.',
    body: letterSchema,
  },
  'GET /v1/log': {
    tag,
    summary: 'The newest lines of the log',
    description:
      'At most 500, at or above a level, from the end of the log file; secrets were removed when it was written.',
  },
  'GET /v1/config': {
    tag,
    summary: 'The configuration with its schema, without secrets',
    description: 'With the version that a change must name.',
  },
  'PATCH /v1/config': {
    tag,
    summary: 'Change the configuration',
    description: 'Every error is reported by its field, then nothing is written; most changes count at once.',
    body: changesSchema,
  },
};
