/** The table of routes for administration: all of them ask for a token with the scope `admin`. */
import type { Handler, Route } from '../../route.ts';
import { addGrant, approvePairing, readAccess, removeGrant } from './access.ts';
import { changeConfig, readConfig } from './config.ts';
import {
  dropDeadLetter,
  listDeadLetters,
  listMemories,
  readHealth,
  readLog,
  removeMemory,
  retryDeadLetter,
} from './contents.ts';
import { changeProfile, createProfile, listProfiles, readProfile, removeProfile } from './profiles.ts';
import { createToken, listTokens, renameToken, revokeToken, rotateToken } from './tokens.ts';

const TABLE: [Route['method'], string, Handler][] = [
  ['GET', '/v1/health', readHealth],
  ['GET', '/v1/access', readAccess],
  ['POST', '/v1/access/pairings', approvePairing],
  ['POST', '/v1/access/grants', addGrant],
  ['DELETE', '/v1/access/grants/:channel/:kind/:id', removeGrant],
  ['GET', '/v1/tokens', listTokens],
  ['POST', '/v1/tokens', createToken],
  ['PATCH', '/v1/tokens/:id', renameToken],
  ['POST', '/v1/tokens/:id/rotate', rotateToken],
  ['DELETE', '/v1/tokens/:id', revokeToken],
  ['GET', '/v1/profiles', listProfiles],
  ['POST', '/v1/profiles', createProfile],
  ['GET', '/v1/profiles/:id', readProfile],
  ['PATCH', '/v1/profiles/:id', changeProfile],
  ['DELETE', '/v1/profiles/:id', removeProfile],
  ['GET', '/v1/memories', listMemories],
  ['DELETE', '/v1/memories/:id', removeMemory],
  ['GET', '/v1/dead-letters', listDeadLetters],
  ['POST', '/v1/dead-letters/retry', retryDeadLetter],
  ['POST', '/v1/dead-letters/drop', dropDeadLetter],
  ['GET', '/v1/log', readLog],
  ['GET', '/v1/config', readConfig],
  ['PATCH', '/v1/config', changeConfig],
];

export const ADMIN_ROUTES: readonly Route[] = TABLE.map(([method, path, handle]) => ({
  method,
  path,
  scope: 'admin',
  handle,
}));
