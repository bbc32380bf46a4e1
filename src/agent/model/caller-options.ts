/** What a caller of the API asks of an answer: as fields of a model call, and as checks of the finished answer. */
import type {
  AnswerFormat,
  AnswerOptions,
  CallerOptions,
  ChatRequest,
  ModelCapabilities,
  ToolCall,
  ToolSchema,
} from '../../protocol/agent/provider.ts';
import { FieldError, GatewayError } from '../../protocol/errors.ts';
import { schemaProblem } from '../../lib/json/json-schema.ts';
import { estimateTokens } from '../../lib/text.ts';
import type { Profile } from '../../protocol/agent/profile.ts';
import type { PromptPart } from '../prompt/bootstrap-files.ts';
import { type PreparedProfile, schemaTokens } from '../prompt/prepared-profile.ts';
import { isJsonObject } from '../../lib/json/json.ts';

/**
 * The fields of a model call besides its model, messages and tools: what the caller asks, else what the profile says.
 */
export function callFields(
  profile: Profile,
  can: ModelCapabilities,
  options: CallerOptions = {},
): Partial<ChatRequest> {
  const { instructions: _, tools: _tools, gatewayTools: _gateway, ...fields } = options;
  return {
    ...(can.thinking && { think: profile.thinkEnabled }),
    ...(profile.temperature !== undefined && { temperature: profile.temperature }),
    ...(profile.maxTokens !== undefined && { maxTokens: profile.maxTokens }),
    ...fields,
  };
}

/** Throws `FieldError` for an option that this model, or its server, cannot honour. */
export function refuseUnsupported(model: string, can: ModelCapabilities, options: CallerOptions = {}): void {
  const { tools = [], gatewayTools: _, instructions: _instructions, ...fields } = options;
  if (tools.length > 0 && !can.tools) throw new FieldError('tools', `the model ${model} cannot call tools`);
  if (fields.reasoningEffort === 'none') return;
  const option = can.unsupported?.find((name) => fields[name] !== undefined);
  if (option !== undefined) throw new FieldError(option, `the server of the model ${model} does not know it`);
}

/**
 * The profile's prompt and tools with what the caller adds: its instructions, its tools instead of the gateway's or in
 * addition to them.
 */
export function withCallerOptions(
  prepared: PreparedProfile,
  options: CallerOptions | undefined,
): PreparedProfile {
  if (options === undefined) return prepared;
  const { instructions, tools, gatewayTools = false } = options;
  const base = { ...prepared, base: prepared };
  const result = tools === undefined ? base : withTools(base, tools, gatewayTools);
  if (instructions === undefined) return result;
  const instructed = ({ content: prompt }: PromptPart): PromptPart => {
    const content = [prompt, instructions].filter((part) => part !== '').join('\n\n---\n\n');
    return { content, tokens: estimateTokens(content) };
  };
  return {
    ...result,
    system: instructed(prepared.system),
    withoutTools: instructed(prepared.withoutTools),
  };
}

/** A caller's tool replaces one of the gateway's that has the same name. */
function withTools(
  prepared: PreparedProfile,
  callerTools: readonly ToolSchema[],
  keepsGateways: boolean,
): PreparedProfile {
  const names = new Set(callerTools.map(({ name }) => name));
  const gatewayTools = keepsGateways ? prepared.schemas.filter(({ name }) => !names.has(name)) : [];
  const schemas = [...gatewayTools, ...callerTools];
  return {
    ...prepared,
    sources: keepsGateways ? prepared.sources : [],
    tools: new Map(
      gatewayTools.flatMap(({ name }) => [...prepared.tools].filter(([toolName]) => toolName === name)),
    ),
    schemas,
    toolTokens: schemaTokens(schemas),
  };
}

/** The calls of an answer that count: with `parallelToolCalls: false` the first one. */
export function callsOf(calls: readonly ToolCall[], options: CallerOptions | undefined): ToolCall[] {
  return options?.parallelToolCalls === false ? calls.slice(0, 1) : [...calls];
}

/** Throws `GatewayError('invalid_answer')` when a strict tool's arguments do not match its schema, or a required call is missing. */
export function checkCalls(calls: readonly ToolCall[], options: CallerOptions): void {
  const { tools = [], toolChoice } = options;
  for (const call of calls) {
    const tool = tools.find(({ name }) => name === call.name);
    if (tool?.strict !== true) continue;
    const problem =
      call.malformed === undefined ? schemaProblem(tool.parameters, call.args) : 'they are not a JSON object';
    if (problem !== undefined) {
      throw invalidAnswer(`the arguments of ${call.name} do not match its parameters (strict): ${problem}`);
    }
  }
  if (toolChoice === undefined || calls.length > 0) return;
  throw invalidAnswer('it calls no tool, though tool_choice requires one');
}

/** Throws `GatewayError('invalid_answer')` for a text that does not have the requested form. */
export function checkFormat(text: string, { format }: AnswerOptions): void {
  const problem = format && formatProblem(text, format);
  if (problem !== undefined) throw wrongForm(problem);
}

/** What is wrong with the form of a text; undefined for nothing. Never throws. */
export function formatProblem(text: string, format: AnswerFormat): string | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return 'it is not JSON';
  }
  if (format.type === 'json_schema') return schemaProblem(format.schema, value);
  return isJsonObject(value) ? undefined : 'it is not a JSON object';
}

/** The error for an answer without the requested form. */
export function wrongForm(problem: string): GatewayError {
  return invalidAnswer(`it does not have the requested form: ${problem}`);
}

function invalidAnswer(reason: string): GatewayError {
  return new GatewayError('invalid_answer', `The model's answer cannot be used: ${reason}.`);
}
