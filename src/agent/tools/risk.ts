/**
 * The risk of one tool call, by its final arguments and by what its turn has read (S-17).
 *
 * Calls that need an approval, and why. A call that its tool calls `dangerous` always does: it can do what cannot be taken back. Once the
 * context holds text of others (pages, search results, files, programs' output, memories, other agents, forwarded or
 * group messages), that text may be what asks: then every call with an effect outside the session is dangerous, too, for
 * it could carry out what a stranger wants, or carry away what the chat holds. A page may still be read when the people
 * of the chat named its address or a search listed it; a search may still be made with words that public pages gave.
 * Calls that stay in the session, such as reading and ordinary writing of its own files, never ask, unless the profile
 * wants `caution` asked for.
 */
import type { Profile } from '../../contracts/profile.ts';
import type { TextSource, ToolRisk } from '../../contracts/risk.ts';
import type { Tool } from '../../contracts/tool.ts';
import { taintOf } from './taint.ts';
import type { Taint } from './taint.ts';

export interface Judgement {
  risk: ToolRisk;
  /** The reason why it is more than safe, as a sentence for people. */
  warning: string;
}

const CLEAN = taintOf([]);

/** Names of the sources for people. */
const SOURCE_WORDS: Readonly<Record<TextSource, string>> = {
  web: 'web pages',
  local: 'files, programs, memories or other agents',
  group: 'this group',
  forwarded: 'a forwarded message',
};

/** Judges a call whose arguments are checked; without `taint` only the call itself. Never throws. */
export function judgeCall(tool: Tool, args: unknown, taint: Taint = CLEAN): Judgement {
  const risk = tool.risk(args);
  if (risk === 'dangerous') {
    return { risk, warning: `It ${tool.warning?.(args) ?? 'may do what cannot be taken back'}.` };
  }
  if (isFeltOutside(tool, args, taint)) {
    const read = [...taint.sources].map((source) => SOURCE_WORDS[source]).join(' and ');
    const what = tool.effect === 'pure' ? 'could carry text of this chat away' : 'reaches beyond this chat';
    return { risk: 'dangerous', warning: `It ${what}, and words from ${read} may be what asks for it.` };
  }
  return { risk, warning: risk === 'caution' ? 'It changes something, or tells others something.' : '' };
}

function isFeltOutside(tool: Tool, args: unknown, taint: Taint): boolean {
  if (taint.sources.size === 0) return false;
  const reach = tool.reach(args);
  if (typeof reach === 'string') return reach === 'outside';
  return 'address' in reach ? !taint.isNamed(reach.address) : !taint.isPublic(reach.query);
}

/** True when a call waits for a human under this profile. No profile lets a dangerous one pass (S-45). */
export function mustAsk({ approvals }: Pick<Profile, 'approvals'>, { risk }: Judgement): boolean {
  return risk === 'dangerous' || (risk === 'caution' && approvals === 'caution');
}
