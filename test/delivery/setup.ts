/** Delivery in front of a fake channel, with an event bus, a ledger in memory and a fake clock. */
import { createDelivery } from '../../src/delivery/index.ts';
import type { EventListener, LaneOutcome } from '../../src/contracts/bus.ts';
import { FencedError } from '../../src/contracts/errors.ts';
import type { AgentEvent, EventBody } from '../../src/contracts/event.ts';
import type { LaneHead } from '../../src/contracts/lanes.ts';
import { createLog } from '../../src/ops/log.ts';
import type { Plan } from '../../src/contracts/plan.ts';
import type { OutboundMessage, SentMessage } from '../../src/contracts/message.ts';
import { FakeChannel } from '../fakes/gateway/channel.ts';
import type { FakeChannelOptions } from '../fakes/gateway/channel.ts';
import { FakeClock } from '../fakes/clock.ts';

/** Result of handling a head: an outcome, or the error that makes it a dead letter. */
export interface DeliveryResult {
  value?: LaneOutcome;
  error?: unknown;
}

/** A signal that never fires. */
export const quiet = new AbortController().signal;

export function buildDelivery(options: Partial<FakeChannelOptions> = {}) {
  const clock = new FakeClock();
  const channel = new FakeChannel({ clock, ...options });
  const listeners = new Set<{ turnId: string | undefined; listener: EventListener }>();
  const notices: AgentEvent[] = [];
  const parts = new Map<string, SentMessage[]>();
  const finished: { ref: string; sent: SentMessage[] }[] = [];
  const dead: { lane: string; error: string | undefined }[] = [];
  const moved: string[] = [];
  const ahead = new Set<string>();
  const plans = new Map<string, Plan>();
  let fenced = false;
  const guard = (head: { lane: string }) => {
    if (fenced) throw new FencedError(head.lane);
  };

  const delivery = createDelivery({
    channels: new Map([[channel.name, channel]]),
    clock,
    random: () => 0,
    log: createLog({ level: 'silent', redact: (text) => text }),
    followMigration: async ({ channel, from, to }) => void moved.push(`${channel}: ${from} -> ${to}`),
    events: {
      emit(sessionKey, body) {
        notices.push({ sessionKey, at: 0, ...body });
      },
      subscribe({ turnId }, listener) {
        const entry = { turnId, listener };
        listeners.add(entry);
        return () => listeners.delete(entry);
      },
    },
    ledger: {
      undelivered: async (address) => ahead.has(address),
      sentParts: async (ref) => parts.get(ref) ?? [],
      async noteSent(fence, ref, sent) {
        guard(fence);
        parts.set(ref, sent);
      },
      async finishDelivery(fence, ref, sent) {
        guard(fence);
        finished.push({ ref, sent });
        return { heads: [] };
      },
      sessionOf: async (address) => address,
      planOf: async (turnId) => plans.get(turnId),
    },
    lanes: {
      async finish(fence, error) {
        dead.push({ lane: fence.lane, error });
        return { heads: [] };
      },
    },
  });

  return {
    clock,
    channel,
    delivery,
    notices,
    parts,
    finished,
    dead,
    moved,
    /** Addresses with undelivered answers. */
    ahead,
    /** Stored plans, by turn. */
    plans,
    /** Gives the lane to another node. */
    loseLane: () => (fenced = true),
    listeners,
    /** Emits an event of a turn. */
    emit(turnId: string, body: EventBody, from?: { agentId: string }) {
      const event: AgentEvent = {
        sessionKey: 'fake:1',
        turnId,
        at: 0,
        ...body,
        ...(from && { ...from, isSubagent: true }),
      };
      for (const entry of listeners) if (entry.turnId === turnId) entry.listener(event);
    },
    /** Emits text of a turn's first model call. */
    say(turnId: string, delta: string, msgId = 'call-1') {
      this.emit(turnId, { type: 'stream_chunk', msgId, delta });
    },
    open(turnId: string, chatId = '1', placeholders: SentMessage[] = [], textSoFar = '', plan?: Plan) {
      const note = async (sent: SentMessage[]) => void parts.set(turnId, sent);
      const noteCard = async (ref: string, sent: SentMessage[]) => void parts.set(ref, sent);
      const address = `fake:${chatId}` as const;
      return delivery.live.open({ turnId, address, placeholders, textSoFar, note, plan, noteCard });
    },
    /** Delivers a final text; the clock runs until it is done. */
    async deliver(
      content: string,
      over: Partial<OutboundMessage> = {},
      head: Partial<LaneHead> = {},
      signal = quiet,
    ) {
      const message = { channel: 'fake', chatId: '1', content, media: [], buttons: [], ...over };
      const payload = { ref: message.turnId ?? 'ref-1', message };
      const results: DeliveryResult[] = [];
      delivery.out.handle({ ...HEAD, payload, ...head }, signal).then(
        (value) => results.push({ value }),
        (error: unknown) => results.push({ error }),
      );
      for (let second = 0; second < 400 && results.length === 0; second++) await clock.advance(1_000);
      return results[0] ?? {};
    },
  };
}

export const HEAD: LaneHead = {
  lane: 'out:fake:1',
  node: 'node',
  epoch: 1,
  seq: 1,
  dedupe: 'ref-1',
  payload: {},
  attempts: 0,
  crashes: 0,
  stopped: false,
};
