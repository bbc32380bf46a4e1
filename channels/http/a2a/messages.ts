/** What other agents send (Agent2Agent protocol, version 1.0): the requests, and the text of a message. */
import { z } from 'zod';
import { HttpError } from '../errors.ts';
import { IDEMPOTENCY_KEY } from '../inbound.ts';

/** Longest id of a request, in UTF-16 units. */
const MAX_REQUEST_ID = 100;

/** A request of JSON-RPC; its method is checked where it is called, so that each refusal has the code of the protocol. */
export const rpcRequest = z.looseObject({
  jsonrpc: z.literal('2.0'),
  id: z.union([z.string().max(MAX_REQUEST_ID), z.number()]),
  method: z.string().max(100),
  params: z.record(z.string(), z.unknown()).default({}),
});
export type RequestId = z.output<typeof rpcRequest>['id'];

const part = z.looseObject({
  text: z.string().optional(),
  data: z.unknown().optional(),
  raw: z.unknown().optional(),
  url: z.unknown().optional(),
});

const message = z.looseObject({
  messageId: z.string().refine((id) => IDEMPOTENCY_KEY.test(id), 'must be 1 to 255 visible ASCII characters'),
  contextId: z.string().default(''),
  taskId: z.string().default(''),
  parts: z.array(part).min(1).max(100),
});
export type AgentMessage = z.output<typeof message>;

/** `SendMessage` and `SendStreamingMessage`. */
export const sendParams = z.looseObject({
  message,
  configuration: z.looseObject({ returnImmediately: z.boolean().default(false) }).prefault({}),
});
/** `GetTask`, `CancelTask` and `SubscribeToTask`. */
export const taskParams = z.looseObject({ id: z.string().min(1).max(100) });

/** The text of a message; data is written as JSON. Throws `HttpError` for files, which are not taken. */
export function textOf({ parts }: AgentMessage): string {
  const texts = parts.map(({ text, data, raw, url }) => {
    if (text !== undefined) return text;
    if (data !== undefined) return JSON.stringify(data);
    const what = raw === undefined && url === undefined ? 'an empty part' : 'a file';
    throw new HttpError(400, 'content_type_not_supported', `A part is ${what}: send text or data.`);
  });
  return texts.join('\n\n');
}

const decision = z.object({
  decision: z.enum(['approved', 'denied']),
  reason: z.string().trim().min(1).max(1_000).optional(),
});
export type Decision = z.output<typeof decision>;

const WORDS: Readonly<Record<string, Decision>> = {
  approve: { decision: 'approved' },
  approved: { decision: 'approved' },
  deny: { decision: 'denied' },
  denied: { decision: 'denied' },
};

/** The decision that a message brings: one of the words alone, or data. Throws `HttpError` for anything else. */
export function decisionOf(answer: AgentMessage): Decision {
  const [first] = answer.parts;
  const { data } = decision.safeParse(first?.data);
  const word = WORDS[(first?.text ?? '').trim().toLowerCase().replace(/[.!]$/, '')];
  const only = answer.parts.length === 1 ? (data ?? word) : undefined;
  if (only !== undefined) return only;
  const text =
    'Answer with the single word "approve" or "deny", or with data {"decision": "approved" | "denied"}.';
  throw new HttpError(400, 'no_decision', text);
}
