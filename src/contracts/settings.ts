/** Settings: files that people write, and their current values, which may change while the gateway runs. */
import type { TextRef } from './texts/say.ts';

/** A field of a file, from the top: `['access', 'telegram', 'allow', 0]`. */
export type FieldPath = readonly PropertyKey[];

/** A field and its new value; undefined removes it, so that it has its default. */
export interface ConfigChange {
  path: readonly (string | number)[];
  value?: unknown;
}

/** A JSON file with comments and trailing commas, as far as it could be parsed. */
export interface JsonText {
  /** The content; if there are errors, as much as could be parsed. */
  value: unknown;
  /** Syntax errors, in the order of the text. */
  errors: readonly { place: string; what: TextRef }[];
  /** The position of a field, or of the nearest field around it: `:3:14` for line and column; '' in an empty file. */
  placeOf: (path: FieldPath) => string;
}

/** Reads such a file. Never throws. */
export type ReadJson = (text: string) => JsonText;

/** Watched folders. */
export interface FolderWatch {
  /** The folders to watch from now on. Never throws. */
  folders(paths: readonly string[]): void;
  close(): void;
}

/** Calls `changed`, which must not throw, after changes in the folders, and from time to time in any case. */
export type WatchFolders = (changed: () => void) => FolderWatch;

/** Puts already checked settings into effect. Never throws. */
export type ApplySettings = () => void;

/** The current settings: one frozen object, which a change replaces as a whole. */
export interface Settings<Values> {
  /** A turn reads it once, when it starts, and keeps it. */
  current(): Values;
  /**
   * Takes part in every change. `prepare` examines the next settings, may refuse them with a `ConfigError`, which
   * leaves everything unchanged, and returns what to do when they take effect: that runs for all participants in the
   * tick in which `current` changes.
   */
  subscribe(prepare: (next: Values) => ApplySettings | Promise<ApplySettings>): void;
}

/** What people should know about the settings. */
export interface SettingsReport {
  /** What is currently wrong with the file, by line and field: its last valid content applies until that is fixed. */
  errors: readonly string[];
  /** Changed fields that take effect after a restart. */
  needsRestart: readonly string[];
}

/** A part of the settings; for the same object it always returns the same part. */
export function partOf<Values extends object, Part>(
  settings: Settings<Values>,
  select: (values: Values) => Part,
): Settings<Part> {
  const known = new WeakMap<Values, { part: Part }>();
  const read = (values: Values): Part => {
    const made = known.get(values) ?? { part: select(values) };
    known.set(values, made);
    return made.part;
  };
  return {
    current: () => read(settings.current()),
    subscribe: (prepare) => settings.subscribe((next) => prepare(read(next))),
  };
}
