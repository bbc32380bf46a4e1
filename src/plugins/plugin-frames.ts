/** What a plug-in's process may send, and the error of a call that it answers with one. */
import { z } from 'zod';
import { GatewayError } from '../protocol/errors.ts';

const wireError = z.object({
  code: z.string().max(100).catch(''),
  message: z.string().catch(''),
  retryAfterMs: z.number().min(0).max(86_400_000).optional().catch(undefined),
  movedTo: z.string().max(300).optional().catch(undefined),
});
const frameShape = z.discriminatedUnion('type', [
  z.object({ type: z.literal('call'), id: z.int(), method: z.string(), args: z.array(z.unknown()) }),
  z.object({ type: z.literal('answer'), id: z.int(), value: z.unknown().optional() }),
  z.object({ type: z.literal('error'), id: z.int(), error: wireError }),
  z.object({ type: z.literal('chunk'), id: z.int(), value: z.unknown().optional() }),
  z.object({ type: z.literal('note'), method: z.string(), args: z.array(z.unknown()) }),
]);

/** The error of a call as it travels. */
export type WireFailure = z.infer<typeof wireError>;

/** What a call of the plug-in failed with, in its words; secrets are removed. */
export class PluginError extends GatewayError {
  readonly movedTo: string | undefined;
  constructor(error: WireFailure, message: string) {
    super(error.code, message, error.retryAfterMs === undefined ? {} : { retryAfterMs: error.retryAfterMs });
    this.movedTo = error.movedTo;
  }
}

/** The frame of a line; undefined for anything else. */
export function parseFrame(line: string): z.infer<typeof frameShape> | undefined {
  try {
    return frameShape.safeParse(JSON.parse(line)).data;
  } catch {
    // Not JSON: the same as any other frame that is none.
    return undefined;
  }
}
