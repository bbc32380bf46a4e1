/** A part of the composition root: what operators see and change in a running gateway, over HTTP and on the page. */
import path from 'node:path';
import { channels as manifests } from '../channels/index.ts';
import { accessOf } from './config-views.ts';
import type { Config } from './config.ts';
import { environmentSchemaFor } from './config-environment.ts';
import { fileSchemaFor } from './config-schema.ts';
import { type Grant, isId } from './protocol/access.ts';
import { GatewayError } from './protocol/errors.ts';
import type { Log } from './protocol/log.ts';
import {
  type Administration,
  type ConfigReport,
  MAX_ADMIN_ROWS,
} from './protocol/operator/administration.ts';
import { PROFILE_SETTINGS, type ProfileFiles, profileSchema } from './protocol/agent/profile.ts';
import { PARLEY } from './protocol/texts/parley.ts';
import { editableConfig } from './live-config.ts';
import { createProfileFiles, type Profiles } from './agent/index.ts';
import { logFileOf } from './ops/log-file.ts';
import { tailLog } from './ops/log-text.ts';
import { hashSecret, newToken } from './security/index.ts';
import {
  changeConfigFile,
  describedIn,
  editedText,
  jsonSchema,
  type LiveSettings,
  readConfigForm,
  readJson,
  writeWhole,
} from './settings/index.ts';
import type { Store } from './store/store.ts';

interface AdministrationParts {
  settings: LiveSettings<Config>;
  store: Pick<Store, 'access' | 'administration' | 'lanes'>;
  bus: { sweepSoon(): void };
  profiles: Profiles;
  log: Log;
}

/** Makes it. The caller has already checked for the scope `admin`. */
export function createAdministration(parts: AdministrationParts): Administration {
  return {
    ...accessOfPeople(parts),
    ...tokensOf(parts),
    ...contentsOf(parts),
    ...configurationOf(parts),
    ...profileFilesOf(parts),
  };
}

type AccessPart = Pick<Administration, 'access' | 'approvePairing' | 'addGrant' | 'removeGrant'>;

function accessOfPeople({ settings, store: { access }, log }: AdministrationParts): AccessPart {
  return {
    async access() {
      const [pairings, grants] = await Promise.all([access.pairings(), access.grants()]);
      const channels = manifests.flatMap(({ name, label, ids }) => {
        if (ids === undefined) return [];
        const { owners = [], allow = [] } = accessOf(settings.current(), name) ?? {};
        return [{ name, label, idHint: ids.description, owners, allowed: allow }];
      });
      return { pairings, grants, channels };
    },
    async approvePairing(code, firstOwns) {
      const paired = await access.approvePairing(hashSecret(code.trim()), { firstOwns });
      if (paired === undefined)
        throw new GatewayError(
          'bad_code',
          'That code is unknown, used or expired. Type it exactly as shown, in capitals; the person gets a new one by writing again.',
        );
      const { channel, senderId: id, isOwner } = paired;
      log.info({ channel, id, isOwner }, 'pairing_approved');
      return { channel, id, isOwner };
    },
    async addGrant(channel, kind, id) {
      checkGrant(channel, kind, id);
      await access.addGrant(channel, kind, id);
      log.info({ channel, kind, id }, 'grant_added');
    },
    async removeGrant(channel, kind, id) {
      const isRemoved = await access.removeGrant(channel, kind, id);
      if (isRemoved) log.info({ channel, kind, id }, 'grant_removed');
      return isRemoved;
    },
  };
}

function checkGrant(channel: string, kind: Grant['kind'], id: string): void {
  const manifest = manifests.find(({ name }) => name === channel);
  if (manifest?.ids === undefined)
    throw new GatewayError('bad_grant', 'There is no channel of that name whose people are granted access.');
  if ((kind === 'guild' || kind === 'role') && manifest.ids.memberships !== true)
    throw new GatewayError('bad_grant', `On ${manifest.label} there are no grants of that kind.`);
  if (isId(id, manifest.ids[kind === 'dm' || kind === 'owner' ? 'userId' : 'chatId'])) return;
  throw new GatewayError('bad_grant', `The id on ${manifest.label} must be ${manifest.ids.description}.`);
}

type TokenPart = Pick<
  Administration,
  'tokens' | 'createToken' | 'revokeToken' | 'renameToken' | 'rotateToken'
>;

/** Why the secret of such a token is not changed here. */
const SECRET_ELSEWHERE = {
  env: 'That token is GATEWAY_TOKEN: give the variable another value and restart the gateway; the old one then stops working.',
  file: `That token is in a file of the gateway: change it with \`${PARLEY} token rotate\` on its machine.`,
};

function tokensOf({ store: { access }, log }: AdministrationParts): TokenPart {
  return {
    tokens: () => access.tokens(),
    async createToken({ name, scopes, expiresInMs }) {
      const secret = newToken();
      const token = await access.putToken({ hash: hashSecret(secret), name, scopes, expiresInMs });
      log.info({ tokenId: token.tokenId, scopes }, 'token_created');
      return { token, secret };
    },
    async renameToken(tokenId, name) {
      const renamed = (await access.changeToken(tokenId, { name })) !== undefined;
      if (renamed) log.info({ tokenId, name }, 'token_renamed');
      return renamed;
    },
    async rotateToken(tokenId) {
      const origin = (await access.tokens()).find((token) => token.tokenId === tokenId)?.origin;
      if (origin === 'env' || origin === 'file')
        throw new GatewayError('bad_token', SECRET_ELSEWHERE[origin]);
      const secret = newToken();
      const token = await access.rotateToken(tokenId, hashSecret(secret));
      if (token === undefined) return undefined;
      log.info({ tokenId }, 'token_rotated');
      return { token, secret };
    },
    async revokeToken(tokenId) {
      const revoked = await access.revokeToken(tokenId);
      if (revoked) log.info({ tokenId }, 'token_revoked');
      return revoked;
    },
  };
}

type ContentPart = Omit<
  Administration,
  keyof AccessPart | keyof TokenPart | keyof ConfigPart | keyof ProfileFiles
>;

function contentsOf({ settings, store, bus, profiles }: AdministrationParts): ContentPart {
  const { administration, lanes } = store;
  return {
    profiles: () => ({ profiles: profiles.list(), errors: profiles.errors() }),
    memories: (page) => administration.allMemories({ ...page, limit: Math.min(page.limit, MAX_ADMIN_ROWS) }),
    removeMemory: (id) => administration.removeMemory(id),
    async deadLetters() {
      const letters = await lanes.deadLetters(MAX_ADMIN_ROWS + 1);
      return { letters: letters.slice(0, MAX_ADMIN_ROWS), more: letters.length > MAX_ADMIN_ROWS };
    },
    async retryDeadLetter(lane, seq) {
      const queued = await lanes.replayDeadLetter(lane, seq);
      if (queued) bus.sweepSoon();
      return queued;
    },
    dropDeadLetter: (lane, seq) => administration.dropDeadLetter(lane, seq),
    log: (request) => tailLog(logFileOf(path.resolve(settings.current().home)), request),
  };
}

type ConfigPart = Pick<Administration, 'config' | 'changeConfig'>;

function configurationOf({ settings, log }: AdministrationParts): ConfigPart {
  const config = settings.current();
  const file = editableConfig(config.environment);
  const schema = jsonSchema(fileSchemaFor(manifests));
  const names = Object.keys(environmentSchemaFor(manifests).shape);
  const environment = names.map((name) => ({ name, isSet: config.environment[name] !== undefined }));
  return {
    config(texts): ConfigReport {
      const { needsRestart } = settings.report();
      return { ...readConfigForm(file), schema: describedIn(schema, texts), environment, needsRestart };
    },
    changeConfig(version, changes) {
      const result = changeConfigFile(file, version, changes);
      const fields = changes.map(({ path: field }) => field.join('.'));
      if (result.kind === 'changed') log.info({ fields }, 'config_changed');
      return result;
    },
  };
}

function profileFilesOf({ settings, profiles, log }: AdministrationParts): ProfileFiles {
  const schema = jsonSchema(profileSchema);
  return createProfileFiles({
    folder: path.join(settings.current().home, 'profiles'),
    profiles,
    readJson,
    edited: editedText,
    write: writeWhole,
    schema: (texts) => describedIn(schema, texts, PROFILE_SETTINGS),
    log,
  });
}
