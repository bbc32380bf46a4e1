/** The settings of turns: each keeps those it began with, the next one gets those of its own beginning. */
import { DEFAULT_LIMITS } from './deps.ts';
import type { AgentShared } from './deps.ts';
import { createEnvironmentNote } from './prompt/environment-note.ts';

/** What turns share, at one moment: settings and profiles stay the same for its holder. */
export type CurrentShared = () => AgentShared;

/**
 * Makes the function that returns what turns that begin now share; the same object until the settings or the profiles
 * change.
 */
export function followSettings(shared: AgentShared): CurrentShared {
  const { deps } = shared;
  let known: { settings: unknown; profiles: unknown; current: AgentShared } | undefined;
  return () => {
    const settings = deps.settings();
    const profiles = deps.profiles();
    if (known?.settings !== settings || known.profiles !== profiles) {
      const { limits, timeZone } = settings;
      const current: AgentShared = {
        ...shared,
        deps: { ...deps, profiles: () => profiles },
        limits: { ...DEFAULT_LIMITS, ...limits },
        environmentNoteOf: createEnvironmentNote({ ...deps.environmentNote, timeZone }),
      };
      known = { settings, profiles, current };
    }
    return known.current;
  };
}
