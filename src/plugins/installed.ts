/** The plug-ins of a home: what was installed, from where, with which content. The record is what a gateway reads first. */
import { readFileSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import { errorCode, GatewayError } from '../protocol/errors.ts';
import type { PluginManifest } from '../protocol/plugin.ts';
import { PARLEY } from '../protocol/texts/parley.ts';
import { MANIFEST_FILE, MAX_MANIFEST_BYTES, readManifest } from './manifest.ts';

/** The file in the home that pins what was installed. */
const RECORDS_FILE = 'plugins.json';
/** Where their files are, and what they keep. */
const FILES_FOLDER = 'plugins';
const DATA_FOLDER = 'plugins-data';
/** Unfinished work in the folder of the files. */
const NEW = '.new-';
/** Plug-ins of one home. */
const MAX_PLUGINS = 50;

/** What the folder of a plug-in may hold. */
export const PLUGIN_RULES = {
  noun: 'plug-in',
  bytes: 32 * 1024 * 1024,
  files: 4_000,
  depth: 16,
  leftOut: new Set(['.git', '.DS_Store']),
};

/** One file of a folder. */
interface Content {
  file: string;
  bytes: Buffer;
  runs: boolean;
}

/** How plug-ins are fetched, read and pinned: the same as skills. */
export interface FolderTools {
  openSource: (source: string, staging: string) => Promise<string>;
  sourceName: (source: string) => string;
  readContents: (place: string, rules: typeof PLUGIN_RULES) => Promise<Content[]>;
  writeContents: (place: string, of: { contents: readonly Content[] }) => Promise<void>;
  hashOf: (contents: readonly Content[]) => string;
}

/** A plug-in's files, read and checked. */
export interface PluginFolder {
  manifest: PluginManifest;
  contents: readonly Content[];
  /** Hexadecimal SHA-256 over all files. */
  hash: string;
}

const recordShape = z.strictObject({
  source: z.string(),
  hash: z.string(),
  at: z.iso.datetime(),
  pinned: z.boolean().optional(),
  manifest: z.unknown(),
});

/** An installed plug-in, as its record says. */
export interface InstalledPlugin {
  manifest: PluginManifest;
  /** Absolute paths of its files and of what it keeps. */
  folder: string;
  dataFolder: string;
  source: string;
  hash: string;
  /** `update` of all leaves it alone. */
  pinned: boolean;
}

/**
 * What is installed in a home, by name; nothing of a plug-in itself is read. A record that this gateway cannot use is in
 * `problems` as a sentence. Throws `GatewayError('plugins_file')` for a damaged file.
 */
export function readInstalled(home: string): { plugins: InstalledPlugin[]; problems: string[] } {
  const plugins: InstalledPlugin[] = [];
  const problems: string[] = [];
  for (const [name, record] of Object.entries(readRecords(home))) {
    try {
      const manifest = readManifest(JSON.stringify(record.manifest));
      const { source, hash, pinned = false } = record;
      plugins.push({ manifest, ...placesOf(home, manifest.name), source, hash, pinned });
    } catch (error) {
      problems.push(
        `The plug-in ${name} cannot be used: ${error instanceof Error ? error.message : String(error)}`,
      );
    }
  }
  return { plugins: plugins.toSorted((a, b) => (a.manifest.name < b.manifest.name ? -1 : 1)), problems };
}

function placesOf(home: string, name: string): { folder: string; dataFolder: string } {
  return { folder: path.join(home, FILES_FOLDER, name), dataFolder: path.join(home, DATA_FOLDER, name) };
}

function readRecords(home: string): Record<string, z.infer<typeof recordShape>> {
  const file = path.join(home, RECORDS_FILE);
  try {
    return z.record(z.string(), recordShape).parse(JSON.parse(readFileSync(file, 'utf8')));
  } catch (cause) {
    if (['ENOENT', 'ENOTDIR'].includes(errorCode(cause))) return {};
    const text = `${file} is damaged: correct it, or delete it and add the plug-ins again.`;
    throw new GatewayError('plugins_file', text, { cause });
  }
}

/** Throws `GatewayError('plugin_changed')` if the files are not those that were installed. */
export async function verifyPlugin(
  { manifest: { name }, folder, hash }: Pick<InstalledPlugin, 'manifest' | 'folder' | 'hash'>,
  { readContents, hashOf }: Pick<FolderTools, 'readContents' | 'hashOf'>,
): Promise<void> {
  const rules = { ...PLUGIN_RULES, leftOut: new Set<string>() };
  const contents = await readContents(folder, rules).catch((cause: unknown) => {
    if (cause instanceof GatewayError) throw cause;
    throw new GatewayError(
      'plugin_changed',
      `The files of the plug-in ${name} cannot be read. ${advice(name)}`,
      { cause },
    );
  });
  if (hashOf(contents) !== hash)
    throw new GatewayError(
      'plugin_changed',
      `The files of the plug-in ${name} are not those that were installed. ${advice(name)}`,
    );
}

function advice(name: string): string {
  return `"${PARLEY} plugin update ${name}" installs it again from where it came.`;
}

/** Changes the plug-ins of a home. */
export class Plugins {
  readonly #home: string;
  readonly #write: (file: string, text: string) => void;
  readonly #tools: FolderTools;

  /** `write` replaces a file as a whole. */
  constructor(home: string, write: (file: string, text: string) => void, tools: FolderTools) {
    this.#home = home;
    this.#write = write;
    this.#tools = tools;
  }

  /** The plug-in of this name. Throws `GatewayError('unknown_plugin')`, which names those that exist. */
  find(name: string): InstalledPlugin {
    const { plugins } = readInstalled(this.#home);
    const plugin = plugins.find(({ manifest }) => manifest.name === name);
    if (plugin !== undefined) return plugin;
    const names = plugins.map(({ manifest }) => manifest.name).join(', ');
    const existing = names === '' ? 'There are none yet.' : `There are: ${names}.`;
    throw new GatewayError('unknown_plugin', `There is no plug-in ${name.slice(0, 64)}. ${existing}`);
  }

  /** Its files as they are now. Throws `GatewayError('bad_plugin')`. */
  async read(place: string): Promise<PluginFolder> {
    const contents = await this.#tools.readContents(place, PLUGIN_RULES);
    const file = contents.find((one) => one.file === MANIFEST_FILE);
    if (file === undefined) throw badPlugin(place, `it has no file ${MANIFEST_FILE}`);
    if (file.bytes.length > MAX_MANIFEST_BYTES)
      throw badPlugin(place, `its ${MANIFEST_FILE} is larger than ${MAX_MANIFEST_BYTES / 1024} KiB`);
    const manifest = readManifest(file.bytes.toString('utf8'));
    const files = new Set(contents.map((one) => one.file));
    const { main, skills = [] } = manifest;
    for (const name of [main, ...skills.map((skill) => path.posix.join(skill, 'SKILL.md'))])
      if (name !== undefined && !files.has(path.posix.normalize(name)))
        throw badPlugin(place, `its ${MANIFEST_FILE} names ${name}, which does not exist`);
    return { manifest, contents, hash: this.#tools.hashOf(contents) };
  }

  /** True if its files are no longer those that were installed. */
  async isChanged(plugin: InstalledPlugin): Promise<boolean> {
    return await verifyPlugin(plugin, this.#tools).then(
      () => false,
      () => true,
    );
  }

  /** Brings the plug-in of a source for the time of `use`. Throws what fetching and reading throw. */
  async withSource<T>(source: string, use: (plugin: PluginFolder, place: string) => Promise<T>): Promise<T> {
    const files = path.join(this.#home, FILES_FOLDER);
    await mkdir(files, { recursive: true, mode: 0o700 });
    const staging = await mkdtemp(path.join(files, NEW));
    try {
      const place = await findPlugin(await this.#tools.openSource(source, staging));
      return await use(await this.read(place), place);
    } finally {
      await rm(staging, { recursive: true, force: true });
    }
  }

  /** Stores a plug-in in place of the one of its name. Throws `GatewayError('too_many_plugins')`. */
  async store({ manifest, contents, hash }: PluginFolder, source: string): Promise<InstalledPlugin> {
    const { name } = manifest;
    const records = readRecords(this.#home);
    if (records[name] === undefined && Object.keys(records).length >= MAX_PLUGINS)
      throw new GatewayError(
        'too_many_plugins',
        `A gateway has at most ${MAX_PLUGINS} plug-ins: remove one first.`,
      );
    const { folder } = placesOf(this.#home, name);
    await mkdir(path.dirname(folder), { recursive: true, mode: 0o700 });
    const fresh = await mkdtemp(path.join(path.dirname(folder), NEW));
    await this.#tools.writeContents(fresh, { contents });
    await rm(folder, { recursive: true, force: true });
    await rename(fresh, folder);
    const record = { source: this.#tools.sourceName(source), hash, at: new Date().toISOString(), manifest };
    this.#save({ ...records, [name]: { ...record, pinned: records[name]?.pinned } });
    return this.find(name);
  }

  /** Lets `update` of all plug-ins leave it alone, or not. */
  pin({ manifest: { name } }: InstalledPlugin, pinned: boolean): void {
    const records = readRecords(this.#home);
    const record = records[name];
    if (record !== undefined) this.#save({ ...records, [name]: { ...record, pinned } });
  }

  /** Removes it; what it has kept stays unless `withData`. */
  async remove(
    { manifest: { name }, folder, dataFolder }: InstalledPlugin,
    withData: boolean,
  ): Promise<void> {
    const { [name]: _, ...others } = readRecords(this.#home);
    this.#save(others);
    await rm(folder, { recursive: true, force: true });
    if (withData) await rm(dataFolder, { recursive: true, force: true });
  }

  #save(records: Record<string, unknown>): void {
    this.#write(path.join(this.#home, RECORDS_FILE), `${JSON.stringify(records, undefined, 2)}\n`);
  }
}

/** The folder with a manifest: the source itself, or the only one in it that has one. */
async function findPlugin(root: string): Promise<string> {
  const entries = await readdir(root, { withFileTypes: true });
  if (entries.some(({ name }) => name === MANIFEST_FILE)) return root;
  const folders = entries.filter((one) => one.isDirectory() && !one.name.startsWith('.'));
  const places: string[] = [];
  for (const { name } of folders.slice(0, 100)) {
    const inside = await readdir(path.join(root, name));
    if (inside.includes(MANIFEST_FILE)) places.push(path.join(root, name));
  }
  const [place, ...others] = places;
  if (place !== undefined && others.length === 0) return place;
  if (place === undefined) throw badPlugin(root, `it has no file ${MANIFEST_FILE}`);
  const names = places.map((one) => path.basename(one)).join(', ');
  throw new GatewayError(
    'bad_plugin',
    `The source holds several plug-ins: give the folder of one of them (${names}).`,
  );
}

function badPlugin(place: string, reason: string): GatewayError {
  return new GatewayError('bad_plugin', `${path.basename(place)} is no plug-in: ${reason}.`);
}
