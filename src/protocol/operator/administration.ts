/** What an operator sees and changes in a running gateway, over HTTP and on the page; for admin tokens alone. */
import type { Grant, PairingRecord, Scope, TokenRecord } from '../access.ts';
import type { ConfigChange } from '../settings.ts';
import type { Profile, ProfileFiles } from '../agent/profile.ts';
import type { LaneKey, DeadLetter } from '../store/lanes.ts';
import type { TextRef, TextTable } from '../texts/say.ts';

/** Rows of a page of memories or of dead letters. */
export const MAX_ADMIN_ROWS = 200;
/** Lines of the log in one answer, and how many bytes at the log's end are searched for them. */
export const MAX_LOG_LINES = 500;
export const LOG_TAIL_BYTES = 512 * 1024;
/** Changes of the configuration in one request. */
export const MAX_CONFIG_CHANGES = 50;

/** A fact about a person, for operators. */
export interface ListedMemory {
  id: number;
  userId: string;
  text: string;
  session: string;
  untrusted: boolean;
  createdAt: Date;
}

/** Rows that only operators read and delete. Throws only `StoreError`. */
export interface AdministrationStore {
  /** Of one person or of all, newest first, those before the id `before`. */
  allMemories(page: {
    userId?: string | undefined;
    before?: number | undefined;
    limit: number;
  }): Promise<ListedMemory[]>;
  /** False when there was none. */
  removeMemory(id: number): Promise<boolean>;
  /** Deletes a dead letter permanently. False when there was none. */
  dropDeadLetter(lane: LaneKey, seq: number): Promise<boolean>;
}

/** Who may write, who asks to, and what ids look like on each channel. */
export interface AccessReport {
  pairings: PairingRecord[];
  /** Grants of the database; those that `config.json` names are in `owners` and `allowed`. */
  grants: Grant[];
  /** Of `config.json`, by channel. */
  channels: { name: string; label: string; idHint: string; owners: string[]; allowed: string[] }[];
}

/** A new token; `secret` is known only to the reader of this. */
export interface MadeToken {
  token: TokenRecord;
  secret: string;
}

/** A line of the log, its secrets removed. */
export interface LogLine {
  /** Epoch milliseconds. */
  time: number;
  level: string;
  message: string;
  /** Everything else in the line, as JSON. */
  fields: string;
}

/** `config.json` as a form needs it. */
export interface ConfigReport {
  file: string;
  /** Changes include it, so that an edit in between is detected. */
  version: string;
  /** JSON Schema of the file, with descriptions for its reader. */
  schema: Readonly<Record<string, unknown>>;
  /** What the file says, without its defaults; texts that may be secrets are `SET_SECRET`. */
  written: unknown;
  /** The same with the defaults. */
  values: unknown;
  /** Variables of the environment: whether each is set, never its value. */
  environment: { name: string; isSet: boolean }[];
  /** What is currently wrong with the file. */
  problems: readonly TextRef[];
  /** Changed fields that take effect after a restart. */
  needsRestart: readonly string[];
  /** Fields, and groups of them, whose changes always take effect after a restart. */
  afterRestart: readonly string[];
}

/** A network as an operator switches it on: which variables it needs, never their values. */
export interface ChannelSetup {
  name: string;
  label: string;
  /** It was on when the gateway started, or was set up since. */
  isOn: boolean;
  /** Where its token is made. */
  tokenPage?: string | undefined;
  variables: {
    name: string;
    isSecret: boolean;
    isSet: boolean;
    /** The environment of the process sets it, so only a person on its machine can change it. */
    isFixed: boolean;
  }[];
  /** What was saved takes effect after a restart. */
  needsRestart: boolean;
}

/** What a platform says about a channel's variables, and what became of them. */
export type ChannelTried =
  | {
      /** `checked`: nothing to save; `failed`: the platform refuses them, nothing was saved. */
      kind: 'checked' | 'failed' | 'started' | 'needs_restart';
      findings: { level: 'ok' | 'warning' | 'error'; text: string; remedy?: string | undefined }[];
    }
  /** Nothing was asked or saved; each problem names a variable. */
  | { kind: 'refused'; problems: readonly TextRef[] };

/** Stands for a text of the file that may be a secret. */
export const SET_SECRET = '(set)';

/** The result of changes. */
export type ConfigChanged =
  | { kind: 'changed'; version: string; atOnce: readonly string[]; needsRestart: readonly string[] }
  /** The file is no longer the one that the version identifies. */
  | { kind: 'stale' }
  /** Nothing was written; each problem names a field. */
  | { kind: 'refused'; problems: readonly TextRef[] };

/** Throws only `GatewayError`, whose message is for the operator. */
export interface Administration extends ProfileFiles {
  access(): Promise<AccessReport>;
  /** Approves the request with this code; throws `bad_code`. The first person becomes an owner with `firstOwns`. */
  approvePairing(
    code: string,
    firstOwns: boolean,
  ): Promise<{ channel: string; id: string; isOwner: boolean }>;
  /** Throws `bad_grant` for an id that the channel does not have. */
  addGrant(channel: string, kind: Grant['kind'], id: string): Promise<void>;
  removeGrant(channel: string, kind: Grant['kind'], id: string): Promise<boolean>;
  tokens(): Promise<TokenRecord[]>;
  createToken(asked: { name: string; scopes: Scope[]; expiresInMs?: number | undefined }): Promise<MadeToken>;
  renameToken(tokenId: string, name: string): Promise<boolean>;
  /** Replaces its secret. Undefined when there is no such token; throws `bad_token` if its secret is kept elsewhere. */
  rotateToken(tokenId: string): Promise<MadeToken | undefined>;
  revokeToken(tokenId: string): Promise<boolean>;
  profiles(): { profiles: readonly Profile[]; errors: readonly TextRef[] };
  memories: AdministrationStore['allMemories'];
  removeMemory: AdministrationStore['removeMemory'];
  /** The newest first, and whether there are more than `MAX_ADMIN_ROWS`. */
  deadLetters(): Promise<{ letters: DeadLetter[]; more: boolean }>;
  retryDeadLetter(lane: LaneKey, seq: number): Promise<boolean>;
  dropDeadLetter: AdministrationStore['dropDeadLetter'];
  /** The newest lines at or above the level, oldest first. */
  log(asked: { lines: number; level: string }): Promise<LogLine[]>;
  /** With the settings described by `texts`; those that it lacks, in English. */
  config(texts: TextTable): ConfigReport;
  /** All changes or none. */
  changeConfig(version: string, changes: readonly ConfigChange[]): ConfigChanged;
  /** The networks that a token switches on. */
  channelSetups(): ChannelSetup[];
  /**
   * Asks the platform about a channel with these variables besides those that are set, saves them if it accepts them, and
   * starts the channel. Without variables, it only asks. Undefined for an unknown channel.
   */
  setUpChannel(name: string, variables: Readonly<Record<string, string>>): Promise<ChannelTried | undefined>;
}
