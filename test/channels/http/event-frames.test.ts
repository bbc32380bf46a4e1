/** Frames of event streams: what clients parse is the event, and each event is serialized once. */
import { describe, expect, it } from 'vitest';
import { EventFrames } from '../../../channels/http/event-stream.ts';
import type { AgentEvent, EventBody } from '../../../src/protocol/event.ts';

const TURN = { sessionKey: 'http:anna', turnId: 't1', epoch: 2, at: 1_700_000_000_000 } as const;
const token = (eventSeq: number, delta: string, rest: Partial<AgentEvent> = {}): AgentEvent =>
  ({ type: 'stream_chunk', msgId: 'c1', delta, ...TURN, eventSeq, ...rest }) as AgentEvent;

/** The id and the event of a frame, as a client reads them. */
function parse(frame: string): { id: string | undefined; event: unknown } {
  const [, id, data = ''] = /^(?:id: ([^\n]*)\n)?data: ([^\n]*)\n\n$/.exec(frame) ?? [];
  return { id, event: JSON.parse(data) };
}

describe('the frame of an event', () => {
  it('holds the event and its id, for interleaved tokens of several calls and agents', () => {
    const frames = new EventFrames();
    const agent = { agentId: 'a1', isSubagent: true };
    const events: AgentEvent[] = [
      token(1, 'one "quoted"\n'),
      token(2, ' 😀 \u2028 two'),
      token(3, 'another call', { msgId: 'c2' }),
      token(4, 'a subagent', agent),
      token(5, 'the turn again'),
      { type: 'thinking_delta', msgId: 'c1', delta: 'hm', ...TURN, eventSeq: 6 },
      token(7, 'text after thinking'),
      token(1, 'a later run', { epoch: 3 }),
      token(2, 'another turn', { epoch: 3, turnId: 't2' }),
    ];
    for (const event of events)
      expect(parse(frames.frameOf(event))).toEqual({ id: `${event.epoch}-${event.eventSeq}`, event });
  });

  it('has no id when the event belongs to no turn', () => {
    const body: EventBody = { type: 'heartbeat_tick' };
    const event: AgentEvent = { ...body, sessionKey: 'http:anna', at: 1 };
    const loose: AgentEvent = {
      type: 'stream_chunk',
      msgId: 'c',
      delta: 'x',
      sessionKey: 'http:anna',
      at: 1,
    };
    const frames = new EventFrames();
    expect(parse(frames.frameOf(event))).toEqual({ id: undefined, event });
    expect(parse(frames.frameOf(loose))).toEqual({ id: undefined, event: loose });
  });

  it('is made once, however many streams write the event', () => {
    let reads = 0;
    const counted = (event: AgentEvent, field: string, value: unknown): AgentEvent =>
      Object.defineProperty(event, field, {
        enumerable: true,
        get: () => {
          reads += 1;
          return value;
        },
      });
    const streams = [new EventFrames(), new EventFrames(), new EventFrames()];
    const call: AgentEvent = { type: 'tool_call', toolCallId: 'x', name: 'list_dir', args: {}, ...TURN };
    for (const event of [counted(token(1, ''), 'delta', 'word'), counted(call, 'args', { path: '.' })]) {
      reads = 0;
      streams[0]?.frameOf(event);
      const once = reads;
      const made = streams.map((stream) => stream.frameOf(event));
      expect(once).toBeGreaterThan(0);
      expect(reads).toBe(once);
      expect(new Set(made).size).toBe(1);
    }
  });
});
