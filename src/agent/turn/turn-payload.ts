/** The payload of an `in:` head, validated here once, and its message as the model reads it. */
import { z } from 'zod';
import { GatewayError } from '../../contracts/errors.ts';
import type { TurnPayload } from '../../contracts/ledger.ts';
import type { InboundMessage } from '../../contracts/message.ts';
import { MODES } from '../../contracts/plan.ts';

const address = z.templateLiteral([z.string().min(1), ':', z.string().min(1)]);
const metadata = z.record(z.string(), z.string()).optional();

const media = z.object({
  kind: z.enum(['image', 'audio', 'video', 'file']),
  name: z.string().optional(),
  mimeType: z.string().optional(),
  bytes: z.number().optional(),
  url: z.string(),
});

const message = z.object({
  id: z.string(),
  channel: z.string(),
  chatId: z.string(),
  threadId: z.string().optional(),
  senderId: z.string(),
  senderName: z.string().optional(),
  content: z.string(),
  timestamp: z.number(),
  media: z.array(media),
  replyTo: z.string().optional(),
  place: z.enum(['private', 'group']),
  forwarded: z.boolean().optional(),
  mentioned: z.boolean(),
  placeholder: z.object({ id: z.string(), metadata }).optional(),
  sessionKey: address.optional(),
  metadata,
});

const payload = z.object({
  turnId: z.string().min(1),
  address,
  message,
  entry: z.enum(['runStream', 'run']),
  silentToken: z.string().min(1).optional(),
  model: z.string().optional(),
  profileId: z.string().optional(),
  mode: z.enum(MODES).optional(),
});

/** The payload, or the error of one that cannot be read, now or later. */
export function readTurnPayload(stored: unknown): TurnPayload | GatewayError {
  const read = payload.safeParse(stored);
  if (read.success) return read.data;
  return new GatewayError('bad_payload', `A queued message cannot be read: ${z.prettifyError(read.error)}`);
}

/** The user's text, with the names of attached files. */
export function messageText(message: InboundMessage): string {
  const files = message.media.map(
    ({ kind, name }) => `[attached ${kind}${name === undefined ? '' : `: ${name}`}]`,
  );
  return [message.content, ...files].filter((line) => line !== '').join('\n');
}
