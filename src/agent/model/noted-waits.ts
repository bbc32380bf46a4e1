/**
 * The note of a turn that waits for a place at its model's server: if the node dies in the meantime, the turn is not to
 * blame.
 */
import { toGatewayError } from '../../protocol/errors.ts';
import { type LaneHead, waitNotedAfterMs } from '../../protocol/store/lanes.ts';
import { systemClock } from '../../lib/clock.ts';
import { LastingNote } from '../../lib/async/lasting-note.ts';
import type { AgentDeps } from '../deps.ts';

/** Makes the note for the turn, or the background subagent, of this head. */
export function notedWaits({ lanes, log }: Pick<AgentDeps, 'lanes' | 'log'>, head: LaneHead): LastingNote {
  return new LastingNote({
    clock: systemClock,
    afterMs: waitNotedAfterMs(head),
    write: (isWaiting) => lanes.noteWaiting(head, isWaiting),
    onFailed: (error) => log.info({ lane: head.lane, err: toGatewayError(error) }, 'waiting_not_noted'),
  });
}
