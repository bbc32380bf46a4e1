/** The parts of an OpenAI-compatible answer that come in pieces, read field by field: text, thoughts, tool calls, usage, the end. */
import { ProviderError } from '../../protocol/errors.ts';
import { textRef } from '../../protocol/texts/say.ts';
import type { ChatChunk, FinishReason, OpaqueFields, Usage } from '../../protocol/agent/provider.ts';
import { type AnswerEnd, endOf } from '../answers/read-answer.ts';
import {
  type Fields,
  fieldsOf,
  listOf,
  numberOf,
  textOf,
  thoughtsAmong,
  wordOf,
} from '../answers/read-fields.ts';
import { jsonText, type MakeToolCall } from '../answers/tool-calls.ts';
import { parseJson } from '../../lib/json/json.ts';
import { createEchoPieces, type EchoTarget, extraOf } from './echo.ts';

/** How much the tool calls of one answer may hold, in characters; their parts may arrive one character at a time. */
export const MAX_CALL_CHARS = 1024 * 1024;

/** What has been received of one answer so far. */
export type AnswerPieces = ReturnType<typeof createPieces>;

/** A growing tool call. */
interface GrowingCall {
  id: string;
  /** Its initial name, and what further fragments add to it. */
  name: string;
  moreName: string;
  text: string;
  extra: OpaqueFields | undefined;
}

/** Puts an answer together from its events. `add` and `end` throw `ProviderError('bad_response')`. */
export function createPieces(makeCall: MakeToolCall, target: EchoTarget) {
  const calls = createCallGatherer();
  const echoPieces = createEchoPieces(target);
  let finish = '';
  let isRefusal = false;
  let [hasText, hasThought] = [false, false];
  let usage: Usage = { promptTokens: 0, completionTokens: 0, modelMs: 0 };

  return {
    /** True once the server said why the answer ended. */
    get isFinished() {
      return finish !== '';
    },
    /** True once there was any text, thought or tool call. */
    get hasContent() {
      return hasText || hasThought || calls.count > 0;
    },
    /** True once there was text or a tool call, unless the arguments of a call are cut. */
    get isReadable() {
      return (hasText || calls.count > 0) && calls.areWhole;
    },
    /** Text was found in an event that was not added. */
    noteText() {
      hasText = true;
    },
    /** Takes an event of any shape and returns the chunks in it. */
    add(event: Fields): ChatChunk[] {
      usage = readUsage(event, usage);
      const choice = ownChoice(event['choices']);
      finish = wordOf(choice['finish_reason']) || finish;
      // A message where a delta should be; the text of the older completions.
      const delta = fieldsOf(choice['delta']) ?? fieldsOf(choice['message']) ?? {};
      echoPieces.add(delta);
      for (const fragment of listOf(delta['tool_calls'])) calls.add(fragment);
      if (delta['function_call'] !== undefined && delta['function_call'] !== null)
        calls.add({ index: 'legacy', function: delta['function_call'] });
      const refusal = textOf(delta['refusal']);
      isRefusal ||= refusal !== '';
      const thinking = thinkingIn(delta);
      const text = textOf(delta['content'] ?? choice['text']) + refusal;
      hasText ||= text !== '';
      hasThought ||= thinking !== '';
      const chunks: ChatChunk[] = [];
      if (thinking !== '') chunks.push({ type: 'thinking', delta: thinking });
      if (text !== '') chunks.push({ type: 'text', delta: text });
      return chunks;
    },
    /** The tool calls and the closing chunk, once all events were added. */
    end(): ChatChunk[] {
      const end = completeEnd(finish);
      const callChunks = calls.all().map((call) => ({ type: 'tool_call' as const, call: makeCall(call) }));
      const echo = echoPieces.end(callChunks.some(({ call }) => call.extra !== undefined));
      const finishReason = reasonOf(end, isRefusal, callChunks.length > 0);
      const unknownReason = end === 'unknown' ? finish : undefined;
      return [...callChunks, { type: 'done', finishReason, usage, echo, unknownReason }];
    },
  };
}

/** What the word for the end means; throws for that of an answer that is not complete. */
function completeEnd(finish: string): Exclude<AnswerEnd, 'broken'> {
  const end = endOf(finish);
  if (end !== 'broken') return end;
  const message = textRef('provider.broke_off', { reason: `finish_reason "${finish}"` });
  throw new ProviderError('bad_response', message, { retryable: true });
}

/** An answer that ended with an unknown word ended on its own. */
function reasonOf(end: Exclude<AnswerEnd, 'broken'>, isRefusal: boolean, hasCalls: boolean): FinishReason {
  if (end === 'length' || end === 'content_filter') return end;
  if (isRefusal || end === 'refusal') return 'refusal';
  return hasCalls ? 'tool_calls' : 'stop';
}

/** The choice of an event that belongs to the answer: some servers send further ones, though one was requested. */
function ownChoice(choices: unknown): Fields {
  const all = listOf(choices).map((choice) => fieldsOf(choice) ?? {});
  return all.find(({ index }) => ['', '0'].includes(wordOf(index))) ?? {};
}

/** Thoughts are in one of several fields; the details are read only if no other field has them. */
function thinkingIn(delta: Fields): string {
  const fields = [
    delta['reasoning_content'],
    delta['reasoning'],
    delta['thinking'],
    delta['reasoning_details'],
  ];
  const thinking = fields.map((field) => textOf(field, 'thinking')).find((text) => text !== '');
  return thinking ?? thoughtsAmong(delta['content']);
}

function readUsage(event: Fields, previous: Usage): Usage {
  const counts = fieldsOf(event['usage']);
  const timings = fieldsOf(event['timings']);
  if (counts === undefined && timings === undefined) return previous;
  return {
    promptTokens: numberOf(counts?.['prompt_tokens']) ?? previous.promptTokens,
    completionTokens: numberOf(counts?.['completion_tokens']) ?? previous.completionTokens,
    modelMs:
      timings === undefined
        ? previous.modelMs
        : Math.round((numberOf(timings['prompt_ms']) ?? 0) + (numberOf(timings['predicted_ms']) ?? 0)),
  };
}

/** Gathers the fragments of tool calls. */
function createCallGatherer() {
  const calls: GrowingCall[] = [];
  /** The call that grows under an index. */
  const byIndex = new Map<string, GrowingCall>();
  let chars = 0;
  return {
    get count() {
      return calls.length;
    },
    /** True when no arguments are cut. */
    get areWhole() {
      return calls.every(({ text }) => text.trim() === '' || isJson(text));
    },
    /** Throws when all calls together grow too long. */
    add(fragment: unknown): void {
      const fields = fieldsOf(fragment) ?? {};
      const part = fieldsOf(fields['function']) ?? fields;
      const id = wordOf(fields['id']);
      const name = wordOf(part['name']);
      const text = argumentText(part['arguments'] ?? part['parameters']);
      const extra = extraOf(fields);
      chars += 1 + id.length + name.length + text.length;
      if (extra !== undefined) chars += JSON.stringify(extra).length;
      if (chars > MAX_CALL_CHARS) {
        throw new ProviderError('bad_response', textRef('provider.calls_too_long', { most: MAX_CALL_CHARS }));
      }
      const index = wordOf(fields['index']);
      const growing = index === '' ? calls.at(-1) : byIndex.get(index);
      if (growing !== undefined && !isNext(growing, { id, name, text }, index)) {
        growing.id ||= id;
        if (growing.name === '') growing.name = name;
        else growing.moreName += name;
        // Some servers send all arguments so far with each fragment.
        const isAll = growing.text !== '' && text.startsWith(growing.text);
        if (isAll) chars -= growing.text.length;
        growing.text = isAll ? text : growing.text + text;
        if (extra !== undefined) growing.extra = { ...growing.extra, ...extra };
        return;
      }
      const call = { id, name, moreName: '', text, extra };
      calls.push(call);
      if (index !== '') byIndex.set(index, call);
    },
    /** Arguments are text with JSON in it. */
    all: () => calls.map(({ text, ...call }) => ({ ...call, args: text })),
  };
}

/**
 * Whether a fragment with a name starts another call: it has no index, another id (Gemini's parallel calls all have
 * index 0), or the previous call is complete.
 */
function isNext(
  growing: GrowingCall,
  { id, name, text }: { id: string; name: string; text: string },
  index: string,
): boolean {
  if (name === '') return false;
  if (id !== '' && growing.id !== '') return id !== growing.id;
  if (index === '') return growing.name !== '' || growing.text !== '';
  return text !== '' && growing.name !== '' && isJson(growing.text);
}

/** False for a call that is incomplete so far. */
function isJson(text: string): boolean {
  return text.trimEnd().endsWith('}') && parseJson(text) !== undefined;
}

function argumentText(value: unknown): string {
  if (typeof value === 'string') return value;
  return value === undefined || value === null ? '' : jsonText(value);
}
