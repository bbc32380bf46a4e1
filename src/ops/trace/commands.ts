/** `parley trace` and `/why`: what happened to a message. */
import type { Command } from '../../contracts/command.ts';
import { GatewayError, readerOf } from '../../contracts/errors.ts';
import { textRef } from '../../contracts/texts/say.ts';
import { oneLine } from '../../lib/text.ts';
import type { RefusalNotes } from './refusal-notes.ts';
import { traceText, whyText } from './trace-text.ts';
import type { Traces } from './traces.ts';
import { PARLEY } from '../../contracts/texts/parley.ts';

/**
 * Runs `parley trace` and returns the text to print. Throws `GatewayError`: `usage`, or `unknown_turn` when nothing is
 * known about the id; `StoreError` from the store.
 */
export async function traceCommand(traces: Pick<Traces, 'look'>, args: readonly string[]): Promise<string> {
  const prompt = args.includes('--prompt');
  const [id = 'last', ...more] = args.filter((argument) => argument !== '--prompt');
  if (more.length > 0 || id.startsWith('--'))
    throw new GatewayError(
      'usage',
      `Expected: trace [TURN | SESSION | last] [--prompt]. See: ${PARLEY} --help`,
    );
  const found = await traces.look(id === 'last' ? undefined : id, true);
  if (found.turn !== undefined || found.refusals.length > 0) return traceText(found, { prompt });
  throw new GatewayError(
    'unknown_turn',
    id === 'last'
      ? 'No message has come in yet, or its traces are older than a week.'
      : `Nothing is known about ${oneLine(id)}: no turn, session or chat has this id.`,
  );
}

export interface WhyDeps {
  traces: Pick<Traces, 'look'>;
  refusals: Pick<RefusalNotes, 'flush'>;
}

/** `/why`: tells owners why the last message of the chat got no answer, or which one it got. */
export function createWhyCommand({ traces, refusals }: WhyDeps): Command {
  return {
    name: 'why',
    owners: true,
    description: 'about.why',
    personal: true,
    async run(call) {
      if (!call.owner) {
        throw new GatewayError('forbidden', textRef('why.owners_only'));
      }
      await refusals.flush();
      const detail = readerOf(call) === 'operator';
      const [here, session] = await Promise.all([
        traces.look(call.address, detail, call.say),
        traces.look(call.session, detail, call.say),
      ]);
      const { turn } = session;
      const since = turn?.acceptedAt.getTime() ?? 0;
      const fresh = here.refusals.filter(({ lastAt }) => lastAt.getTime() >= since);
      return whyText({ turn, refusals: fresh }, call.say);
    },
  };
}
