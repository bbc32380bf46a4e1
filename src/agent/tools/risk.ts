/**
 * The risk of one tool call, by its final arguments and by what its turn has read (S-17).
 *
 * A call that its tool declares `dangerous` always needs an approval: its effect cannot be undone. Once the context holds
 * text from others (pages, search results, files, output of programs, memories, other agents, forwarded or group
 * messages), that text may have caused the call. Then every call with an effect outside the session is dangerous, too,
 * because it could do what a stranger wants, or leak the chat. A page may still be read when a person of the chat named
 * its address or a search listed it; a search may still be made with words from public pages. Calls that stay in the
 * session, such as reading and writing its own files, need no approval unless the profile asks for it at `caution`.
 */
import type { Profile } from '../../contracts/profile.ts';
import type { TextSource, ToolRisk } from '../../contracts/risk.ts';
import type { Tool } from '../../contracts/tool.ts';
import { taintOf } from './taint.ts';
import type { Taint } from './taint.ts';

export interface Judgement {
  risk: ToolRisk;
  /** Why the call is not safe, as a sentence for users; empty when it is safe. */
  warning: string;
}

const CLEAN = taintOf([]);

/** Names of the sources for users. */
const SOURCE_NAMES: Readonly<Record<TextSource, string>> = {
  web: 'web pages',
  local: 'files, programs, memories or other agents',
  group: 'this group',
  forwarded: 'a forwarded message',
};

/** Judges a call with checked arguments; without `taint` only the call itself counts. Never throws. */
export function judgeCall(tool: Tool, args: unknown, taint: Taint = CLEAN): Judgement {
  const risk = tool.risk(args);
  if (risk === 'dangerous') {
    return { risk, warning: `It ${tool.warning?.(args) ?? 'may do what cannot be undone'}.` };
  }
  if (reachesOutside(tool, args, taint)) {
    const read = [...taint.sources].map((source) => SOURCE_NAMES[source]).join(' and ');
    const what =
      tool.effect === 'pure' ? 'could send text of this chat to others' : 'reaches beyond this chat';
    return { risk: 'dangerous', warning: `It ${what}, and text from ${read} may have caused it.` };
  }
  return { risk, warning: risk === 'caution' ? 'It changes something, or sends something to others.' : '' };
}

function reachesOutside(tool: Tool, args: unknown, taint: Taint): boolean {
  if (taint.sources.size === 0) return false;
  const reach = tool.reach(args);
  if (typeof reach === 'string') return reach === 'outside';
  return 'address' in reach ? !taint.isNamed(reach.address) : !taint.isPublic(reach.query);
}

/** True when a call waits for a human under this profile. No profile lets a dangerous one pass (S-45). */
export function mustAsk({ approvals }: Pick<Profile, 'approvals'>, { risk }: Judgement): boolean {
  return risk === 'dangerous' || (risk === 'caution' && approvals === 'caution');
}
