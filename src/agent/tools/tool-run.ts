/** Runs one tool call and turns every failure into a result for the model (B-48). */
import { LaneAbort } from '../../protocol/bus.ts';
import { z } from 'zod';
import { conform, describeIssues } from './conform.ts';
import { cleanText, clipMiddle } from '../../lib/text.ts';
import type { ToolCall } from '../../protocol/agent/provider.ts';
import { pageSource, type ResultSource, type Source, taints } from '../../protocol/agent/risk.ts';
import type { Tool, ToolContext } from '../../protocol/agent/tool.ts';
import { MAX_RESULT_CHARS } from '../deps.ts';
import { markUntrusted } from '../prompt/marks.ts';

/** Result of one call, for the model. */
export interface Outcome {
  content: string;
  isError: boolean;
  /** The sources of its text, if it is not the gateway itself. */
  sources?: readonly Source[] | undefined;
  /** Name of the source. */
  from?: string | undefined;
  /** Addresses that it lists, in its order. */
  addresses?: readonly string[] | undefined;
  /** References of pictures that it shows. */
  pictures?: readonly string[] | undefined;
}

/** The result as the model reads it: text of others is between marks. */
export function contentForModel(toolName: string, { content, sources = [], from }: Outcome): string {
  return taints(sources) ? markUntrusted(from ?? `the tool ${toolName}`, content) : content;
}

/** A valid call, or the error result of an invalid one. */
export type CheckedCall = { tool: Tool; args: unknown } | { refusal: Outcome };

/**
 * Finds the tool and checks the arguments. Those that do not match are checked once more in the types that the tool
 * wants, as far as nothing is lost. Never throws.
 */
export function checkCall(call: ToolCall, tools: ReadonlyMap<string, Tool>): CheckedCall {
  const tool = tools.get(call.name);
  if (tool === undefined) {
    const names = [...tools.keys()].join(', ') || 'none';
    return { refusal: failure(`There is no tool "${call.name}". The tools are: ${names}.`) };
  }
  if (call.malformed !== undefined) {
    const problem = `Malformed arguments for ${tool.name}: not a JSON object, or nested too deep.`;
    return { refusal: failure(`${problem} Call it again with a JSON object. They were: ${call.malformed}`) };
  }
  try {
    const parsed = tool.parameters.safeParse(call.args);
    if (parsed.success) return { tool, args: parsed.data };
    const schema = tool.schema ?? z.toJSONSchema(tool.parameters, { io: 'input', unrepresentable: 'any' });
    const converted = tool.parameters.safeParse(conform(call.args, schema));
    if (converted.success) return { tool, args: converted.data };
    return { refusal: failure(`Wrong arguments for ${tool.name}:\n${describeIssues(parsed.error)}`) };
  } catch (error) {
    return { refusal: failure(`Wrong arguments for ${tool.name}: ${messageOf(error)}`) };
  }
}

/**
 * Runs a checked call for at most `limitMs`, or until the context's signal aborts. A tool that ignores the signal is
 * abandoned and its late result ignored. A long result keeps its head and tail. Never throws.
 */
export async function executeTool(
  tool: Tool,
  args: unknown,
  ctx: ToolContext,
  limitMs: number,
): Promise<Outcome> {
  const outcome = await runWithLimit(tool, args, ctx, limitMs);
  // An error may quote what the tool read, so it has the same source.
  const { source, sources = sourcesOf(source ?? tool.results, outcome.from), ...rest } = outcome;
  return sources.length === 0 ? rest : { ...rest, sources };
}

type RawOutcome = Outcome & { source?: ResultSource | undefined };

function sourcesOf(source: ResultSource, from = ''): readonly Source[] {
  if (source === 'operator') return [];
  return [source === 'web' ? pageSource(from) : source];
}

async function runWithLimit(
  tool: Tool,
  args: unknown,
  ctx: ToolContext,
  limitMs: number,
): Promise<RawOutcome> {
  const limit = AbortSignal.timeout(limitMs);
  const signal = AbortSignal.any([ctx.signal, limit]);
  const abort = Promise.withResolvers<never>();
  const end = (): void => abort.reject(signal.reason);
  signal.addEventListener('abort', end, { once: true });
  try {
    signal.throwIfAborted();
    const run = Promise.resolve(tool.execute(args, { ...ctx, signal }));
    const { content, isError, ...rest } = await Promise.race([run, abort.promise]);
    return { ...rest, content: readable(content), isError: isError ?? false };
  } catch (error) {
    if (limit.aborted) return failure(unfinished(tool, `did not finish within ${limitMs / 1_000} s`));
    if (ctx.signal.aborted) return failure(unfinished(tool, 'was stopped before it finished'));
    ctx.log.info({ err: error, tool: tool.name }, 'tool_failed');
    return failure(`${tool.name} failed: ${messageOf(error)}`);
  } finally {
    signal.removeEventListener('abort', end);
  }
}

/** Makes an error result. */
export function failure(text: string): Outcome {
  return { content: readable(text), isError: true };
}

function unfinished(tool: Tool, event: string): string {
  const unknown = tool.effect === 'pure' ? '' : ' Its outcome is unknown: it may have taken effect.';
  return `${tool.name} ${event}.${unknown}`;
}

function readable(text: string): string {
  return clipMiddle(cleanText(text), MAX_RESULT_CHARS);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** A signal that follows the given one except for a shutdown: a tool that is cut short is worse than a slow shutdown. */
export function withoutShutdown(signal: AbortSignal): AbortSignal {
  const controller = new AbortController();
  const pass = (): void => {
    const { reason } = signal;
    if (!(reason instanceof LaneAbort && reason.code === 'shutdown')) controller.abort(reason);
  };
  if (signal.aborted) pass();
  else signal.addEventListener('abort', pass, { once: true });
  return controller.signal;
}
