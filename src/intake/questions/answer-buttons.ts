/** The buttons under answers: Stop while one is being written, Regenerate once it is complete. */
import { readTurnButton } from '../../protocol/delivery.ts';
import type { PressAnswer, PressHandler } from '../../protocol/receive.ts';
import type { TryStore } from '../../protocol/store/records.ts';
import type { SessionKey } from '../../protocol/message.ts';
import type { Ledger } from '../../protocol/store/ledger.ts';
import { describeStop, stopSession } from '../sessions/stop-session.ts';
import type { CommandDeps } from '../commands/commands.ts';
import type { Say } from '../../protocol/texts/say.ts';

export interface AnswerButtonDeps extends Pick<CommandDeps, 'lanes' | 'bus'> {
  ledger: Pick<Ledger, 'turn' | 'sessionOf'>;
  tries: Pick<TryStore, 'lastQuestion'>;
}

/** Makes the handler: `/stop` and `/retry`, but only for the answer that has the button. */
export function createAnswerButtons(deps: AnswerButtonDeps): PressHandler {
  return async ({ value, address, say }) => {
    const button = readTurnButton(value);
    if (button === undefined) return undefined;
    const { action, turnId } = button;
    const [turn, session] = await Promise.all([deps.ledger.turn(turnId), deps.ledger.sessionOf(address)]);
    if (turn === undefined) return { reply: say('answer.forgotten') };
    if (turn.session !== session) return { reply: say('button.elsewhere') };
    if (action === 'again') return await again(deps, session, turnId, say);
    if (turn.state === 'done') return { reply: say('answer.ended') };
    return { reply: describeStop(await stopSession(deps, session, false), say, 'answer.ended') };
  };
}

async function again(
  { tries }: AnswerButtonDeps,
  session: SessionKey,
  turnId: string,
  say: Say,
): Promise<PressAnswer> {
  const last = await tries.lastQuestion(session);
  if (last?.turnId !== turnId) return { reply: say('answer.not_newest') };
  // Two presses under one answer ask once.
  const id = `turn-again:${turnId}`;
  const passedOn = { id, content: last.content, options: { retryOf: turnId } };
  return { reply: say('answer.asked_again'), passedOn };
}
