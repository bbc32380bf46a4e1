/** The languages of the gateway's texts: English and German, and those of the files in `languages/` of GATEWAY_HOME. */
import { mkdir, readdir, readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { toGatewayError } from '../protocol/errors.ts';
import type { Log } from '../protocol/log.ts';
import type { FolderWatch, WatchFolders } from '../protocol/settings.ts';
import { LANGUAGE_CODE, type Languages } from '../protocol/texts/languages.ts';
import { ENGLISH } from '../protocol/texts/english.ts';
import german from './languages/de.json' with { type: 'json' };
import { type Recipient, speaker, type TextTable } from '../protocol/texts/say.ts';
import { readTable, type ReadTable } from './language-file.ts';

/** Most files that are read. */
export const MAX_LANGUAGE_FILES = 50;
/** Longest file, in bytes: all texts of the gateway in one language are a tenth of this. */
export const MAX_LANGUAGE_BYTES = 512 * 1024;

export interface LanguageFilesOptions {
  /** `$GATEWAY_HOME/languages`; created when missing. */
  folder: string;
  watch: WatchFolders;
  /** A command as a reader writes it. */
  writeCommand: (name: string, to: Recipient) => string;
  /** Returns the paths of the settings that a file may describe. */
  settings: () => readonly string[];
  log: Log;
}

/** The languages with their life cycle. */
export interface LanguageFiles extends Languages {
  /** Reads the folder now and after each change. Never throws: without it there are the built-in languages. */
  open(): Promise<void>;
  /** Current errors in the files, by file and line; the last valid content stays in use. */
  errors(): readonly string[];
  /** Stops reading; resolves when no read is in progress. */
  close(): Promise<void>;
}

const BUILT_IN: ReadonlyMap<string, TextTable> = new Map<string, TextTable>([
  ['en', ENGLISH],
  ['de', german],
]);

type Speaker = ReturnType<typeof speaker>;

const english = speaker('en', ENGLISH);

/** Creates them; no file is read before `open`. */
export function createLanguages({
  folder,
  watch,
  writeCommand,
  settings,
  log,
}: LanguageFilesOptions): LanguageFiles {
  const tables = new Map<string, Extract<ReadTable, { table: TextTable }>>();
  let says = saysOf(tables);
  let errors: readonly string[] = [];
  /** What has been logged about missing texts. */
  const logged = new Map<string, string>();
  let watcher: FolderWatch | undefined;

  const look = async (): Promise<void> => {
    try {
      watcher?.folders([folder]);
      const files = await readFolder(folder, settings);
      for (const code of tables.keys()) if (!files.some((file) => file.code === code)) tables.delete(code);
      for (const { code, read } of files) if ('table' in read) tables.set(code, read);
      says = saysOf(tables);
      tellMissing(tables, logged, log);
      setErrors(files.flatMap(({ read }) => ('errors' in read ? read.errors : [])));
    } catch (error) {
      setErrors([`languages: cannot be read: ${toGatewayError(error).message}`]);
    }
  };
  const setErrors = (latest: readonly string[]): void => {
    const additions = latest.filter((error) => !errors.includes(error));
    if (additions.length > 0) log.error({ errors: additions }, 'languages_invalid');
    errors = latest;
  };
  let last = Promise.resolve();
  const lookSoon = (): Promise<void> => (last = last.then(look));
  return {
    codes: () => [...says.keys()],
    say: (to) =>
      (says.get(to.language ?? 'en') ?? says.get('en') ?? english)((name) => writeCommand(name, to)),
    errors: () => errors,
    async open() {
      await mkdir(folder, { recursive: true }).catch((error: unknown) => {
        log.warn({ err: toGatewayError(error), folder }, 'languages_folder_missing');
      });
      watcher ??= watch(() => void lookSoon());
      await lookSoon();
    },
    async close() {
      watcher?.close();
      await last;
    },
  };
}

/** A file for a built-in language overrides individual texts. */
function saysOf(files: ReadonlyMap<string, { table: TextTable }>): ReadonlyMap<string, Speaker> {
  const codes = [...new Set([...BUILT_IN.keys(), ...[...files.keys()].toSorted()])];
  return new Map(
    codes.map((code) => [code, speaker(code, { ...BUILT_IN.get(code), ...files.get(code)?.table })]),
  );
}

/** Logs once for each state of a file how many texts it lacks, which are then in English. */
function tellMissing(
  tables: ReadonlyMap<string, { missing: readonly string[] }>,
  logged: Map<string, string>,
  log: Log,
): void {
  for (const [language, { missing }] of tables) {
    const first = missing[0];
    const state = `${missing.length} ${first}`;
    if (BUILT_IN.has(language) || logged.get(language) === state) continue;
    logged.set(language, state);
    if (first === undefined) log.info({ language }, 'language_loaded');
    else log.warn({ language, missing: missing.length, first }, 'language_incomplete');
  }
}

/** Every file of the folder, ordered by name. Throws errors of the file system. */
async function readFolder(
  folder: string,
  settings: () => readonly string[],
): Promise<{ code: string; read: ReadTable }[]> {
  const names = (await readdir(folder)).filter((name) => /^[^.].*\.json$/.test(name)).toSorted();
  const entries = await Promise.all(
    names.slice(0, MAX_LANGUAGE_FILES).map(async (name) => {
      const code = name.slice(0, -'.json'.length);
      return {
        code,
        read: await readOne({ file: path.join(folder, name), shown: `languages/${name}`, code, settings }),
      };
    }),
  );
  const [more] = names.slice(MAX_LANGUAGE_FILES);
  if (more === undefined) return entries;
  const error = `languages: there may be ${MAX_LANGUAGE_FILES} files; "${more}" and those after it are not read`;
  return [...entries, { code: '', read: { errors: [error] } }];
}

interface LanguageFile {
  file: string;
  /** Its name in errors. */
  shown: string;
  code: string;
  settings: () => readonly string[];
}

async function readOne({ file, shown: label, code, settings }: LanguageFile): Promise<ReadTable> {
  if (!LANGUAGE_CODE.test(code))
    return { errors: [`${label}: a file is named by its language, such as fr.json or pt-BR.json`] };
  try {
    const { size } = await stat(file);
    if (size > MAX_LANGUAGE_BYTES)
      return { errors: [`${label}: is too long: ${size} bytes, and ${MAX_LANGUAGE_BYTES} are allowed`] };
    return readTable(await readFile(file, 'utf8'), label, settings());
  } catch (error) {
    return { errors: [`${label}: cannot be read: ${toGatewayError(error).message}`] };
  }
}
