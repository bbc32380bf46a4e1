/** Records that nodes send each other over the fan-out, one JSON line each. */
import { z } from 'zod';
import type { AgentEvent } from '../contracts/event.ts';
import type { LaneKey } from '../contracts/lanes.ts';
import type { SessionKey } from '../contracts/message.ts';

const key = z.custom<SessionKey>((value) => typeof value === 'string' && value.includes(':'));
const run = z.object({ sessionKey: key, turnId: z.string(), epoch: z.int().min(0) });

/** The part of an event that is read here; the nodes of one database run one program, so its body is not checked. */
const envelopeSchema = z.looseObject({
  type: z.string(),
  sessionKey: key,
  turnId: z.string().optional(),
  epoch: z.int().min(0).optional(),
  eventSeq: z.int().min(1).optional(),
  at: z.number(),
});

const recordSchema = z.union([
  /** An event with its numbers. */
  z.object({ event: z.custom<AgentEvent>((value) => envelopeSchema.safeParse(value).success) }),
  /** State of a turn's run, when it begins and when asked for. `text` is what had been said up to event `seq`. */
  z.object({ state: run.extend({ seq: z.int().min(0), text: z.string() }) }),
  /** Events of this run were lost on the way: asks its own node for the state. */
  z.object({ want: run }),
  /** A stop mark was set on this lane: its owner reads the marks at once. */
  z.object({ stop: z.custom<LaneKey>((value) => typeof value === 'string' && value.includes(':')) }),
  /** The sender is alive. */
  z.object({ hello: z.literal(true) }),
]);

export type NodeRecord = z.infer<typeof recordSchema>;

/** Reads one line of another node; undefined when it cannot be read (another version's, or cut short). Never throws. */
export function parseRecord(line: string): NodeRecord | undefined {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return undefined;
  }
  return recordSchema.safeParse(value).data;
}
