/** Work after a turn: the workers, and which of them are switched on. */

/** The workers, in the order in which they run after a turn; each can be switched off in `config.json`. */
export const AFTER_TURN_WORKERS = ['compression', 'facts', 'title'] as const;
export type AfterTurnName = (typeof AFTER_TURN_WORKERS)[number];

/** Which workers run. */
export type AfterTurnSettings = Readonly<Record<AfterTurnName, boolean>>;
