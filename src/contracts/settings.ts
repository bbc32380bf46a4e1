/** Settings: files that people write, and the values of the moment, which may change while the gateway runs. */

/** A field of a file, from the top: `['access', 'telegram', 'allow', 0]`. */
export type FieldPath = readonly PropertyKey[];

/** A file in JSON with comments and trailing commas, as far as it could be read. */
export interface JsonText {
  /** The content; where there are errors, what could be understood of it. */
  value: unknown;
  /** What is wrong with its form, in the order of the text. */
  errors: readonly { place: string; message: string }[];
  /** Where a field stands, or the nearest field around it: `:3:14` for line and column; '' in an empty file. */
  placeOf: (path: FieldPath) => string;
}

/** Reads such a file. Never throws. */
export type ReadJson = (text: string) => JsonText;

/** Folders that are watched. */
export interface FolderWatch {
  /** The folders to watch from now on. Never throws. */
  folders(paths: readonly string[]): void;
  close(): void;
}

/** Calls `changed`, which must not throw, after changes in the folders, and now and then in any case. */
export type WatchFolders = (changed: () => void) => FolderWatch;

/** Makes settings count that were checked before. Never throws. */
export type ApplySettings = () => void;

/** The settings of the moment: one frozen object, which a change replaces as a whole. */
export interface Settings<Values> {
  /** What a turn reads once, when it begins, and keeps. */
  current(): Values;
  /**
   * Takes part in every change. `prepare` looks at the next settings, may refuse them with a `ConfigError`, which leaves
   * everything as it was, and gives what is to be done when they count: that runs for all participants in the tick in which
   * `current` changes.
   */
  subscribe(prepare: (next: Values) => ApplySettings | Promise<ApplySettings>): void;
}

/** What people should know of the settings. */
export interface SettingsReport {
  /** What is wrong with the file as it is now, by line and field: its last valid content counts until that is corrected. */
  errors: readonly string[];
  /** Fields that were changed and count after a restart. */
  needsRestart: readonly string[];
}

/** A part of the settings; of one object it always gives the same part. */
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
