/**
 * The risk of one tool call, by its final arguments and by what its session has read (S-17).
 *
 * A call that its tool declares `dangerous` always needs an approval: its effect cannot be undone. Once the session has
 * read text of others (pages, search results, files, output of programs, memories, other agents, forwarded or group
 * messages), that text may have caused the call. Then every call with an effect outside the session is dangerous, too,
 * because it could do what a stranger wants, or leak the chat; a few reads excepted (unasked-reads.ts). Calls that stay in
 * the session, such as reading and writing its own files, need no approval unless the profile asks for it at `caution`.
 */
import type { Profile } from '../../contracts/profile.ts';
import type { ToolRisk } from '../../contracts/risk.ts';
import { describeSources, taints } from '../../contracts/risk.ts';
import type { Tool } from '../../contracts/tool.ts';
import { mayReadUnasked } from './unasked-reads.ts';
import type { Reader } from './unasked-reads.ts';

export interface Judgement {
  risk: ToolRisk;
  /** Why the call is not safe, as a sentence for users; empty when it is safe. */
  warning: string;
}

/** Judges a call with checked arguments; without a `reader` only the call itself counts. Never throws. */
export function judgeCall(tool: Tool, args: unknown, reader?: Reader): Judgement {
  const risk = tool.risk(args);
  if (risk === 'dangerous') {
    return { risk, warning: `It ${tool.warning?.(args) ?? 'may do what cannot be undone'}.` };
  }
  if (reader !== undefined && reachesOutside(tool, args, reader)) {
    const read = describeSources(reader.taint.sources);
    const what =
      tool.effect === 'pure' ? 'could send text of this chat to others' : 'reaches beyond this chat';
    return { risk: 'dangerous', warning: `It ${what}, and text from ${read} may have caused it.` };
  }
  return { risk, warning: risk === 'caution' ? 'It changes something, or sends something to others.' : '' };
}

function reachesOutside(tool: Tool, args: unknown, reader: Reader): boolean {
  if (!taints(reader.taint.sources)) return false;
  const reach = tool.reach(args);
  return typeof reach === 'string' ? reach === 'outside' : !mayReadUnasked(reader, reach);
}

/** True when a call waits for a human under this profile. No profile lets a dangerous one pass (S-45). */
export function mustAsk({ approvals }: Pick<Profile, 'approvals'>, { risk }: Judgement): boolean {
  return risk === 'dangerous' || (risk === 'caution' && approvals === 'caution');
}
