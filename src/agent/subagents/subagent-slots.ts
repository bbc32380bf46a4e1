/** The limits on the subagents of one turn: how many it makes, and how many of them work at once. */
import {
  agentIdOf,
  MAX_SUBAGENTS_AT_ONCE,
  MAX_SUBAGENTS_PER_TURN,
  SPAWN_TOOL,
} from '../../contracts/agent/subagents.ts';
import type { AgentShared } from '../deps.ts';
import type { TurnIdentity, TurnProgress } from '../state/turn-state.ts';

/** Counts the subagents of a turn against their limits. */
export class SubagentSlots {
  readonly #subagents: AgentShared['subagents'];
  readonly #turn: Pick<TurnIdentity, 'sessionKey'>;
  /** Calls that started a subagent, those from before a crash included. */
  readonly #made: Set<string>;
  readonly #waitedFor = new Set<string>();

  constructor(
    { subagents }: Pick<AgentShared, 'subagents'>,
    turn: Pick<TurnIdentity, 'sessionKey' | 'turnId'> & Pick<TurnProgress, 'rows'>,
  ) {
    this.#subagents = subagents;
    this.#turn = turn;
    this.#made = new Set(
      [...turn.rows.steps, ...turn.rows.ofPlan].flatMap(({ iteration, entry }) =>
        entry.kind === 'tool_intent' && entry.toolName === SPAWN_TOOL
          ? [`${turn.turnId}.${iteration}.${entry.callIndex}`]
          : [],
      ),
    );
  }

  /** Takes a slot and returns the function that releases it, or the reason why none is free. */
  async acquire(callKey: string, agentId: string): Promise<(() => void) | string> {
    if (!this.#made.has(callKey) && this.#made.size >= MAX_SUBAGENTS_PER_TURN) {
      return `A turn makes at most ${MAX_SUBAGENTS_PER_TURN} subagents, and this one already has. Do the rest yourself.`;
    }
    this.#made.add(callKey);
    this.#waitedFor.add(callKey);
    const release = (): void => void this.#waitedFor.delete(callKey);
    const others = [...this.#made].map((key) => agentIdOf(this.#turn.sessionKey, key));
    const atWork = await this.#subagents.atWork(others.filter((id) => id !== agentId));
    if (this.#waitedFor.size + atWork <= MAX_SUBAGENTS_AT_ONCE) return release;
    release();
    return `${MAX_SUBAGENTS_AT_ONCE} subagents of this turn are already at work, the maximum at once.`;
  }
}
