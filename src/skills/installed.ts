/** The skills of a home: what was installed, from where, with which content, and whether an owner trusts it. */
import { mkdir, mkdtemp, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import { MAX_SKILLS } from '../lib/markdown/skill-file.ts';
import { GatewayError, toGatewayError, unless } from '../protocol/errors.ts';
import { findSkillFolders, readSkillFolder, type SkillFolder } from './read-folder.ts';
import { openSource, sourceName } from './source.ts';

/** The file in the home that pins what was installed. */
const RECORDS_FILE = 'skills.json';
/** Skills that no owner trusts yet; no tool of the model reads this folder. */
const WAITING_FOLDER = 'skills-waiting';
/** Unfinished work in that folder, and the version that an update replaces. */
const [NEW, OLD] = ['.new-', '.old-'];
/** Age of unfinished work that no command does any more, in milliseconds. */
const ABANDONED_MS = 60 * 60_000;

const recordsSchema = z.record(
  z.string(),
  z.strictObject({ source: z.string(), hash: z.string(), at: z.iso.datetime() }),
);

/** What is known of an installed skill, by the name of its folder. */
export type SkillRecords = z.infer<typeof recordsSchema>;

/** A skill of the home. */
export interface HomeSkill extends Omit<SkillFolder, 'contents'> {
  /** Where it came from; undefined for one that was written by hand. */
  source: string | undefined;
  /** True if the model may read it. */
  isTrusted: boolean;
  /** True if its files are no longer those that were installed. */
  isChanged: boolean;
}

/** The skills in `home`; those that the model reads are in `live`, a folder of the same file system. */
export class Skills {
  readonly #live: string;
  readonly #waiting: string;
  readonly #file: string;
  readonly #write: (file: string, text: string) => void;

  /** `write` replaces a file as a whole. */
  constructor(home: string, live: string, write: (file: string, text: string) => void) {
    this.#live = live;
    this.#waiting = path.join(home, WAITING_FOLDER);
    this.#file = path.join(home, RECORDS_FILE);
    this.#write = write;
  }

  /**
   * Every skill of the home, by name; one that cannot be read is in `problems` as a sentence. Throws
   * `GatewayError('skills_file')`.
   */
  async list(): Promise<{ skills: HomeSkill[]; problems: string[] }> {
    await settle(this.#live, this.#waiting);
    const records = await this.#records();
    const skills: HomeSkill[] = [];
    const problems: string[] = [];
    for (const isTrusted of [true, false])
      for (const folder of await foldersIn(isTrusted ? this.#live : this.#waiting)) {
        try {
          const { contents: _, ...skill } = await readSkillFolder(this.#place(folder, isTrusted));
          const record = records[folder];
          const isChanged = record !== undefined && record.hash !== skill.hash;
          skills.push({ ...skill, folder, source: record?.source, isTrusted, isChanged });
        } catch (error) {
          problems.push(toGatewayError(error).message);
        }
      }
    return { skills: skills.toSorted((a, b) => (a.folder < b.folder ? -1 : 1)), problems };
  }

  /** The skill of this name. Throws `GatewayError('unknown_skill')`, which names those that exist. */
  async find(name: string): Promise<HomeSkill> {
    const { skills } = await this.list();
    const skill = skills.find(({ folder }) => folder === name);
    if (skill !== undefined) return skill;
    const names = skills.map(({ folder }) => folder).join(', ');
    const existing = names === '' ? 'There are none yet.' : `There are: ${names}.`;
    throw new GatewayError('unknown_skill', `There is no skill ${name.slice(0, 64)}. ${existing}`);
  }

  /** Its files as they are now. Throws what `readSkillFolder` throws. */
  async read({ folder, isTrusted }: HomeSkill): Promise<SkillFolder> {
    return await readSkillFolder(this.#place(folder, isTrusted));
  }

  /**
   * Brings the skills of a source for the time of `use`. Throws what `openSource` and `readSkillFolder` throw, and
   * `GatewayError('no_skill')` where there is none.
   */
  async withSource<T>(source: string, use: (skills: SkillFolder[]) => Promise<T>): Promise<T> {
    await mkdir(this.#waiting, { recursive: true, mode: 0o700 });
    const staging = await mkdtemp(path.join(this.#waiting, NEW));
    try {
      const places = await findSkillFolders(await openSource(source, staging));
      if (places.length === 0)
        throw new GatewayError(
          'no_skill',
          `${sourceName(source)} holds no skill: no folder of it has a SKILL.md.`,
        );
      return await use(await Promise.all(places.map((place) => readSkillFolder(place))));
    } finally {
      await rm(staging, { recursive: true, force: true });
    }
  }

  /**
   * Stores skills: the model may read them if they are trusted. Those of the same names are replaced. Throws
   * `GatewayError('too_many_skills')` before it stores the first one.
   */
  async store(fresh: readonly SkillFolder[], source: string, isTrusted: boolean): Promise<void> {
    const names = new Set((await this.list()).skills.map(({ folder }) => folder));
    for (const { folder } of fresh) names.add(folder);
    if (names.size > MAX_SKILLS)
      throw new GatewayError(
        'too_many_skills',
        `A gateway has at most ${MAX_SKILLS} skills: remove one first.`,
      );
    await mkdir(this.#live, { recursive: true, mode: 0o700 });
    await mkdir(this.#waiting, { recursive: true, mode: 0o700 });
    for (const skill of fresh) await this.#storeOne(skill, source, isTrusted);
  }

  async #storeOne(skill: SkillFolder, source: string, isTrusted: boolean): Promise<void> {
    const fresh = await mkdtemp(path.join(this.#waiting, NEW));
    await writeContents(fresh, skill);
    const target = this.#place(skill.folder, isTrusted);
    const old = path.join(this.#waiting, `${OLD}${skill.folder}`);
    await rm(old, { recursive: true, force: true });
    // What the model reads is never half of one version and half of another. Nobody reads what waits.
    if (isTrusted) await unless(['ENOENT'], rename(target, old), undefined);
    else await rm(target, { recursive: true, force: true });
    await rename(fresh, target);
    await rm(old, { recursive: true, force: true });
    const record = { source: sourceName(source), hash: skill.hash, at: new Date().toISOString() };
    await this.#change((records) => (records[skill.folder] = record));
  }

  /** Lets the model read a skill that waits. */
  async trust({ folder, isTrusted }: HomeSkill): Promise<void> {
    if (isTrusted) return;
    await mkdir(this.#live, { recursive: true, mode: 0o700 });
    await rename(this.#place(folder, false), this.#place(folder, true));
  }

  async remove({ folder, isTrusted }: HomeSkill): Promise<void> {
    await rm(this.#place(folder, isTrusted), { recursive: true, force: true });
    await this.#change((records) => delete records[folder]);
  }

  #place(folder: string, isTrusted: boolean): string {
    return path.join(isTrusted ? this.#live : this.#waiting, folder);
  }

  async #records(): Promise<SkillRecords> {
    const text = await unless(['ENOENT'], readFile(this.#file, 'utf8'), '{}');
    try {
      return recordsSchema.parse(JSON.parse(text));
    } catch (cause) {
      throw new GatewayError(
        'skills_file',
        `${this.#file} is damaged: correct it, or delete it and add the skills again.`,
        { cause },
      );
    }
  }

  async #change(edit: (records: SkillRecords) => void): Promise<void> {
    const records = await this.#records();
    edit(records);
    this.#write(this.#file, `${JSON.stringify(records, undefined, 2)}\n`);
  }
}

/** Writes files into a folder of one's own. */
export async function writeContents(
  place: string,
  { contents }: Pick<SkillFolder, 'contents'>,
): Promise<void> {
  for (const { file, bytes, runs } of contents) {
    const target = path.join(place, file);
    await mkdir(path.dirname(target), { recursive: true, mode: 0o700 });
    await writeFile(target, bytes, { mode: runs ? 0o700 : 0o600 });
  }
}

/** Ends what a killed command left behind: a version that was moved away returns if no new one took its place. */
async function settle(live: string, waitingFolder: string): Promise<void> {
  const entries = await unless(['ENOENT'], readdir(waitingFolder), []);
  const names = await foldersIn(live);
  for (const name of entries) {
    const leftover = path.join(waitingFolder, name);
    const folder = name.slice(OLD.length);
    if (name.startsWith(OLD) && !names.includes(folder)) await rename(leftover, path.join(live, folder));
    else if (name.startsWith(OLD) || (name.startsWith(NEW) && (await isAbandoned(leftover))))
      await rm(leftover, { recursive: true, force: true });
  }
}

/** True if no command can still be working on it. */
async function isAbandoned(folder: string): Promise<boolean> {
  const stats = await unless(['ENOENT'], stat(folder), undefined);
  return stats !== undefined && Date.now() - stats.mtimeMs > ABANDONED_MS;
}

async function foldersIn(place: string): Promise<string[]> {
  const entries = await unless(['ENOENT'], readdir(place, { withFileTypes: true }), []);
  return entries.filter((one) => one.isDirectory() && !one.name.startsWith('.')).map(({ name }) => name);
}
