/** The profiles of the house as they are now: read at the start, read anew when their files change (N-73). */
import { mkdir } from 'node:fs/promises';
import { ConfigError, toGatewayError } from '../../contracts/errors.ts';
import type { Log } from '../../contracts/log.ts';
import type { Profile } from '../../contracts/profile.ts';
import { readProfiles } from './read-profiles.ts';
import type { ProfileRead, ProfileRules } from './read-profiles.ts';
import { watchFolders } from './watch-folders.ts';

export interface ProfilesOptions extends ProfileRules {
  /** `$GATEWAY_HOME/profiles`; it is made when it is missing. */
  folder: string;
  log: Log;
  /** How often the files are looked at without being told, in milliseconds. */
  pollMs?: number;
}

export interface Profiles {
  /** `default` first, then the others by id. A profile whose files changed is a new object, any other the same. */
  list(): readonly Profile[];
  /** What is wrong in the files now, by file and field; in use is what they said before. */
  faults(): readonly string[];
  close(): Promise<void>;
}

/** Opens the profiles. Throws one `ConfigError` naming every fault: there is nothing older to go on with. */
export async function openProfiles(options: ProfilesOptions): Promise<Profiles> {
  const { folder, usual, log, pollMs } = options;
  const kept = new Map<string, { source: string; profile: Profile }>();
  let list: readonly Profile[] = [usual];
  let faults: readonly string[] = [];

  const take = (reads: readonly ProfileRead[]): void => {
    for (const id of kept.keys()) if (!reads.some((read) => read.id === id)) kept.delete(id);
    for (const { id, source, profile } of reads) {
      if (profile === undefined || kept.get(id)?.source === source) continue;
      kept.set(id, { source, profile });
      log.info({ profile: id }, 'profile loaded');
    }
    const others = [...kept.values()].map(({ profile }) => profile).filter(({ id }) => id !== 'default');
    const next = [
      kept.get('default')?.profile ?? usual,
      ...others.toSorted((a, b) => (a.id < b.id ? -1 : 1)),
    ];
    if (next.length !== list.length || next.some((profile, at) => profile !== list[at])) list = next;
    note(reads.flatMap((read) => read.faults));
  };
  const note = (found: readonly string[]): void => {
    const news = found.filter((fault) => !faults.includes(fault));
    if (news.length > 0)
      log.error({ faults: news }, 'profiles cannot be used as they are; what they said before stays');
    faults = found;
  };

  let last: Promise<void> = Promise.resolve();
  const look = async (): Promise<void> => {
    try {
      const { reads, folders } = await readProfiles(folder, options);
      take(reads);
      watcher.folders([folder, ...folders]);
    } catch (error) {
      note([`profiles: the folder cannot be read (${toGatewayError(error).message})`]);
    }
  };
  const watcher = watchFolders(() => void (last = last.then(look)), log, pollMs);
  try {
    await mkdir(folder, { recursive: true });
    await look();
    if (faults.length > 0) throw cannotBeUsed(faults);
  } catch (error) {
    watcher.close();
    throw error instanceof ConfigError ? error : cannotBeUsed([`profiles: ${toGatewayError(error).message}`]);
  }
  return {
    list: () => list,
    faults: () => faults,
    async close() {
      watcher.close();
      await last;
    },
  };
}

function cannotBeUsed(faults: readonly string[]): ConfigError {
  const lines = faults.map((fault) => `  - ${fault}`).join('\n');
  return new ConfigError('bad_profiles', `The profiles in GATEWAY_HOME cannot be used:\n${lines}`);
}
