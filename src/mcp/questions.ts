/** What servers ask for during a call: neither our model nor an answer of people is theirs. */
import {
  type Client,
  isInputRequiredResult,
  ProtocolError,
  ProtocolErrorCode,
  withInputRequired,
} from '@modelcontextprotocol/client';
import { z } from 'zod';
import type { Log } from '../protocol/log.ts';

/** The user refused: the answer to a request to use our model. */
const REFUSED = -1;
/** How often one call is sent again because the server asks for something first. */
export const MAX_ROUNDS = 5;
const ELICITATION = 'elicitation/create';

const elicitation = z.looseObject({ message: z.string() });

/**
 * The answer to a server's request, up to protocol 2025-11-25. One that asks gets the protocol's refusal, and can continue.
 * Throws `ProtocolError`.
 */
export function declineRequest(
  method: string,
  params: unknown,
  log: Log,
  onQuestion: (question: string) => void,
): { action: 'decline' } {
  log.info({ method }, 'mcp_request_declined');
  if (method === ELICITATION) {
    onQuestion(questionOf(params));
    return { action: 'decline' };
  }
  if (method === 'sampling/createMessage')
    throw new ProtocolError(REFUSED, 'The user does not allow the use of the model.');
  const text = `This client does not support ${method.slice(0, 80)}.`;
  throw new ProtocolError(ProtocolErrorCode.MethodNotFound, text);
}

/**
 * Sends a request. From protocol 2026-07-28 on, servers ask in their result, and the call is sent again with the answer:
 * questions are declined, and what cannot be declined ends the call. Throws the client's errors.
 */
export async function withoutInput<Result>(
  client: Client,
  { method, params = {} }: { method: string; params?: Record<string, unknown> },
  schema: z.ZodType<Result>,
  options: NonNullable<Parameters<Client['request']>[2]>,
  onQuestion: (question: string) => void,
): Promise<Result> {
  const answers = withInputRequired(schema);
  let sent = params;
  for (let round = 0; round <= MAX_ROUNDS; round += 1) {
    const result = await client.request({ method, params: sent }, answers, {
      ...options,
      allowInputRequired: true,
    });
    if (!isInputRequiredResult(result)) return result;
    const { inputRequests = {}, requestState } = result;
    const inputResponses: Record<string, { action: 'decline' }> = {};
    for (const [id, request] of Object.entries(inputRequests)) {
      if (request.method !== ELICITATION)
        throw new ProtocolError(REFUSED, `The server asks for ${request.method}, which it does not get.`);
      onQuestion(questionOf(request.params));
      inputResponses[id] = { action: 'decline' };
    }
    sent = { ...params, inputResponses, ...(requestState !== undefined && { requestState }) };
  }
  throw new ProtocolError(REFUSED, `The server still asks after ${MAX_ROUNDS} declined questions.`);
}

function questionOf(params: unknown): string {
  return elicitation.safeParse(params).data?.message ?? '';
}
