/** The facts that approvals are decided by: a tool call's effect, risk, reach, and the sources of text in its turn. */

/**
 * Effect of running a call twice. After a crash an open `pure` call runs again, an open `idempotent` call runs again with
 * the same key, an open `unsafe` call is not run again: model and user see "outcome unknown".
 */
export type ToolEffect = 'pure' | 'idempotent' | 'unsafe';

export type ToolRisk = 'safe' | 'caution' | 'dangerous';

/**
 * Source of text that is not the user's own: public pages (`web`); files and their names, programs' output, memories
 * and other agents (`local`: others may have written it, and it may be private); members of a group (`group`); authors
 * of forwarded messages (`forwarded`).
 */
export type TextSource = 'web' | 'local' | 'group' | 'forwarded';

/**
 * Where a call has effects: in its session only; at one web address; at a service the operator chose, which receives
 * this query; or anywhere else (other chats, programs, schedules, the agent's instructions in later sessions).
 */
export type Reach = 'session' | 'outside' | { address: string } | { query: string };

/** Source of a tool result's text; `operator` = trusted: the gateway's own text, or the operator's. */
export type ResultSource = TextSource | 'operator';
