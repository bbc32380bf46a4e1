/** Reads the payload of a `agent:` head: JSON from the database, checked once here. */
import { z } from 'zod';
import { GatewayError } from '../../contracts/errors.ts';
import type { SubagentPayload } from '../../contracts/subagents.ts';

const address = z.templateLiteral([z.string().min(1), ':', z.string().min(1)]);

const payload = z.object({
  agentId: z.string().min(1),
  session: address,
  turnId: z.string(),
  address,
  userId: z.string(),
  place: z.enum(['private', 'group']),
  profileId: z.string(),
  model: z.string().optional(),
  tools: z.array(z.string()),
  task: z.string(),
  source: z.enum(['web', 'local', 'group', 'forwarded']).optional(),
  deadline: z.number(),
});

/** The payload, or why it cannot be read: the subagent cannot be run, now or later. */
export function readRunPayload(stored: unknown): SubagentPayload | GatewayError {
  const read = payload.safeParse(stored);
  if (read.success) return read.data;
  return new GatewayError('bad_payload', `A queued subagent cannot be read: ${z.prettifyError(read.error)}`);
}
