/** The API's description: administration, which needs a token with the scope `admin`. */
import { grantSchema, pairingSchema } from '../admin/access.ts';
import { changesSchema } from '../admin/config.ts';
import { letterSchema } from '../admin/contents.ts';
import { newProfileSchema, profileEditSchema } from '../admin/profiles.ts';
import { renameSchema, tokenSchema } from '../admin/tokens.ts';
import type { Operations } from './operation.ts';

const tag = 'administration';

export const ADMIN_OPERATIONS: Operations = {
  'GET /v1/health': { tag, summary: 'Channels with their last error, the model, the database' },
  'GET /v1/access': { tag, summary: 'Pending pairing codes, grants and owners' },
  'POST /v1/access/pairings': {
    tag,
    summary: 'Let in the person who was given a pairing code',
    body: pairingSchema,
  },
  'POST /v1/access/grants': { tag, summary: 'Let a person or a group in', body: grantSchema, status: 201 },
  'DELETE /v1/access/grants/:channel/:kind/:id': { tag, summary: 'End a grant' },
  'GET /v1/tokens': { tag, summary: 'Tokens, without their secrets' },
  'POST /v1/tokens': {
    tag,
    summary: 'Make a token, whose secret is shown once',
    body: tokenSchema,
    status: 201,
  },
  'PATCH /v1/tokens/:id': { tag, summary: 'Rename a token', body: renameSchema },
  'POST /v1/tokens/:id/rotate': { tag, summary: 'Give a token another secret, which is shown once' },
  'DELETE /v1/tokens/:id': { tag, summary: 'Revoke a token' },
  'GET /v1/profiles': { tag, summary: 'The profiles' },
  'POST /v1/profiles': { tag, summary: 'Make a profile', body: newProfileSchema, status: 201 },
  'GET /v1/profiles/:id': { tag, summary: 'One profile: what its files say, and their schema' },
  'PATCH /v1/profiles/:id': {
    tag,
    summary: 'Change the files of a profile, as they were read with `version`',
    body: profileEditSchema,
  },
  'DELETE /v1/profiles/:id': {
    tag,
    summary: 'Delete the files of a profile; a built-in one is as without them then',
    query: { version: 'that of the profile as it was read' },
  },
  'GET /v1/memories': { tag, summary: 'What is remembered about people' },
  'DELETE /v1/memories/:id': { tag, summary: 'Forget one of it' },
  'GET /v1/dead-letters': { tag, summary: 'Messages that were given up' },
  'POST /v1/dead-letters/retry': { tag, summary: 'Try one again', body: letterSchema },
  'POST /v1/dead-letters/drop': { tag, summary: 'Drop one', body: letterSchema },
  'GET /v1/log': { tag, summary: 'The newest lines of the log' },
  'GET /v1/config': { tag, summary: 'The configuration with its schema, without secrets' },
  'PATCH /v1/config': { tag, summary: 'Change the configuration', body: changesSchema },
};
