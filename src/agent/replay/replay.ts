/** A finished turn again on another model: the same prompt, tools answered from the journal, nothing stored but usage. */
import { RESERVED_ANSWER } from '../../protocol/agent/budgets.ts';
import { GatewayError, ProviderError, toGatewayError } from '../../protocol/errors.ts';
import type { Profile } from '../../protocol/agent/profile.ts';
import type { ChatRequest, ToolCall, Usage } from '../../protocol/agent/provider.ts';
import {
  MAX_REPLAY_ITERATIONS,
  MAX_REPLAY_RESULT_CHARS,
  type Replay,
  type ReplayCall,
  type ReplayChoice,
  type ReplayPayer,
  type Replays,
  type ReplaySide,
  type TurnRecord,
} from '../../protocol/agent/replays.ts';
import { STEP_ITERATIONS } from '../../protocol/store/records.ts';
import { inEnglish, textRef } from '../../protocol/texts/say.ts';
import { clipMiddle } from '../../lib/text.ts';
import { type AgentShared, type CurrentShared, MAX_CALLS_RUN } from '../deps.ts';
import { callFields } from '../model/caller-options.ts';
import {
  estimateMessages,
  isTooSmall,
  makePrompt,
  modelBudget,
  type ModelBudget,
} from '../model/model-budget.ts';
import { completeText, type ModelCall, streamAnswer } from '../model/model-call.ts';
import { type FittedPrompt, OVERFLOW_SHRINK } from '../prompt/context-window.ts';
import { notesFor } from '../prompt/nudges.ts';
import type { PromptStart } from '../prompt/system-prompt.ts';
import { fitTurn } from '../prompt/turn-prompt.ts';
import { directCall } from '../tools/tool-pair.ts';
import { endOfAnswer } from '../turn/failure-text.ts';
import { Reply } from '../turn/reply.ts';
import { addUsage } from '../turn/turn-state.ts';
import { callsInJournal, JournalAnswers } from './journal-answers.ts';
import { type ReplaySetting, replaySetting } from './replay-prompt.ts';

/** What the model reads instead of the result of a call that the turn has not made. */
export const NOT_RUN = 'This call was not run, and there is no result for it. Continue without it.';
/** How often a prompt that the server refuses as too long is made shorter. */
const MAX_SHRINKS = 3;
/** Longest answer of a judge that is read, thinking included, in UTF-16 units. */
const MAX_JUDGMENT_CHARS = 20_000;

const NOTHING: Usage = { promptTokens: 0, completionTokens: 0, modelMs: 0 };

/** Nobody follows the events of a replay. */
const unheard = (): void => undefined;

/** Makes the `Replays`; each begins with the settings and profiles as they are then. */
export function createReplays(current: CurrentShared): Replays {
  return {
    run: (record, choice, payer, signal) => runReplay(current(), record, choice, payer, signal),
    check: async (choice, signal) => void (await resolve(current(), choice, '', signal)),
    async judge({ model: name, system, content }, payer, signal) {
      const shared = current();
      const { model, profile } = await resolve(shared, { model: name }, undefined, signal);
      const { can, contextWindow, budget } = await modelBudget(shared, { model, profile, signal });
      const request: ChatRequest = {
        model,
        messages: [
          { role: 'system', content: system },
          // A token has three bytes and more.
          { role: 'user', content: clipMiddle(content, Math.max(0, budget * 2 - system.length)) },
        ],
        contextWindow,
        userId: payer.userId,
        ...callFields(profile, can),
      };
      const promptTokens = estimateMessages(request.messages);
      return await paid(shared, payer, profile, request, promptTokens, (onUsage) =>
        completeText(shared, { request, signal, maxChars: MAX_JUDGMENT_CHARS, onUsage }, unheard),
      );
    },
  };
}

/** The model and the profile that a choice means; `usual` is the model where it names none. */
async function resolve(
  { models }: AgentShared,
  { model: name, profileId }: ReplayChoice,
  usual: string | undefined,
  signal: AbortSignal,
): Promise<{ model: string; profile: Profile; isOther: boolean }> {
  const resolved = name === undefined ? {} : await models.resolve(name, signal);
  const id = profileId ?? resolved.profileId;
  const profile = models.profile(id);
  if (id !== undefined && profile.id !== id)
    throw new GatewayError(
      'unknown_profile',
      textRef('replay.unknown_profile', { profile: id.slice(0, 80) }),
    );
  const model = resolved.model ?? (id === undefined ? undefined : profile.model) ?? usual;
  return { model: model ?? (await models.fallback(signal)), profile, isOther: id !== undefined };
}

async function runReplay(
  shared: AgentShared,
  record: TurnRecord,
  choice: ReplayChoice,
  payer: ReplayPayer,
  signal: AbortSignal,
): Promise<Replay> {
  const original = originalOf(record);
  const { model, profile, isOther } = await resolve(shared, choice, original.model || undefined, signal);
  const setting = await replaySetting(shared, record, isOther ? profile : undefined);
  const limit = AbortSignal.timeout(shared.limits.replayMs);
  const run = new ReplayRun(shared, setting, model, payer, AbortSignal.any([signal, limit]));
  const startedAt = performance.now();
  try {
    await run.converse(new JournalAnswers(callsInJournal(record.journal)));
  } catch (error) {
    signal.throwIfAborted();
    run.fail(error, limit.aborted ? shared.limits.replayMs : undefined);
  }
  const replay = run.side(performance.now() - startedAt);
  const { turnId, session } = record;
  const { entry } = setting.rows.user;
  const question = entry.kind === 'user' ? entry.content : '';
  return { turnId, session, question, original, replay, missing: setting.missing };
}

/** The turn as it was. */
function originalOf({ journal, prompt, profileId, answer, reason, ms }: TurnRecord): ReplaySide {
  const answers = journal.flatMap(({ iteration, entry }) =>
    entry.kind === 'assistant' ? [{ iteration, entry }] : [],
  );
  const model = answers.at(-1)?.entry.model ?? prompt?.model ?? '';
  const usage = answers.flatMap(({ entry }) => [
    ...(entry.usage === undefined ? [] : [{ ...entry.usage, model: entry.model ?? model }]),
    ...(entry.spent ?? []),
  ]);
  const calls = callsInJournal(journal).map(({ call, result }) => reportedCall(call, result));
  const iterations = answers.filter(({ iteration }) => iteration < STEP_ITERATIONS).length;
  return { model, profileId: profileId ?? '', answer, reason, calls, iterations, usage, ms };
}

function reportedCall(
  { name, args }: ToolCall,
  result: { content: string; isError: boolean } | undefined,
): ReplayCall {
  if (result === undefined) return { name, args };
  return { name, args, result: clipMiddle(result.content, MAX_REPLAY_RESULT_CHARS), isError: result.isError };
}

/** Makes a model call within the budgets of its payer; `onUsage` stores what it has used. Throws what `run` throws, and `GatewayError('rate_limited')`. */
async function paid<T>(
  { budgets, stores: { ledger } }: AgentShared,
  payer: ReplayPayer,
  profile: Profile,
  { model, maxTokens: completionTokens = RESERVED_ANSWER }: ChatRequest,
  promptTokens: number,
  run: (onUsage: (usage: Usage) => Promise<void>) => Promise<T>,
): Promise<T> {
  const spender = { person: payer.userId, profile: profile.id };
  return await budgets.within(spender, { model, promptTokens, completionTokens }, (holder) =>
    run((usage) => ledger.noteUsage({ ...usage, ...payer, model, holder, purpose: 'replay' })),
  );
}

/** A prompt, and the budget that it was made for. */
type Made = ModelBudget & { start: PromptStart; fitted: FittedPrompt };

/** One run of the tool-calling loop. */
class ReplayRun {
  readonly #shared: AgentShared;
  readonly #setting: ReplaySetting;
  readonly #model: string;
  readonly #payer: ReplayPayer;
  readonly #signal: AbortSignal;
  readonly #reply = new Reply();
  readonly #calls: ReplayCall[] = [];
  #usage = NOTHING;
  #iterations = 0;
  #reason = 'max_iterations';
  #error: string | undefined;

  constructor(
    shared: AgentShared,
    setting: ReplaySetting,
    model: string,
    payer: ReplayPayer,
    signal: AbortSignal,
  ) {
    this.#shared = shared;
    this.#setting = setting;
    this.#model = model;
    this.#payer = payer;
    this.#signal = signal;
  }

  /** Alternates model and journal until an answer without calls, or the limit. Throws as a model call does. */
  async converse(journal: JournalAnswers): Promise<void> {
    const { profile, rows, tools } = this.#setting;
    const limit = Math.min(profile.maxIterations, MAX_REPLAY_ITERATIONS);
    const isTool = { has: (name: string) => journal.has(name) || tools.has(name) };
    for (let n = 1; n <= limit; n += 1) {
      const { content, toolCalls, finishReason, thinking, echo } = await this.#ask(n);
      if (toolCalls.length === 0) return this.#end(content, finishReason);
      const calls = toolCalls.slice(0, MAX_CALLS_RUN).map((call) => directCall(call, isTool));
      const msgId = String(n);
      rows.add(n, { kind: 'assistant', content, toolCalls: calls, msgId, thinking, echo });
      for (const [callIndex, call] of calls.entries()) {
        const result = journal.take(call);
        this.#calls.push(reportedCall(call, result));
        const { content: text, isError, pictures } = result ?? { content: NOT_RUN, isError: false };
        const names = { toolCallId: call.id, toolName: call.name, callIndex };
        rows.add(n, { kind: 'tool_result', ...names, content: text, isError, pictures });
      }
    }
  }

  /** Ends the replay with what went wrong, or with the time that it may take; the text so far stays. */
  fail(error: unknown, limitMs: number | undefined): void {
    const isLate = limitMs !== undefined;
    this.#reason = isLate ? 'timed_out' : 'failed';
    this.#error = isLate
      ? inEnglish('replay.timed_out', { minutes: limitMs / 60_000 })
      : toGatewayError(error).message;
  }

  side(ms: number): ReplaySide {
    return {
      model: this.#model,
      profileId: this.#setting.profile.id,
      answer: this.#reply.text,
      reason: this.#reason,
      error: this.#error,
      calls: this.#calls,
      iterations: this.#iterations,
      usage: this.#usage === NOTHING ? [] : [{ ...this.#usage, model: this.#model }],
      ms: Math.round(ms),
    };
  }

  #end(content: string, finish: Parameters<typeof endOfAnswer>[1]): void {
    const { reason, mark, isError } = endOfAnswer(content, finish);
    this.#reason = reason;
    if (isError && mark !== undefined) this.#error = inEnglish(mark);
  }

  /** The n-th answer. A prompt that the server refuses as too long is made shorter. */
  async #ask(n: number) {
    const { provider, limits, modelState } = this.#shared;
    for (let most = Infinity, shrinks = 0; ; shrinks += 1) {
      const {
        fitted: { messages, tokens },
        start,
        contextWindow,
        can,
      } = await this.#prompt(n, most);
      const { schemas, tokens: toolTokens } = start.tools;
      const request: ChatRequest = {
        model: this.#model,
        messages,
        contextWindow,
        userId: this.#payer.userId,
        ...(schemas.length > 0 && { tools: schemas }),
        ...callFields(this.#setting.profile, can),
      };
      const estimated = tokens + toolTokens;
      const promptTokens = estimated * modelState.scale.of(this.#model);
      const call: ModelCall = {
        provider,
        msgId: String(n),
        reply: this.#reply,
        limits,
        signal: this.#signal,
        begun: false,
      };
      this.#iterations = n;
      try {
        const response = await paid(
          this.#shared,
          this.#payer,
          this.#setting.profile,
          request,
          estimated,
          async (onUsage) => {
            try {
              return await streamAnswer(call, request, promptTokens, unheard);
            } finally {
              // Also when the client has left: the model has worked.
              if (call.usage !== undefined) await onUsage(call.usage);
            }
          },
        );
        this.#reply.closeCall();
        return response;
      } catch (error) {
        const isOverflow = error instanceof ProviderError && error.code === 'context_overflow';
        if (!isOverflow || shrinks >= MAX_SHRINKS) throw error;
        this.#reply.discardCall();
        most = Math.floor(estimated * OVERFLOW_SHRINK);
      } finally {
        if (call.usage !== undefined) this.#usage = addUsage(this.#usage, call.usage);
      }
    }
  }

  /** The prompt of the n-th call, within the window of the model. One that does not fit loses its tools. */
  async #prompt(n: number, most: number): Promise<Made> {
    const { profile, rows, history, environmentNote, tools } = this.#setting;
    const call = { model: this.#model, profile, signal: this.#signal };
    const note = notesFor({ profile, rows, prepared: { tools } }, n, environmentNote);
    const make = (available: ModelBudget, toolLimit: number): Made => {
      const start = this.#setting.start(available.can, toolLimit);
      return { ...available, start, fitted: fitTurn({ history, rows }, note, start, available.budget) };
    };
    const prompt = await makePrompt(this.#shared, call, { most }, (available) =>
      make(available, available.toolLimit),
    ).catch(async (error: unknown) => {
      if (!isTooSmall(error) || tools.size === 0) throw error;
      return make(await modelBudget(this.#shared, call, { most }), 0);
    });
    if (n === 1) this.#noteLosses(prompt);
    return prompt;
  }

  /** What this model could not be given. */
  #noteLosses({ can, start, fitted }: Made): void {
    const { history, tools, missing } = this.#setting;
    const about = { model: this.#model };
    if (tools.size > 0 && !can.tools) missing.push(textRef('replay.no_tools', about));
    else if (tools.size > 0 && start.tools.schemas.length === 0)
      missing.push(textRef('replay.no_room', about));
    const past = history.reduce((sum, { tokens }) => sum + tokens, 0);
    if (fitted.parts.history < past) missing.push(textRef('replay.history_cut', about));
  }
}
