/** Every way in which model servers have been seen to deviate from their API: how each provider handles it. */
import { inspect, isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ProviderError, wordError } from '../../../src/protocol/errors.ts';
import type { LLMProvider, LLMResponse } from '../../../src/protocol/agent/provider.ts';
import { createOllama } from '../../../src/providers/ollama/ollama.ts';
import { createOpenai } from '../../../src/providers/openai/openai.ts';
import { collectChat } from '../../fakes/agent/collect-chat.ts';
import { type ScriptedUpstream, startScriptedUpstream } from '../../fakes/model/scripted-upstream.ts';
import { TOOLS } from '../filter/setup.ts';
import { never, question } from '../request.ts';
import { OLLAMA_SERVER, OPENAI_SERVER } from '../servers.ts';
import { CALL_CASES } from './call-cases.ts';
import { END_CASES } from './end-cases.ts';
import { MARKUP_CASES } from './markup-cases.ts';
import { REFUSAL_CASES } from './refusal-cases.ts';
import { SHAPE_CASES } from './shape-cases.ts';
import { INNER_TEXT, MARKUP, VALIDATOR_TEXT } from './seen.ts';
import type { Case, Outcome } from './wire.ts';

const ALL = [...MARKUP_CASES, ...END_CASES, ...CALL_CASES, ...SHAPE_CASES, ...REFUSAL_CASES];
/** How long a complete answer is waited for, in milliseconds. */
const USAGE_WAIT_MS = 50;
/** How many ways of failing the first version was tested with. */
const TRIED = 172;

let upstream: ScriptedUpstream;
let current: Case;
const providers: LLMProvider[] = [];
beforeAll(async () => {
  upstream = await startScriptedUpstream((_body, nth) => {
    const answer = current.answers[Math.min(nth, current.answers.length - 1)];
    if (answer === undefined) throw new Error('a case has an answer');
    return answer;
  });
});
afterAll(async () => {
  for (const provider of providers) await provider.close();
  await upstream.close();
});

function providerFor({ kind, whole }: Case): LLMProvider {
  const provider =
    kind === 'openai'
      ? createOpenai({
          ...OPENAI_SERVER,
          baseUrl: upstream.openaiUrl,
          stream: whole !== true,
          usageWaitMs: USAGE_WAIT_MS,
        })
      : createOllama({ ...OLLAMA_SERVER, baseUrl: upstream.ollamaUrl });
  providers.push(provider);
  return provider;
}

/** Asks once, the way an agent with tools would. */
async function ask(tried: Case): Promise<LLMResponse | ProviderError> {
  current = tried;
  const request = question(`${tried.kind} ${tried.name}`, {
    tools: TOOLS,
    think: true,
    temperature: 0.7,
    maxTokens: 500,
  });
  try {
    return await collectChat(providerFor(tried).streamChat(request, never));
  } catch (error) {
    if (error instanceof ProviderError) return error;
    throw error;
  }
}

/** Deviations from the expectations of the case, one per line. */
function problemsOf(tried: Case, got: LLMResponse | ProviderError, requests: number): string[] {
  const { outcome } = tried;
  const isError = got instanceof ProviderError;
  const same = (what: string, wanted: unknown, found: unknown): string[] =>
    wanted === undefined || isDeepStrictEqual(wanted, found)
      ? []
      : [`${what} is ${inspect(found)} instead of ${inspect(wanted)}`];
  return [
    ...same('the number of calls', outcome.requests, requests),
    ...(isError === (outcome.code !== undefined) ? [] : [`it was ${isError ? got.message : 'an answer'}`]),
    ...(isError ? errorProblems(outcome, got, same) : answerProblems(tried, got, same)),
  ];
}

type Same = (what: string, wanted: unknown, found: unknown) => string[];

function errorProblems(outcome: Outcome, error: ProviderError, same: Same): string[] {
  const message = wordError(error, 'person');
  return [
    ...same('the code', outcome.code, error.code),
    ...same('the pause', outcome.retryAfterMs, error.retryAfterMs),
    ...(VALIDATOR_TEXT.test(error.message) ? [`a validator speaks: ${error.message}`] : []),
    ...(error.message.includes(outcome.words ?? '') ? [] : [`owners read: ${error.message}`]),
    ...(message.includes(outcome.message ?? '') ? [] : [`people read: ${message}`]),
    ...(INNER_TEXT.test(message) ? [`people read inner text: ${message}`] : []),
  ];
}

function answerProblems(tried: Case, got: LLMResponse, same: Same): string[] {
  const { text, thinking, calls, finish, usage } = tried.outcome;
  const read = calls?.map(({ args, malformed }, index) => {
    const call = got.toolCalls[index];
    return {
      name: call?.name,
      ...(args !== undefined && { args: call?.args }),
      ...(malformed !== undefined && { malformed: call?.malformed?.slice(0, malformed.length) }),
    };
  });
  const valid = calls?.map(({ malformed }) => malformed === undefined);
  const speaksOfMarkup = /not there|in code/.test(tried.name);
  return [
    ...same('the text', text, got.content),
    ...same('the thinking', thinking, got.thinking),
    ...same('the end', finish, got.finishReason),
    ...same(
      'the usage',
      usage,
      usage && { promptTokens: got.usage.promptTokens, completionTokens: got.usage.completionTokens },
    ),
    ...same('the calls', calls, read),
    ...same(
      'which calls can be read',
      valid,
      got.toolCalls.map(({ malformed }) => malformed === undefined),
    ),
    ...(MARKUP.test(got.content) && !speaksOfMarkup ? [`markup is shown: ${got.content}`] : []),
  ];
}

describe('a model server that deviates from its API', () => {
  it(`was tested in at least ${TRIED} ways, each with a unique name`, () => {
    expect(ALL.length).toBeGreaterThanOrEqual(TRIED);
    expect(new Set(ALL.map(({ kind, name }) => `${kind} ${name}`)).size).toBe(ALL.length);
  });

  it.each(ALL.map((tried): [string, string, Case] => [tried.kind, tried.name, tried]))(
    '(%s) with %s yields what it means',
    async (_kind, _name, tried) => {
      const before = upstream.calls.length;
      const got = await ask(tried);
      expect(problemsOf(tried, got, upstream.calls.length - before)).toEqual([]);
    },
  );
});
