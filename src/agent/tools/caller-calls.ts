/** Calls of tools that the caller of the API runs: the turn waits for their results, which come with a later request. */
import type { CallerOptions, ToolCall } from '../../protocol/agent/provider.ts';
import { GatewayError } from '../../protocol/errors.ts';
import { type Emit, MAX_CALLS_RUN } from '../deps.ts';
import type { Answer } from '../prompt/history.ts';
import type { Turn } from '../turn/turn-state.ts';

/** Thrown where a turn must wait for its caller: the turn handler then parks the turn. */
export class CallerWait extends Error {
  readonly calls: ToolCall[];

  constructor(calls: ToolCall[]) {
    super(`${calls.length} tool calls wait for their caller.`);
    this.name = 'CallerWait';
    this.calls = calls;
  }
}

/** True for a tool that the caller runs. */
export function isCallersTool({ options }: Turn, name: string): boolean {
  return options?.tools?.some((tool) => tool.name === name) ?? false;
}

/** The caller's calls of one answer: those with a result, and those without. */
export interface CallerCalls {
  answered: { call: ToolCall; result: string }[];
  open: ToolCall[];
}

/** The caller's calls of the n-th answer. */
export function callerCalls(turn: Turn, n: number, { toolCalls }: Answer): CallerCalls {
  const calls: CallerCalls = { answered: [], open: [] };
  for (const [callIndex, call] of toolCalls.slice(0, MAX_CALLS_RUN).entries()) {
    if (!isCallersTool(turn, call.name)) continue;
    const result = turn.rows.result(n, callIndex);
    if (result === undefined) calls.open.push(call);
    else calls.answered.push({ call, result: result.content });
  }
  return calls;
}

/** Emits the results that have arrived, once: while no later answer has read them. */
export function announceResults(
  turn: Turn,
  { answered: answeredCalls }: CallerCalls,
  n: number,
  emit: Emit,
): void {
  if (turn.rows.answer(n + 1) !== undefined) return;
  for (const { call, result } of answeredCalls) {
    emit({ type: 'tool_result', toolCallId: call.id, name: call.name, result, isError: false });
  }
}

/**
 * Throws `CallerWait` when calls have no result yet, and `GatewayError('tools_unanswered')` when the turn has already
 * waited for them: then no one is listening anymore.
 */
export function waitForCaller(turn: Turn, { open }: CallerCalls, emit: Emit): void {
  if (open.length === 0) return;
  if (turn.unanswered === true) {
    const text = 'The results of the tools that the client runs did not come in time.';
    throw new GatewayError('tools_unanswered', text);
  }
  for (const { id, name, args } of open) emit({ type: 'tool_call', toolCallId: id, name, args });
  throw new CallerWait(open);
}

/**
 * The caller's options for the n-th answer. A tool that must be called is called in the first answer to the request; in
 * later ones it would never end.
 */
export function optionsOfCall(turn: Turn, n: number): CallerOptions {
  const { toolChoice, ...options } = turn.options ?? {};
  const previous = n === 1 ? undefined : turn.rows.answer(n - 1);
  const isFirst = previous === undefined || previous.toolCalls.some(({ name }) => isCallersTool(turn, name));
  return toolChoice === undefined || !isFirst ? options : { ...options, toolChoice };
}
