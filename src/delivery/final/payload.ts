/** The payload of an `out:` head, validated when it leaves the store. */
import { z } from 'zod';
import { GatewayError } from '../../protocol/errors.ts';
import { mediaShape } from '../../protocol/media.ts';
import type { LaneHead } from '../../protocol/store/lanes.ts';
import type { DeliveryPayload } from '../../protocol/store/ledger.ts';

const sentMedia = z.object({
  kind: mediaShape.shape.kind,
  name: z.string(),
  mimeType: z.string(),
  bytes: z.number(),
  sha256: z.string(),
  file: z.string(),
  seconds: z.number().optional(),
  inText: z.string().optional(),
  caption: z.string().optional(),
});

/** Shape of the payload. */
export const payloadShape: z.ZodType<DeliveryPayload> = z.object({
  ref: z.string().min(1),
  key: z.string().optional(),
  message: z.object({
    channel: z.string(),
    chatId: z.string(),
    threadId: z.string().optional(),
    content: z.string(),
    turnId: z.string().optional(),
    replyTo: z.string().optional(),
    media: z.array(sentMedia),
    folder: z.string().optional(),
    buttons: z.array(
      z.object({
        label: z.string(),
        value: z.string(),
        style: z.enum(['normal', 'confirm', 'danger']).optional(),
        copy: z.string().optional(),
        form: z.boolean().optional(),
      }),
    ),
    isError: z.boolean().optional(),
    asked: z.boolean().optional(),
    onlyFor: z.string().optional(),
    repliesHidden: z.boolean().optional(),
    language: z.string().optional(),
  }),
  planId: z.string().optional(),
  says: z.enum(['turn.stopped', 'turn.joined', 'turn.deleted']).optional(),
  copies: z
    .array(
      z.object({
        id: z.string(),
        metadata: z.record(z.string(), z.string()).optional(),
        realId: z.string().optional(),
      }),
    )
    .optional(),
});

/** Reads a head's payload. Throws `GatewayError('bad_payload')`, which no retry can fix. */
export function readPayload(head: LaneHead): DeliveryPayload {
  const parsed = payloadShape.safeParse(head.payload);
  if (parsed.success) return parsed.data;
  const where = parsed.error.issues.map((issue) => issue.path.join('.')).join(', ');
  throw new GatewayError('bad_payload', `The delivery ${head.lane} #${head.seq} cannot be read: ${where}.`, {
    cause: parsed.error,
  });
}

/** Log fields that identify the delivery, as far as its payload can be read. */
export function logFields({ lane, seq, payload }: LaneHead): Record<string, unknown> {
  const parsed = payloadShape.safeParse(payload);
  if (!parsed.success) return { lane, laneSeq: seq };
  const { channel, chatId, turnId } = parsed.data.message;
  return { channel, chatId, turnId, lane, laneSeq: seq };
}
