/** Runs the workers after a turn: one list, one after another, once the turn has ended (N-65). */
import type { AgentShared, Emit } from '../deps.ts';
import type { ChatRequest, Usage } from '../../protocol/agent/provider.ts';
import { completeText } from '../model/model-call.ts';
import type { AfterTurnName, AfterTurnSettings } from '../../protocol/agent/subagents.ts';
import { type EventBus, LaneAbort } from '../../protocol/bus.ts';
import type { EventBody, TurnEndReason } from '../../protocol/event.ts';
import { toGatewayError } from '../../protocol/errors.ts';
import type { Payer, SessionKey } from '../../protocol/message.ts';
import { mergeGroups, toGroups } from '../prompt/history.ts';
import { RESERVED_ANSWER } from '../../protocol/agent/budgets.ts';
import { estimateMessages } from '../model/model-budget.ts';
import { typedText } from '../prompt/marks.ts';
import { contextSize, type Turn } from '../turn/turn-state.ts';
import type { Log } from '../../protocol/log.ts';
import type { Profile } from '../../protocol/agent/profile.ts';
import type { Source } from '../../protocol/agent/risk.ts';
import type { Prompt } from '../prompt/context-window.ts';
import type { StartOfPrompt } from '../prompt/system-prompt.ts';

/** A turn that has ended (N-66); with what its prompts began with, so that calls of workers begin alike. */
export interface EndedTurn extends StartOfPrompt {
  turnId: string;
  sessionKey: SessionKey;
  reason: TurnEndReason;
  /** The user that was answered; `system` when no person wrote the message. */
  userId: string;
  payer: Payer;
  /** Whose memories it read and wrote. */
  memoryOwner: string;
  place: 'private' | 'group';
  profile: Profile;
  /** The model that answered; undefined when none was reached. */
  model?: string | undefined;
  /** What the user wrote, without what it quotes and its files. */
  said: string;
  /** The answer as people see it; empty when there is none. */
  answer: string;
  /** The title of the session when the turn began. */
  title?: string | undefined;
  /** Sources of everything that the session's model has read. */
  sources: readonly Source[];
  /** Size of the conversation that the next turn would read, in estimated tokens and rows. */
  size: { tokens: number; rows: number };
  /** The conversation as the next turn would read it, this turn included. */
  conversation: () => Pick<Prompt, 'history' | 'current' | 'steps'>;
  log: Log;
}

/** A worker. When `run` throws, the error is logged and the next worker runs. */
export interface AfterTurnWorker {
  readonly name: AfterTurnName;
  /** The session's next turn ends it: its work is worth less than a free model server. */
  readonly givesWay: boolean;
  /** The events that it returns are emitted after the `turn_ended` of the turn. `signal` aborts when it must end. */
  run(turn: EndedTurn, signal: AbortSignal): Promise<readonly EventBody[]>;
}

/** Sessions whose workers run at the same time. A turn that ends beyond them starts none; the next turn of its session tries again. */
export const MAX_AFTER_TURNS = 16;

/** Created once, because collecting a stack is too slow for the start of a turn. */
const NEXT_TURN = new LaneAbort('interrupted');

export interface AfterTurn {
  /** Starts the workers after a turn, unless those of the session's previous turn still run. Never throws, never waits. */
  start(turn: EndedTurn): void;
  /** The session's next turn begins: stops the workers that give way to it. Never throws. */
  turnBegins(session: SessionKey): void;
  /** Resolves when the workers that run for a session have ended; undefined when none run. Never rejects. */
  running(session: SessionKey): Promise<void> | undefined;
  /** Aborts all workers and waits for them. Never throws; a second call does nothing. */
  close(): Promise<void>;
}

/** The running workers of a session: how to wait for them, and how to stop those that give way. */
interface Work {
  completion: Promise<void>;
  nextTurn: AbortController;
}

/** Creates the runner of the workers, which run in the given order; `settings` says which of them are switched on now. */
export function createAfterTurn(
  workers: readonly AfterTurnWorker[],
  emit: EventBus['emit'],
  settings: () => AfterTurnSettings,
): AfterTurn {
  const running = new Map<SessionKey, Work>();
  const closing = new AbortController();

  const runAll = async (turn: EndedTurn, nextTurn: AbortSignal): Promise<void> => {
    const { sessionKey, log } = turn;
    const switchedOn = settings();
    for (const worker of workers.filter(({ name }) => switchedOn[name])) {
      const signal = worker.givesWay ? AbortSignal.any([closing.signal, nextTurn]) : closing.signal;
      if (signal.aborted) continue;
      try {
        for (const event of await worker.run(turn, signal)) emit(sessionKey, event);
      } catch (error) {
        if (!signal.aborted) {
          log.error({ err: toGatewayError(error), worker: worker.name }, 'after_turn_worker_failed');
        }
      }
    }
    running.delete(sessionKey);
  };

  return {
    start(turn) {
      const { sessionKey } = turn;
      if (closing.signal.aborted || running.has(sessionKey) || running.size >= MAX_AFTER_TURNS) return;
      const nextTurn = new AbortController();
      // A microtask later: a worker may end at once, and `runAll` then deletes an entry that must exist by then.
      const completion = Promise.resolve().then(() => runAll(turn, nextTurn.signal));
      running.set(sessionKey, { completion, nextTurn });
    },
    turnBegins: (session) => running.get(session)?.nextTurn.abort(NEXT_TURN),
    running: (session) => running.get(session)?.completion,
    async close() {
      closing.abort(new LaneAbort('shutdown'));
      await Promise.all([...running.values()].map(({ completion }) => completion));
    },
  };
}

/** What workers learn about a turn. `title` is that of its session when it began. */
export function endedTurn(
  turn: Turn,
  { reason, text, title }: { reason: TurnEndReason; text: string; title: string | undefined },
): EndedTurn {
  const { turnId, sessionKey, userId, payer, memoryOwner, place, profile, model, rows, log } = turn;
  const { prepared, promptContext, history } = turn;
  const { entry } = rows.user;
  return {
    turnId,
    sessionKey,
    reason,
    userId,
    payer,
    memoryOwner,
    place,
    profile,
    model,
    log,
    title,
    said: entry.kind === 'user' ? typedText(entry) : '',
    answer: text,
    sources: rows.taint.sources,
    size: contextSize(turn),
    prepared,
    promptContext,
    conversation: () => ({
      history,
      current: mergeGroups(
        toGroups(rows.plan === undefined ? [rows.user] : [rows.user, rows.plan], { thinking: false }),
      ),
      steps: toGroups(rows.steps, { thinking: false }),
    }),
  };
}

/**
 * A model call of a worker, none of which is shown; its usage is stored under `purpose`. `emit` gets only the notice that
 * the call waits in a queue. Throws `ProviderError`, `StoreError`, `GatewayError('rate_limited')` at a budget, or the
 * signal's reason.
 */
export async function callForWorker(
  shared: AgentShared,
  purpose: 'compression' | 'facts' | 'title',
  {
    sessionKey: session,
    userId,
    payer,
    profile,
  }: Pick<EndedTurn, 'sessionKey' | 'userId' | 'payer'> & { profile: Pick<Profile, 'id'> },
  call: { request: ChatRequest; signal: AbortSignal; maxChars: number },
  emit: Emit = () => undefined,
): Promise<string> {
  const { model, messages, maxTokens: completionTokens = RESERVED_ANSWER } = call.request;
  const promptTokens = estimateMessages(messages);
  const spender = { ...payer, profile: profile.id };
  return await shared.budgets.within(spender, { model, promptTokens, completionTokens }, (holder) => {
    const onUsage = (usage: Usage): Promise<void> =>
      shared.stores.ledger.noteUsage({ purpose, session, userId, model, holder, ...usage });
    return completeText(shared, { ...call, onUsage }, emit);
  });
}
