/** The tool `switch_profile`: other tools, another prompt, another model from the next iteration of the turn on (N-55). */
import { z } from 'zod';
import type { SessionKey } from '../protocol/message.ts';
import { mayUseProfile, type Profile, SWITCH_PROFILE } from '../protocol/agent/profile.ts';
import { defineTool, type Tool } from '../protocol/agent/tool.ts';

export interface ProfileSwitching {
  profiles: () => readonly Profile[];
  /** Only owners change profiles: a model that was talked into it has no more rights than the person talking to it. */
  isOwner: (userId: string) => Promise<boolean>;
  /** Throws `GatewayError` when no model would answer under that profile and waiting does not help. */
  check: (id: string, signal: AbortSignal) => Promise<void>;
  setProfile: (session: SessionKey, id: string) => Promise<unknown>;
}

const parameters = z.strictObject({
  profile: z.string().max(100).optional().describe('Id of the profile; left out, the profiles are listed.'),
});

export function createSwitchProfile({ profiles, isOwner, check, setProfile }: ProfileSwitching): Tool {
  return defineTool({
    name: SWITCH_PROFILE,
    description:
      'Switch this conversation to another profile, which has its own instructions, tools and model. It takes effect ' +
      'with your next step. Without a profile: lists them.',
    parameters,
    effect: 'idempotent',
    risk: () => 'caution',
    results: 'operator',
    // Whatever a page talked it into would apply to later turns, too.
    reach: ({ profile }) => (profile === undefined ? 'session' : 'outside'),
    changes: ({ profile }) => (profile === undefined ? [] : ['profile']),
    async execute({ profile: id }: z.infer<typeof parameters>, ctx) {
      const list = profiles().map(describe).join('\n');
      if (id === undefined) return { content: `The profiles (now: ${ctx.profileId}):\n${list}` };
      const profile = profiles().find((each) => each.id === id);
      if (profile === undefined) {
        return { content: `There is no profile "${id}". The profiles:\n${list}`, isError: true };
      }
      if (ctx.agentId !== undefined) {
        const content =
          'Subagents cannot change their profile; return the result to the agent that asked for it.';
        return { content, isError: true };
      }
      if (!mayUseProfile(profile, { owner: await isOwner(ctx.userId), current: ctx.profileId })) {
        const content = 'Only an owner may change to this profile. Tell the user.';
        return { content, isError: true };
      }
      await check(id, ctx.signal);
      await setProfile(ctx.sessionKey, id);
      ctx.emit({ type: 'profile_switched', profileId: id });
      return {
        content: `This conversation now has the profile "${id}": your instructions and tools change.`,
      };
    },
  });
}

function describe({ id, description, enabledTools }: Profile): string {
  const tools = enabledTools.length === 0 ? 'no tools' : enabledTools.join(', ');
  return `- ${id}: ${description === undefined ? '' : `${description} `}(${tools})`;
}
