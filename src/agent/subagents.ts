/** The subagents of one turn: the limits on them, those it waits for, and those it starts in the background. */
import type { TurnEmitter } from '../protocol/bus.ts';
import { toGatewayError, wordError } from '../protocol/errors.ts';
import type { EventBody } from '../protocol/event.ts';
import { pause } from '../lib/async/sleep.ts';
import { type Profile, toolsOf } from '../protocol/agent/profile.ts';
import {
  agentIdOf,
  MAX_SUBAGENTS_AT_ONCE,
  MAX_SUBAGENTS_PER_TURN,
  MAX_TASK_CHARS,
  SPAWN_TOOL,
  type SpawnOutcome,
  type SpawnRequest,
  type SubagentCall,
  type SubagentStore,
} from '../protocol/agent/subagents.ts';
import { contextRow } from './prompt/history.ts';
import type { AgentShared } from './deps.ts';
import type { Subagents, Turn } from './turn/turn-state.ts';
import { isInterruption, runSubagent, type SubagentResult } from './run-subagent.ts';

/** Counts the subagents of a turn against their limits. */
class SubagentSlots {
  readonly #subagents: SubagentStore;
  readonly #turn: Turn;
  /** Calls that started a subagent, those from before a crash included. */
  readonly #calls: Set<string>;
  readonly #waitedFor = new Set<string>();

  constructor({ stores: { subagents } }: AgentShared, turn: Turn) {
    this.#subagents = subagents;
    this.#turn = turn;
    this.#calls = new Set(
      [...turn.rows.steps, ...turn.rows.ofPlan].flatMap(({ iteration, entry }) =>
        entry.kind === 'tool_intent' && entry.toolName === SPAWN_TOOL
          ? [`${turn.turnId}.${iteration}.${entry.callIndex}`]
          : [],
      ),
    );
  }

  /** Takes a slot and returns the function that releases it, or the reason why none is free. */
  async acquire(callKey: string): Promise<(() => void) | string> {
    if (!this.#calls.has(callKey) && this.#calls.size >= MAX_SUBAGENTS_PER_TURN) {
      return `A turn makes at most ${MAX_SUBAGENTS_PER_TURN} subagents, and this one already has. Do the rest yourself.`;
    }
    this.#calls.add(callKey);
    this.#waitedFor.add(callKey);
    const release = (): void => void this.#waitedFor.delete(callKey);
    // One that begins to work in the background is in both places for a moment, and counts once.
    const waitedFor = new Set(this.#waitedFor);
    const others = [...this.#calls].filter((key) => !waitedFor.has(key));
    const atWork = await this.#subagents.atWork(others.map((key) => agentIdOf(this.#turn.sessionKey, key)));
    if (waitedFor.size + atWork <= MAX_SUBAGENTS_AT_ONCE) return release;
    release();
    return `${MAX_SUBAGENTS_AT_ONCE} subagents of this turn are already at work, the maximum at once.`;
  }
}

/** Longest wait of an ending turn for its subagent to end with it, in milliseconds. */
const ENDING_MS = 5_000;

/** Makes the subagents of a turn. `profileId` is the profile that this turn alone was asked for, if any. */
export function createSubagents(
  shared: AgentShared,
  turn: Turn,
  emitter: TurnEmitter,
  profileId: string | undefined,
): Subagents {
  const slots = new SubagentSlots(shared, turn);
  return {
    forCall(reader, callKey, signal) {
      const agentId = agentIdOf(turn.sessionKey, callKey);
      const events = eventsOf(emitter, agentId);
      return callOf({ shared, turn, reader, profileId, slots, callKey, agentId, events, signal });
    },
  };
}

/** A call that spawns a subagent. */
interface Call {
  shared: AgentShared;
  turn: Turn;
  /** The turn, or the step of its plan, whose model wrote the task. */
  reader: Turn;
  profileId: string | undefined;
  slots: SubagentSlots;
  callKey: string;
  agentId: string;
  events: SubagentEvents;
  signal: AbortSignal;
}

function callOf(call: Call): SubagentCall {
  const { events } = call;
  let end: Promise<unknown> = Promise.resolve();
  let interruption: Error | undefined;
  return {
    spawn(request) {
      const running = spawn(call, request).catch((error: unknown) => {
        interruption = error instanceof Error ? error : toGatewayError(error);
        throw error;
      });
      // `settled` throws the failure that was kept above; here only the end matters.
      end = running.catch(() => undefined);
      return running;
    },
    async settled() {
      const late = new AbortController();
      const timeout = pause(ENDING_MS, late.signal);
      await Promise.race([end, timeout]);
      late.abort();
      if (interruption !== undefined) throw interruption;
      events.end('Abandoned: the turn that made it has ended.', false);
    },
  };
}

/** The events of one subagent, between `subagent_spawned` and `subagent_completed`, each of which comes once (B-46). */
interface SubagentEvents {
  begin(profileId: string, task: string): void;
  emit(body: EventBody): void;
  /** Later events are dropped. */
  end(result: string, completedNormally: boolean): void;
  /** Drops later events: the background run emits its own. */
  detach(): void;
}

function eventsOf(emitter: TurnEmitter, agentId: string): SubagentEvents {
  let open = false;
  const emit = (body: EventBody): void => {
    if (open) emitter.emit(body, { agentId });
  };
  return {
    emit,
    begin(profileId, task) {
      open = true;
      emit({ type: 'subagent_spawned', profileId, task });
    },
    end(result, completedNormally) {
      emit({ type: 'subagent_completed', result, completedNormally });
      open = false;
    },
    detach: () => void (open = false),
  };
}

async function spawn(call: Call, request: SpawnRequest): Promise<SpawnOutcome> {
  const { shared, slots } = call;
  const tooLong = request.task.length > MAX_TASK_CHARS;
  if (tooLong) return refused(`A task has at most ${MAX_TASK_CHARS} characters.`);
  const profile = await profileOf(call, request.profileId);
  if (profile === undefined) {
    const names = shared.profiles().map(({ id }) => id);
    return refused(`There is no profile "${request.profileId}". Profiles: ${names.join(', ')}.`);
  }
  const release = await slots.acquire(call.callKey);
  if (typeof release === 'string') return refused(release);
  try {
    return request.background
      ? await startInBackground(call, request.task, profile)
      : await runAndWait(call, request.task, profile);
  } finally {
    release();
  }
}

function refused(text: string): SpawnOutcome {
  return { kind: 'refused', text };
}

/** The named profile; without a name the session's profile at this moment, which may have changed since the turn began (N-08). */
async function profileOf({ shared, turn, profileId }: Call, name: string | undefined) {
  const turnProfile = profileId === turn.profile.id ? profileId : undefined;
  const id =
    name ??
    turnProfile ??
    (await shared.stores.ledger.session(turn.sessionKey))?.profileId ??
    turn.profile.id;
  const match = shared.profiles().find((profile) => profile.id === id);
  return match ?? (name === undefined ? turn.profile : undefined);
}

/** The tools that a subagent may have: its own where the turn's profile delegates to it, else at most those of the turn (N-11). */
function toolsFor(turn: Turn, profile: Profile): string[] {
  return turn.profile.delegatesTo.includes(profile.id) ? toolsOf(profile) : [...turn.prepared.tools.keys()];
}

/** The profile's own model, else the model of the turn (N-09). */
function modelOf({ turn }: Call, profile: Profile): string | undefined {
  return profile.id === turn.profile.id ? turn.model : (profile.model ?? turn.model);
}

/** Runs the subagent while the turn waits. Its failure is a result; what ends the turn is thrown. */
async function runAndWait(call: Call, task: string, profile: Profile): Promise<SpawnOutcome> {
  const { shared, turn, agentId, events } = call;
  events.begin(profile.id, task);
  const { text, completedNormally, sources } = await runToResult(call, task, profile).catch(failed);
  events.end(text, completedNormally);
  turn.log.info({ agentId, completedNormally }, 'subagent_ended');
  return { kind: 'finished', agentId, text, completedNormally, sources };

  function failed(error: unknown): Pick<SubagentResult, 'text' | 'completedNormally' | 'sources'> {
    if (isInterruption(error)) throw error;
    shared.log.error({ err: error, agentId }, 'subagent_failed');
    const text = `The subagent failed: ${wordError(toGatewayError(error), 'person')}`;
    // The error may quote what it has read, which is unknown here.
    return { text, completedNormally: false, sources: ['local'] };
  }
}

async function runToResult(call: Call, task: string, profile: Profile): Promise<SubagentResult> {
  const { shared, turn, reader, agentId, events, signal } = call;
  const result = await runSubagent(shared, {
    agentId,
    say: turn.say,
    fence: turn.fence,
    parentTurnId: turn.turnId,
    sessionKey: turn.sessionKey,
    address: turn.address,
    userId: turn.userId,
    payer: { ...turn.payer, plan: reader.plan?.id ?? reader.payer.plan },
    memoryOwner: turn.memoryOwner,
    folder: turn.folder,
    userName: turn.userName,
    place: turn.place,
    author: turn.author,
    tools: new Set(toolsFor(turn, profile)),
    profile,
    model: modelOf(call, profile),
    task,
    // The task was made from everything that the turn has read.
    taint: reader.rows.taint.fork(),
    past: [...reader.past, reader.rows.user, ...reader.rows.steps],
    approvals: turn.approvals,
    timeMs: shared.limits.subagentMs,
    background: false,
    signal,
    toolSignal: turn.toolSignal,
    restarted: turn.restarted,
    log: turn.log,
    emit: (body) => events.emit(body),
  });
  if (result.isJournaled) return result;
  const { text, completedNormally, sources, usage } = result;
  const row = contextRow(0, { kind: 'agent_result', content: text, completedNormally, sources });
  const end = { turnId: turn.turnId, userId: turn.userId, usage, result: row };
  await shared.stores.subagents.close(turn.fence, { agentId, session: turn.sessionKey }, end);
  return result;
}

/** Starts the subagent in the background; the task is committed before this resolves (B-31). */
async function startInBackground(call: Call, task: string, profile: Profile): Promise<SpawnOutcome> {
  const { shared, turn, reader, agentId, events } = call;
  const { subagents } = shared.stores;
  const { background } = shared;
  const payload = {
    agentId,
    turnId: turn.turnId,
    session: turn.sessionKey,
    address: turn.address,
    userId: turn.userId,
    payer: { ...turn.payer, plan: reader.plan?.id ?? reader.payer.plan },
    memoryOwner: turn.memoryOwner,
    folder: turn.folder,
    place: turn.place,
    profileId: profile.id,
    model: modelOf(call, profile),
    tools: toolsFor(turn, profile),
    task,
    sources: [...reader.rows.taint.sources],
    limitMs: shared.limits.backgroundMs,
    language: turn.say.language,
  };
  const start = await subagents.start(
    turn.fence,
    payload,
    MAX_SUBAGENTS_AT_ONCE,
    background.claimingNode('agent'),
  );
  if (start.kind === 'stopped') return refused('The session was stopped.');
  if (start.kind === 'full') {
    return refused(
      `${MAX_SUBAGENTS_AT_ONCE} subagents of this session are already working in the background: wait for one to report.`,
    );
  }
  events.begin(profile.id, task);
  events.detach();
  if (start.kind === 'started') background.runHeads(start);
  return { kind: 'started', agentId };
}
