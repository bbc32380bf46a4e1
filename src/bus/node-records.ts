/** Records that nodes send each other over the fan-out, one JSON line each. */
import { z } from 'zod';
import type { AgentEvent } from '../protocol/event.ts';
import type { LaneKey } from '../protocol/store/lanes.ts';
import type { SessionKey } from '../protocol/message.ts';
import { parseJson } from '../lib/json/json.ts';
import type { TurnRun } from './turn-ring.ts';

/** Runs in one record. */
export const MAX_RUNS = 500;

const key = z.custom<SessionKey>((value) => typeof value === 'string' && value.includes(':'));
const run = z.object({ sessionKey: key, turnId: z.string(), epoch: z.int().min(0) });

/** The part of an event that is checked; all nodes of a database run the same program, so its body is not. */
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
  /** State of a run, sent when it begins and on request. `text` is the text up to event `seq`. */
  z.object({ state: run.extend({ seq: z.int().min(0), text: z.string() }) }),
  /** How far the sender's runs are: the newest ones, again every few seconds, because the last events may be lost. */
  z.object({ runs: z.array(run.extend({ seq: z.int().min(0), ended: z.boolean() })).max(MAX_RUNS) }),
  /** Events of this run were lost in transit: asks its own node for the state. */
  z.object({ want: run }),
  /** A stop mark was set on this lane: its owner reads the marks at once. */
  z.object({ stop: z.custom<LaneKey>((value) => typeof value === 'string' && value.includes(':')) }),
  /** The sender had lost its connection: its peers say at once how far their runs are. */
  z.object({ resumed: z.literal(true) }),
  /** The sender is alive. */
  z.object({ hello: z.literal(true) }),
]);

/** How far a run is. */
export type RunPlace = TurnRun & { seq: number; ended: boolean };

export type NodeRecord = z.infer<typeof recordSchema>;

/** Parses one line from another node; undefined when it cannot be parsed (another version, or truncated). Never throws. */
export function parseRecord(line: string): NodeRecord | undefined {
  return recordSchema.safeParse(parseJson(line)).data;
}
