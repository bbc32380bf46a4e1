/** Reads an OpenAI-compatible stream: server-sent events, one JSON object each, that end with `[DONE]`. */
import { ProviderError } from '../../protocol/errors.ts';
import { textRef } from '../../protocol/texts/say.ts';
import type { ChatChunk } from '../../protocol/agent/provider.ts';
import {
  type AnswerReader,
  checkLineLength,
  endedEarly,
  MAX_DOCUMENT_BYTES,
  type OnRecord,
} from '../answers/read-answer.ts';
import { parseJson } from '../../lib/json/json.ts';
import { type Fields, fieldsOf, listOf } from '../answers/read-fields.ts';
import { statusIn } from '../refusals.ts';
import type { MakeToolCall } from '../answers/tool-calls.ts';
import type { EchoTarget } from './echo.ts';
import { type AnswerPieces, createPieces } from './pieces.ts';

const NOTHING: readonly ChatChunk[] = [];
const BYTE_ORDER_MARK = '\uFEFF';

/** Makes the error for one that the server reported in its answer. */
type FailedAnswer = (words: string) => ProviderError;

/**
 * Makes the reader of a stream. Lines that are not events end it as `bad_response`, a reported error as `toError` says.
 * An answer that arrives whole anyway is read as such.
 */
export function createEventReader(
  makeCall: MakeToolCall,
  toError: FailedAnswer,
  target: EchoTarget,
  onRecord?: OnRecord,
): AnswerReader {
  const pieces = createPieces(makeCall, target);
  const whole: string[] = [];
  let wholeChars = 0;
  let [complete, isStream, isError] = [false, false, false];
  /** Data without an end, to which the next line belongs. */
  let unfinished = '';

  const readData = (line: string): readonly ChatChunk[] => {
    const data = unfinished === '' ? line : `${unfinished}\n${line}`;
    complete ||= data === '[DONE]';
    if (data === '[DONE]') return NOTHING;
    if (isError) throw toError(data);
    const event = parseObject(data);
    unfinished = event === undefined ? data : '';
    checkLineLength(unfinished);
    return event === undefined ? NOTHING : readEvent(event, data, pieces, toError, onRecord);
  };

  return {
    get complete() {
      return complete;
    },
    get finished() {
      return pieces.isFinished;
    },
    read(text) {
      checkLineLength(text);
      if (text.startsWith('data:')) {
        isStream = true;
        return readData(text.slice('data:'.length).trim());
      }
      const line = (isStream ? text : text.replace(BYTE_ORDER_MARK, '')).trimEnd();
      if (whole.length > 0 || (!isStream && line.startsWith('{'))) {
        wholeChars += line.length;
        if (wholeChars > MAX_DOCUMENT_BYTES) throw tooLong();
        whole.push(line);
        return NOTHING;
      }
      if (!isStream && line.startsWith('data:')) return this.read(line);
      isStream ||= line !== '';
      if (line === '' && unfinished !== '') throw notJson();
      if (/^event:\s{0,8}error/.test(line)) isError = true;
      if (!isIgnored(line)) throw notAnEvent(line, toError);
      return NOTHING;
    },
    end(isDelimited) {
      if (whole.length > 0) return readWhole(whole.join('\n'), pieces, toError, onRecord);
      if (unfinished !== '' && !pieces.isFinished) throw notJson();
      const isEnough = complete ? pieces.hasContent : isDelimited && pieces.isReadable;
      if (!pieces.isFinished && !isEnough) throw endedEarly();
      return pieces.end();
    },
  };
}

/** The chunks of an event; throws for an error that it reports. Nearly all events hold text only. */
function readEvent(
  event: Fields,
  data: string,
  pieces: AnswerPieces,
  toError: FailedAnswer,
  onRecord: OnRecord | undefined,
): readonly ChatChunk[] {
  const delta = plainText(event);
  const error = delta === undefined ? errorIn(event, data) : undefined;
  if (error !== undefined) throw toError(error);
  onRecord?.(event);
  if (delta === undefined) return pieces.add(event);
  pieces.noteText();
  return [{ type: 'text', delta }];
}

/** Comments keep a silent connection open; event names and ids mean nothing here, except an error's. */
function isIgnored(line: string): boolean {
  return line === '' || /^(:|(event|id|retry):)/.test(line);
}

/** The error for a line that is no part of an event: older llama-servers report an error in a separate field. */
function notAnEvent(line: string, toError: FailedAnswer): ProviderError {
  if (line.startsWith('error:')) return toError(line.slice('error:'.length).trim());
  return new ProviderError('bad_response', textRef('provider.no_event'));
}

/** Makes the reader of an answer that arrives whole, in one document. */
export function createWholeReader(
  makeCall: MakeToolCall,
  toError: FailedAnswer,
  target: EchoTarget,
  onRecord?: OnRecord,
): AnswerReader {
  const pieces = createPieces(makeCall, target);
  let chunks: readonly ChatChunk[] = NOTHING;
  let complete = false;
  return {
    get complete() {
      return complete;
    },
    get finished() {
      return complete;
    },
    read(text) {
      chunks = readWhole(text.replace(BYTE_ORDER_MARK, ''), pieces, toError, onRecord);
      complete = true;
      return NOTHING;
    },
    end() {
      if (!complete) throw endedEarly();
      return chunks;
    },
  };
}

/** The chunks of a whole answer, `done` last. Throws `ProviderError`. */
function readWhole(
  text: string,
  pieces: AnswerPieces,
  toError: FailedAnswer,
  onRecord: OnRecord | undefined,
): ChatChunk[] {
  const answer = parseObject(text);
  if (answer === undefined) throw notJson();
  const error = errorIn(answer, text);
  if (error !== undefined) throw toError(error);
  onRecord?.(answer);
  const chunks = pieces.add(answer);
  if (!pieces.isFinished && !pieces.hasContent)
    throw new ProviderError('bad_response', textRef('provider.not_an_answer'));
  return [...chunks, ...pieces.end()];
}

/** Neither the text nor its parser's error is repeated: some servers repeat part of the key. */
function notJson(): ProviderError {
  return new ProviderError('bad_response', textRef('provider.data_not_json'));
}

function tooLong(): ProviderError {
  return new ProviderError('bad_response', textRef('provider.too_much', { bytes: MAX_DOCUMENT_BYTES }));
}

/** Undefined for text that is not JSON, or not yet. Throws for JSON that is not an object. */
function parseObject(data: string): Fields | undefined {
  const value = parseJson(data);
  // Perhaps the rest follows on the next line; the caller says so if not.
  if (value === undefined) return undefined;
  const event = fieldsOf(value);
  if (event !== undefined) return event;
  throw new ProviderError('bad_response', textRef('provider.no_object'));
}

/**
 * The error in an event, as JSON: its `error`, its choice's (OpenRouter), or the event itself (`object: "error"` of
 * vLLM, or a status with a message and no choice).
 */
function errorIn(event: Fields, data: string): string | undefined {
  if (event['error'] || event['object'] === 'error') return data;
  if (event['choices'] === undefined) {
    const isError = typeof event['message'] === 'string' && statusIn(data) !== undefined;
    return isError ? data : undefined;
  }
  const ofChoice = fieldsOf(listOf(event['choices'])[0])?.['error'];
  return ofChoice ? JSON.stringify({ error: ofChoice }) : undefined;
}

/** The text of an event that holds nothing else; undefined for any other event. Nearly all events are like this. */
function plainText(event: Fields): string | undefined {
  const choices = event['choices'];
  if (!Array.isArray(choices) || choices.length !== 1) return undefined;
  if (!isAbsent(event['error']) || !isAbsent(event['usage']) || !isAbsent(event['timings'])) return undefined;
  const choice: unknown = choices[0];
  if (!isObject(choice) || (choice['index'] ?? 0) !== 0) return undefined;
  const delta = choice['delta'];
  if (!isAbsent(choice['finish_reason']) || !isAbsent(choice['error']) || !isObject(delta)) return undefined;
  const content = delta['content'];
  const hasOnlyText =
    isAbsent(delta['reasoning_content']) &&
    isAbsent(delta['reasoning']) &&
    isAbsent(delta['tool_calls']) &&
    isAbsent(delta['reasoning_details']) &&
    isAbsent(delta['function_call']) &&
    isAbsent(delta['refusal']) &&
    isAbsent(delta['extra_content']);
  return hasOnlyText && typeof content === 'string' && content !== '' ? content : undefined;
}

function isAbsent(value: unknown): boolean {
  return value === undefined || value === null;
}

/** Cheaper than `fieldsOf`: this runs for every event. */
function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null;
}
