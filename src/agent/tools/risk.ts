/**
 * The risk of one tool call, by its final arguments and by what its session has read (S-17).
 *
 * A call that its tool declares `dangerous` always needs an approval: its effect cannot be undone. Once the session has
 * read text of others (pages, search results, files, output of programs, memories, other agents, forwarded or group
 * messages), that text may have caused the call. Then every call with an effect outside the session is dangerous, too,
 * because it could do what a stranger wants, or leak the chat; a few reads excepted (unasked-reads.ts). Calls that stay in
 * the session, such as reading and writing its own files, need no approval unless the profile asks for it at `caution`.
 */
import type { Profile } from '../../protocol/agent/profile.ts';
import { describeSources, taints, type ToolRisk } from '../../protocol/agent/risk.ts';
import type { Tool } from '../../protocol/agent/tool.ts';
import { mayReadUnasked, type Reader } from './unasked-reads.ts';
import { inEnglish, type Say } from '../../protocol/texts/say.ts';

export interface Judgement {
  risk: ToolRisk;
  /** Why the call is not safe, as a sentence for users; empty when it is safe. */
  warning: string;
}

/** Judges a call with checked arguments; without a `reader` only the call itself counts. Never throws. */
export function judgeCall(tool: Tool, args: unknown, reader?: Reader, say: Say = inEnglish): Judgement {
  const risk = tool.risk(args);
  if (risk === 'dangerous') {
    return { risk, warning: say('risk.it', { what: tool.warning?.(args) ?? say('risk.cannot_be_undone') }) };
  }
  if (reader !== undefined && reachesOutside(tool, args, reader)) {
    const sources = describeSources(reader.taint.sources, say);
    const key = tool.effect === 'pure' ? 'risk.sends' : 'risk.reaches';
    return { risk: 'dangerous', warning: say(key, { sources }) };
  }
  return { risk, warning: risk === 'caution' ? say('risk.changes') : '' };
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
