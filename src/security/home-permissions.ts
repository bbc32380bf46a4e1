/** Whether other users of the machine can change, or have put there, what the gateway reads from its home. */
import { lstatSync, readdirSync, type Stats, statSync } from 'node:fs';
import path from 'node:path';

const WRITABLE_BY_OTHERS = 0o022;
const ENTERED_BY_OTHERS = 0o011;
const READABLE_BY_OTHERS = 0o044;

/** Files that contain secrets, and decide what runs. */
const SECRET_FILES = ['config.json', 'token', '.env'];
/** Folders whose content is checked by the code that works in them. */
const UNSEARCHED = ['pg', 'workspace/sessions'];
/** How deep the home is searched, and at most how many files and folders. */
const MAX_DEPTH = 4;
const MAX_ENTRIES = 5_000;

/** A file or folder whose mode allows others too much. */
export interface OpenPlace {
  place: string;
  /** Its mode without the excess permissions. */
  mode: number;
  /** One line that names the command to fix it. */
  text: string;
  isError: boolean;
}

/** What is wrong with the permissions of a home, each as one line that names the command to fix it. */
export interface HomePermissions {
  /** Others can change the gateway's instructions or read its secrets: it must not start. */
  errors: string[];
  /** Not exploitable today, because the home keeps others out. */
  warnings: string[];
}

/**
 * Checks the modes of `home` and its content; inside a home that no one else can enter, they do not matter. Windows has
 * no modes, so nothing is checked there. Never throws.
 */
export function homePermissions(home: string, platform = process.platform): HomePermissions {
  const places = openPlaces(home, platform);
  const open = places.filter(({ isError }) => isError).map(({ text }) => text);
  return {
    errors: [...foreignPlaces(placesOf(home)), ...open],
    warnings: places.filter(({ isError }) => !isError).map(({ text }) => text),
  };
}

/** The home, and the files in it whose content decides what runs. */
export function placesOf(home: string): string[] {
  return [home, ...SECRET_FILES.map((name) => path.join(home, name))];
}

/**
 * Those of the places, or of the links there, that belong to neither this user nor root, each as one line that says what
 * to do: whoever owns a file can change it at any time, whatever its mode. Looks without reading. Never throws.
 */
export function foreignPlaces(places: readonly string[], user = process.geteuid?.()): string[] {
  if (user === undefined) return [];
  return places.flatMap((place) => {
    const stats = [statsOf(place, lstatSync), statsOf(place)].find(
      (one) => one !== undefined && ![0, user].includes(one.uid),
    );
    if (stats === undefined) return [];
    return `${place} belongs to another user of this machine (uid ${stats.uid}), whose settings could run programs as you. Set GATEWAY_HOME to a folder of your own, or if you wrote it yourself, run: chown -h ${user} ${place}`;
  });
}

/** The same as `homePermissions`, each with the mode it should have. Never throws. */
export function openPlaces(home: string, platform = process.platform): OpenPlace[] {
  const stats = platform === 'win32' ? undefined : statsOf(home);
  if (stats === undefined) return [];
  const places: OpenPlace[] = [];
  if ((stats.mode & WRITABLE_BY_OTHERS) !== 0) {
    const text = `GATEWAY_HOME ${home} can be changed by other users of this machine; run: chmod 700 ${home}`;
    places.push({ place: home, mode: 0o700, text, isError: true });
  }
  const isOpen = (stats.mode & ENTERED_BY_OTHERS) !== 0;
  for (const place of placesOf(home).slice(1)) {
    if (((statsOf(place)?.mode ?? 0) & READABLE_BY_OTHERS) === 0) continue;
    const text = `${place} can be read by other users of this machine; run: chmod 600 ${place}`;
    places.push({ place, mode: 0o600, text, isError: isOpen });
  }
  return isOpen ? [...places, ...changeable(home)] : places;
}

function changeable(home: string): OpenPlace[] {
  const places: OpenPlace[] = [];
  const folders = [{ folder: home, depth: 1 }];
  let budget = MAX_ENTRIES;
  for (let next = folders.pop(); next !== undefined && budget > 0; next = folders.pop()) {
    for (const name of namesIn(next.folder).slice(0, budget)) {
      budget -= 1;
      const place = path.join(next.folder, name);
      const stats = statsOf(place);
      if (stats === undefined || stats.isSocket()) continue;
      if ((stats.mode & WRITABLE_BY_OTHERS) !== 0) {
        const text = `${place} can be changed by other users of this machine; run: chmod go-w ${place}`;
        places.push({ place, mode: stats.mode & 0o7777 & ~WRITABLE_BY_OTHERS, text, isError: true });
      }
      const isSearched = stats.isDirectory() && !UNSEARCHED.includes(path.relative(home, place));
      if (isSearched && next.depth < MAX_DEPTH) folders.push({ folder: place, depth: next.depth + 1 });
    }
  }
  return places;
}

/** What a path leads to; undefined when it is nothing, or nothing this user may access. */
function statsOf(place: string, look: typeof statSync = statSync): Stats | undefined {
  try {
    return look(place, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}

/** The code that needs an unreadable folder reports it. */
function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
