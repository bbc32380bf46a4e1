/** The profile of a subagent: its own prompt and limits, and never a tool that the parent does not have. */
import { commonTools, type Profile } from '../../protocol/agent/profile.ts';
import { NOT_FOR_SUBAGENTS } from '../../protocol/agent/subagents.ts';

/** The tools of a subagent: `subagentTools` of the profile, else `enabledTools`, without those that the parent lacks (N-11, B-32). */
function subagentTools(profile: Profile, parents: ReadonlySet<string>): string[] {
  const requested = profile.subagentTools.length > 0 ? profile.subagentTools : profile.enabledTools;
  return commonTools(requested, parents).filter((name) => !NOT_FOR_SUBAGENTS.includes(name));
}

/**
 * Makes the function that returns the profile of a subagent. It is the same object each time, so that what is prepared
 * for it is cached as long as the profile lives.
 */
export function createSubagentProfiles(): (profile: Profile, parents: ReadonlySet<string>) => Profile {
  const made = new WeakMap<Profile, Map<string, Profile>>();
  return (profile, parents) => {
    const enabledTools = subagentTools(profile, parents);
    const byTools = made.get(profile) ?? new Map<string, Profile>();
    made.set(profile, byTools);
    const key = enabledTools.join();
    const known = byTools.get(key);
    if (known !== undefined) return known;
    const own: Profile = {
      ...profile,
      enabledTools,
      systemPrompt: profile.subagentSystemPrompt,
      maxIterations: profile.subagentMaxIterations,
      planningEnabled: profile.subagentPlanningEnabled,
    };
    byTools.set(key, own);
    return own;
  };
}
