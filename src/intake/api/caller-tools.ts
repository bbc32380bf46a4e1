/** Results of tools that an API caller runs: they resume the turn that waits for them. */
import type { MessageBus } from '../../contracts/bus.ts';
import { GatewayError } from '../../contracts/errors.ts';
import type { ContinuedTurn, ToolAnswers } from '../../contracts/gateway-api.ts';
import type { Ledger } from '../../contracts/store/ledger.ts';
import type { SessionKey } from '../../contracts/message.ts';
import { cleanText } from '../../lib/text.ts';
import { estimateTokens } from '../../lib/tokens.ts';
import { MAX_MESSAGE_LENGTH } from '../receive.ts';

/**
 * Stores the results and makes the turn due. Throws `StoreError`, and `GatewayError`: `no_tools_pending`,
 * `bad_tool_results` (not exactly the pending calls, or a result that is too long).
 */
export async function answerTools(
  { ledger, bus }: { ledger: Pick<Ledger, 'callerResults'>; bus: Pick<MessageBus, 'sweepSoon'> },
  session: SessionKey,
  { results, options }: ToolAnswers,
): Promise<ContinuedTurn> {
  const read = results.map(({ toolCallId, content }) => {
    const text = cleanText(content);
    if (text.length > MAX_MESSAGE_LENGTH) {
      throw badResults(`a result has more than ${MAX_MESSAGE_LENGTH} characters`);
    }
    return { toolCallId: cleanText(toolCallId), content: text, tokens: estimateTokens(text) };
  });
  const outcome = await ledger.callerResults({ session, results: read, options });
  switch (outcome.kind) {
    case 'continued':
      bus.sweepSoon();
      return outcome;
    case 'mismatch':
      throw badResults(`the session waits for exactly these calls: ${outcome.toolCallIds.join(', ')}`);
    case 'not_waiting':
      throw new GatewayError(
        'no_tools_pending',
        'This session does not wait for results of these tool calls.',
      );
    default:
      return outcome satisfies never;
  }
}

function badResults(why: string): GatewayError {
  return new GatewayError('bad_tool_results', `The tool results were not accepted: ${why}.`);
}
