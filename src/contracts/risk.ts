/** What a tool call may do, how dangerous that is, and whose words may have asked for it: what approvals are decided by. */

/**
 * What running twice would do. After a crash an open `pure` call runs again, an open `idempotent` call runs again with
 * the same key, an open `unsafe` call is not run again: model and user are told "outcome unknown".
 */
export type ToolEffect = 'pure' | 'idempotent' | 'unsafe';

export type ToolRisk = 'safe' | 'caution' | 'dangerous';

/**
 * Whose words a text holds, where they are not the user's own: public pages (`web`); files and their names, programs'
 * output, memories and other agents (`local`: others may have written them, and they may be private); whoever speaks
 * in a group (`group`); whoever wrote what was passed on (`forwarded`).
 */
export type TextSource = 'web' | 'local' | 'group' | 'forwarded';

/**
 * Where a call is felt: in its session only; at one web address; at a service the operator chose, which is told these
 * words; or anywhere else (other chats, programs, the clock, what the agent will be told in later sessions).
 */
export type Reach = 'session' | 'outside' | { address: string } | { words: string };
