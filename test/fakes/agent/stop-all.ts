/** `/stop` as it happens to a session whose subagents work in the background. */
import { LaneAbort } from '../../../src/protocol/bus.ts';
import type { LaneHead } from '../../../src/protocol/store/lanes.ts';
import type { TestStore } from '../../database.ts';
import type { TurnScenario } from './turn-setup.ts';

/** The session is stopped while its subagents work. */
export async function stopAll(
  scenario: TurnScenario,
  store: TestStore,
  chatId: string,
  run: (head: LaneHead, signal?: AbortSignal) => Promise<unknown>,
): Promise<void> {
  await store.lanes.stop(`telegram:${chatId}`, { fresh: false });
  const stopped = AbortSignal.abort(new LaneAbort('stopped'));
  for (const head of scenario.background.splice(0)) await run(head, stopped);
}
