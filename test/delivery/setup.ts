/** Delivery in front of a fake channel, with an event bus, a ledger in memory and a fake clock. */
import { createDelivery } from '../../src/delivery/index.ts';
import type { EventBus, EventListener, LaneOutcome, MessageBus } from '../../src/protocol/bus.ts';
import type { Channel, OutboundPart } from '../../src/protocol/channel.ts';
import { FencedError, type StoreError, toGatewayError, ToolError } from '../../src/protocol/errors.ts';
import type { AgentEvent, EventBody } from '../../src/protocol/event.ts';
import type { Ledger, NotedParts, SessionStore } from '../../src/protocol/store/ledger.ts';
import type { LaneHead, LaneStore } from '../../src/protocol/store/lanes.ts';
import { parseMarkdown } from '../../src/lib/markdown/markdown.ts';
import { createLog } from '../../src/ops/log.ts';
import type { OutgoingFiles } from '../../src/protocol/media.ts';
import type { SurfaceStore } from '../../src/protocol/sessions/surfaces.ts';
import type { PlanStore } from '../../src/protocol/agent/plan-store.ts';
import type { Plan } from '../../src/protocol/agent/plan.ts';
import type { DeliveryPayload, OutboundMessage, SentMessage } from '../../src/protocol/message.ts';
import { FakeChannel, type FakeChannelOptions } from '../fakes/gateway/channel.ts';
import { partial } from '../fakes/partial.ts';
import { FakeClock } from '../fakes/clock.ts';
import { builtInLanguages } from '../fakes/gateway/languages.ts';
import { laneHead } from '../fakes/stores/lane-head.ts';

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
  const dead: { lane: string; error: string | undefined; unreported: boolean | undefined }[] = [];
  const stopped: string[] = [];
  const waits: boolean[] = [];
  const moved: string[] = [];
  const ahead = new Set<string>();
  const plans = new Map<string, Plan>();
  const copies = new Map<string, string | ToolError>();
  let fenced = false;
  let leases = 1;
  let lease: string | undefined = 'node1';
  const turns = new Map<string, NonNullable<Awaited<ReturnType<SessionStore['turn']>>>>();
  const queued: DeliveryPayload[] = [];
  const queuedKeys = new Set<string>();
  /** Like the store: once the lane is lost, only what is stored can be continued. */
  const note = async (ref: string, sent: SentMessage[]): Promise<NotedParts> => {
    await database;
    const before = parts.get(ref) ?? [];
    const without = (some: SentMessage[], others: SentMessage[]) =>
      some.filter(({ id }) => others.every((other) => other.id !== id));
    const continues = before.every(({ id }, index) => sent[index]?.id === id);
    if (fenced && !continues) return { held: false, copies: without(sent, before) };
    parts.set(ref, sent);
    return { held: !fenced, copies: without(before, sent) };
  };
  let database: Promise<void> | undefined;
  const guard = (head: { lane: string }) => {
    if (fenced) throw new FencedError(head.lane);
  };

  const channels = new Map<string, Channel>([[channel.name, channel]]);
  const delivery = createDelivery({
    say: builtInLanguages.say,
    ...(options.drafts && {
      streamModes: {
        modeOf: async () => 'draft',
        noteDraftRefused: async () => undefined,
        showsThinking: async () => false,
      },
    }),
    channels,
    clock,
    plans: partial<PlanStore>({ plan: async () => undefined }),
    surfaces: partial<SurfaceStore>({ surfaces: async () => [], surface: async () => undefined }),
    dropSurface: async () => false,
    random: () => 0,
    bus: partial<MessageBus>({
      lease: () => lease,
      notifyStop: (lane) => void stopped.push(lane),
      claimingNode: () => undefined,
      runHeads: () => undefined,
    }),
    files: partial<OutgoingFiles>({
      async copy(_folder, { file }) {
        const found = copies.get(file);
        if (found === undefined) throw new ToolError('not_found', `There is no "${file}".`);
        if (found instanceof Error) throw found;
        return { path: found, async [Symbol.asyncDispose]() {} };
      },
      write: async () => ({ path: '/nowhere', async [Symbol.asyncDispose]() {} }),
    }),
    log: createLog({ level: 'silent', redact: (text) => text }),
    followMigration: async ({ channel, from, to }) => void moved.push(`${channel}: ${from} -> ${to}`),
    events: partial<EventBus>({
      emit(sessionKey, body) {
        notices.push({ sessionKey, at: 0, ...body });
      },
      replay: () => ({ events: [] }),
      subscribe({ turnId }, listener) {
        // The listener that follows all sessions for changes to their chats.
        if (turnId === undefined) return () => true;
        const entry = { turnId, listener };
        listeners.add(entry);
        return () => listeners.delete(entry);
      },
    }),
    ledger: partial<Ledger>({
      undelivered: async (address) => ahead.has(address),
      wasQueued: async (_address, key) => queuedKeys.has(key),
      sentParts: async (ref) => parts.get(ref) ?? [],
      missedEdits: async () => [],
      sentAmong: async (ids) =>
        [...parts.values()].flatMap((sent) => sent.map(({ id }) => id)).filter((id) => ids.includes(id)),
      noteSent: (_fence, ref, sent) => note(ref, sent),
      async finishDelivery(fence, ref, sent) {
        guard(fence);
        if (sent !== undefined) parts.set(ref, sent);
        finished.push({ ref, sent: sent ?? parts.get(ref) ?? [] });
        return { heads: [] };
      },
      async enqueue(_address, payload) {
        queued.push(payload);
        queuedKeys.add(payload.key ?? payload.ref);
        return { heads: [] };
      },
      sessionOf: async (address) => address,
      turn: async (turnId) => turns.get(turnId),
      planOf: async (turnId) => plans.get(turnId),
    }),
    lanes: partial<LaneStore>({
      async finish(fence, error, unreported) {
        dead.push({ lane: fence.lane, error, unreported });
        return { heads: [] };
      },
      async noteWaiting(fence, isWaiting) {
        guard(fence);
        waits.push(isWaiting);
      },
      async stop(session) {
        stopped.push(session);
        return { stopped: true, cancelled: 0 };
      },
    }),
  });

  return {
    clock,
    channel,
    channels,
    delivery,
    notices,
    parts,
    finished,
    dead,
    /** Deliveries that delivery itself has queued. */
    queued,
    /** Sessions whose stop was committed, and lanes whose node was notified. */
    stopped,
    /** What suspected deliveries reported: true = it waits. */
    waits,
    moved,
    /** Addresses with undelivered answers. */
    ahead,
    /** Turns that are over, by id. */
    turns,
    /** Ends the lease of this process; the returned function wins a new one. */
    loseLease() {
      lease = undefined;
      leases += 1;
      return () => void (lease = `node${leases}`);
    },
    /** Stored plans, by turn. */
    plans,
    /** The files that are sent: where the bytes are, or why they are not available. */
    copies,
    /** Gives the lane to another node. */
    loseLane: () => (fenced = true),
    /** The node claims the lane again. */
    claimLane: () => (fenced = false),
    /**
     * Makes the database unreachable until the returned function is called; an error given to it fails the waiting
     * notes.
     */
    loseDatabase() {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      database = promise;
      return (error?: StoreError) => {
        database = undefined;
        if (error === undefined) resolve();
        else reject(error);
      };
    },
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
    open(
      turnId: string,
      chatId = '1',
      placeholders: SentMessage[] = [],
      textSoFar = '',
      plan?: Plan,
      takenOver = false,
    ) {
      const address = `fake:${chatId}` as const;
      const where = { session: address, address, surfaces: [] };
      return delivery.live.open({ turnId, ...where, placeholders, takenOver, textSoFar, note, plan });
    },
    /** A part of a message for the chat `1`. */
    part(text: string): OutboundPart {
      const body = channel.render(parseMarkdown(text));
      return { channel: 'fake', chatId: '1', body, buttons: [], nonce: text };
    },
    /** A delivery with this text becomes a dead letter. */
    async dies(error: unknown, content = 'Lost.') {
      const message = { channel: 'fake', chatId: '1', content, media: [], buttons: [] };
      await delivery.out.onDeadLetter({ ...HEAD, payload: { ref: 'r', message } }, toGatewayError(error));
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

export const HEAD = laneHead('out:fake:1', 'ref-1');
