/** Reads an OpenAI-compatible stream: server-sent events, one JSON object each, that end with `[DONE]`. */
import { ProviderError } from '../../protocol/errors.ts';
import { textRef } from '../../protocol/texts/say.ts';
import type { ChatChunk } from '../../protocol/agent/provider.ts';
import { type AnswerReader, endedEarly, type ReadingOptions } from '../answers/read-answer.ts';
import { type Fields, fieldsOf, listOf } from '../answers/read-fields.ts';
import { statusIn } from '../refusals.ts';
import { checkLineLength, MAX_DOCUMENT_BYTES } from '../answers/text-splitters.ts';
import type { EchoTarget } from './echo.ts';
import { type AnswerPieces, createPieces } from './pieces.ts';

const NOTHING: readonly ChatChunk[] = [];
const BYTE_ORDER_MARK = '\uFEFF';

/** What a reader is given: also what an error reported mid-stream means, and whose answer it is. */
export interface ReaderOptions extends ReadingOptions {
  target: EchoTarget;
  failed: (said: string) => ProviderError;
}

/**
 * Makes the reader of a stream. Lines that are not events end it as `bad_response`, an error reported mid-stream as
 * what `failed` makes of it. An answer that arrives whole although a stream was requested is read as such.
 */
export function createEventReader(options: ReaderOptions): AnswerReader {
  const { failed } = options;
  const pieces = createPieces(options.makeCall, options.target);
  const whole: string[] = [];
  let wholeChars = 0;
  let [complete, begun] = [false, false];
  /** The name of an event before its data; data without an end, to which the next line belongs. */
  let isError = false;
  let unfinished = '';

  const readData = (given: string): readonly ChatChunk[] => {
    const data = unfinished === '' ? given : `${unfinished}\n${given}`;
    complete ||= data === '[DONE]';
    if (data === '[DONE]') return NOTHING;
    if (isError) throw failed(data);
    const event = parseObject(data);
    unfinished = event === undefined ? data : '';
    checkLineLength(unfinished);
    if (event === undefined) return NOTHING;
    return readEvent(event, data, pieces, options);
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
        begun = true;
        return readData(text.slice('data:'.length).trim());
      }
      const line = (begun ? text : text.replace(BYTE_ORDER_MARK, '')).trimEnd();
      if (whole.length > 0 || (!begun && line.startsWith('{'))) {
        wholeChars += line.length;
        if (wholeChars > MAX_DOCUMENT_BYTES) throw tooLong();
        whole.push(line);
        return NOTHING;
      }
      if (!begun && line.startsWith('data:')) return this.read(line);
      begun ||= line !== '';
      if (line === '' && unfinished !== '') throw notJson();
      if (/^event:\s{0,8}error/.test(line)) isError = true;
      if (!isIgnored(line)) throw notAnEvent(line, failed);
      return NOTHING;
    },
    end(isDelimited) {
      if (whole.length > 0) return readWhole(whole.join('\n'), pieces, options);
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
  { failed, onRecord }: Pick<ReaderOptions, 'failed' | 'onRecord'>,
): readonly ChatChunk[] {
  const delta = plainText(event);
  const error = delta === undefined ? errorIn(event, data) : undefined;
  if (error !== undefined) throw failed(error);
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
function notAnEvent(line: string, failed: ReaderOptions['failed']): ProviderError {
  if (line.startsWith('error:')) return failed(line.slice('error:'.length).trim());
  return new ProviderError('bad_response', textRef('provider.no_event'));
}

/** Makes the reader of an answer that arrives whole, in one document. */
export function createWholeReader(options: ReaderOptions): AnswerReader {
  const pieces = createPieces(options.makeCall, options.target);
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
      chunks = readWhole(text.replace(BYTE_ORDER_MARK, ''), pieces, options);
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
  { failed, onRecord }: Pick<ReaderOptions, 'failed' | 'onRecord'>,
): ChatChunk[] {
  const answer = parseObject(text);
  if (answer === undefined) throw notJson();
  const error = errorIn(answer, text);
  if (error !== undefined) throw failed(error);
  onRecord?.(answer);
  const chunks = pieces.add(answer);
  if (!pieces.isFinished && !pieces.hasContent) throw notAnAnswer();
  return [...chunks, ...pieces.end()];
}

/** Neither the text nor its parser's error is repeated: some servers repeat part of the key. */
function notJson(): ProviderError {
  return new ProviderError('bad_response', textRef('provider.data_not_json'));
}

function notAnAnswer(): ProviderError {
  return new ProviderError('bad_response', textRef('provider.not_an_answer'));
}

function tooLong(): ProviderError {
  return new ProviderError('bad_response', textRef('provider.too_much', { bytes: MAX_DOCUMENT_BYTES }));
}

/** Undefined for text that is not JSON, or not yet. Throws for JSON that is not an object. */
function parseObject(data: string): Fields | undefined {
  let value: unknown;
  try {
    value = JSON.parse(data);
  } catch {
    // Perhaps the rest follows on the next line; the caller says so if not.
    return undefined;
  }
  const event = fieldsOf(value);
  if (event !== undefined) return event;
  throw new ProviderError('bad_response', textRef('provider.no_object'));
}

/**
 * The error that an event reports, as JSON: its own (`error`), one of its choice (OpenRouter), or the event itself
 * (`object: "error"` of vLLM, or a status with a message and no choice).
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

/** The fields of an event that are examined, whatever they hold. */
interface UncheckedEvent {
  error?: unknown;
  choices?: unknown;
  usage?: unknown;
  timings?: unknown;
}
interface UncheckedChoice {
  index?: unknown;
  error?: unknown;
  delta?: unknown;
  finish_reason?: unknown;
}
interface UncheckedDelta {
  content?: unknown;
  reasoning_content?: unknown;
  reasoning?: unknown;
  reasoning_details?: unknown;
  tool_calls?: unknown;
  function_call?: unknown;
  refusal?: unknown;
  extra_content?: unknown;
}

/** The text of an event that holds nothing else; undefined for any other event. Nearly all events are like this. */
function plainText({ error, choices, usage, timings }: UncheckedEvent): string | undefined {
  if (
    !isAbsent(error) ||
    !isAbsent(usage) ||
    !isAbsent(timings) ||
    !Array.isArray(choices) ||
    choices.length !== 1
  )
    return undefined;
  const choice: unknown = choices[0];
  if (!isObject(choice)) return undefined;
  const { index = 0, delta, finish_reason: finish, error: ofChoice }: UncheckedChoice = choice;
  if (index !== 0 || !isAbsent(finish) || !isAbsent(ofChoice) || !isObject(delta)) return undefined;
  const { content, reasoning_content: thinking, reasoning, tool_calls: calls }: UncheckedDelta = delta;
  if (typeof content !== 'string' || !isAbsent(thinking) || !isAbsent(reasoning) || !isAbsent(calls))
    return undefined;
  const {
    reasoning_details: details,
    function_call: call,
    refusal,
    extra_content: extra,
  }: UncheckedDelta = delta;
  const hasOnlyText = isAbsent(details) && isAbsent(call) && isAbsent(refusal) && isAbsent(extra);
  return hasOnlyText && content !== '' ? content : undefined;
}

function isAbsent(value: unknown): boolean {
  return value === undefined || value === null;
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
