/** The settings of turns: each keeps those it began with, the next one gets those of its own beginning. */
import { type AgentShared, DEFAULT_LIMITS } from './deps.ts';
import { createEnvironmentNote } from './prompt/environment-note.ts';

/** What turns share, at one moment: settings and profiles stay the same for its holder. */
export type CurrentShared = () => AgentShared;

/**
 * Makes the function that returns what turns that begin now share; the same object until the settings or the profiles
 * change.
 */
export function followSettings(shared: AgentShared): CurrentShared {
  let known: { settings: unknown; profiles: unknown; current: AgentShared } | undefined;
  return () => {
    const settings = shared.settings();
    const profiles = shared.profiles();
    if (known?.settings !== settings || known.profiles !== profiles) {
      const { limits, timeZone } = settings;
      const current: AgentShared = {
        ...shared,
        profiles: () => profiles,
        limits: { ...DEFAULT_LIMITS, ...limits },
        environmentNoteOf: createEnvironmentNote({ ...shared.environmentNote, timeZone }),
      };
      known = { settings, profiles, current };
    }
    return known.current;
  };
}
