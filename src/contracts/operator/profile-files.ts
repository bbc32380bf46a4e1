/** The files of a profile as a form needs them, and changes to them; for admin tokens alone. */
import type { TextRef, TextTable } from '../texts/say.ts';
import type { ConfigChange } from '../settings.ts';

/** A profile with what its files say. */
export interface ProfileReport {
  id: string;
  /** Its folder. */
  folder: string;
  /** Changes include it, so that an edit in between is detected. */
  version: string;
  /** It exists without any file, too. */
  isBuiltIn: boolean;
  /** There are files of it. */
  hasFiles: boolean;
  /** JSON Schema of its `config.json`, with descriptions for its reader. */
  schema: Readonly<Record<string, unknown>>;
  /** What its `config.json` says, or would say: a first change of a built-in profile writes all of it. */
  written: unknown;
  /** The same with the defaults. */
  values: unknown;
  /** Its prompts; null for the one of the profile `default`. */
  systemPrompt: string | null;
  subagentSystemPrompt: string | null;
  /** What is currently wrong with its files. */
  errors: readonly TextRef[];
}

/** Changes of a profile's files. */
export interface ProfileEdit {
  /** Of its `config.json`; comments stay. */
  changes: readonly ConfigChange[];
  /** null removes the file, so that the prompt is that of the profile `default`. */
  systemPrompt?: string | null | undefined;
  subagentSystemPrompt?: string | null | undefined;
}

/** The result of a change. */
export type ProfileChanged =
  | { kind: 'changed'; version: string }
  /** There is no such profile. */
  | { kind: 'unknown' }
  /** The files are no longer those that the version identifies. */
  | { kind: 'stale' }
  /** Nothing was written; each line names a field. */
  | { kind: 'refused'; problems: readonly TextRef[] };

/** The result of a deletion; of a built-in profile only its files go, and it is as it was without them. */
export type ProfileRemoved =
  | { kind: 'removed'; isBuiltIn: boolean }
  | { kind: 'unknown' }
  | { kind: 'stale' }
  /** It is a built-in profile without files. */
  | { kind: 'built_in' };

/**
 * Changes files of the home of this gateway, which take effect before a call resolves: the next turn has them. Throws
 * `GatewayError` (`unwritable`, `usage`).
 */
export interface ProfileFiles {
  /** With its settings described by `texts`; undefined when there is no such profile. */
  profile(id: string, texts: TextTable): ProfileReport | undefined;
  /** A new one, as the profile `default` without its folder; refused for a name that is taken or none. */
  createProfile(id: string): Promise<ProfileChanged>;
  /** All changes or none. */
  changeProfile(id: string, version: string, edit: ProfileEdit): Promise<ProfileChanged>;
  removeProfile(id: string, version: string): Promise<ProfileRemoved>;
}
