/** Reads an OpenAI-compatible stream: server-sent events, one JSON object each, that end with `[DONE]`. */
import { z } from 'zod';
import { ProviderError } from '../../contracts/errors.ts';
import type { ChatChunk } from '../../contracts/provider.ts';
import type { AnswerReader } from '../read-answer.ts';
import { checkLineLength } from '../text-splitters.ts';
import { createPieces } from './pieces.ts';

const wholeAnswer = z.looseObject({
  choices: z.array(z.looseObject({ message: z.unknown(), finish_reason: z.string().nullish() })),
});

const NOTHING: readonly ChatChunk[] = [];

/**
 * Makes the reader of a stream. Lines that are no event end it as `bad_response`, an error told mid-stream as what
 * `failed` makes of it.
 */
export function createEventReader(failed: (said: string) => ProviderError): AnswerReader {
  const pieces = createPieces();
  let complete = false;
  return {
    get complete() {
      return complete;
    },
    read(line) {
      checkLineLength(line);
      const data = dataOf(line, failed);
      if (data === undefined) return NOTHING;
      if (data === '[DONE]') {
        complete = true;
        return NOTHING;
      }
      const event = parseEvent(data);
      if ('error' in event && Boolean(event.error)) throw failed(data);
      const delta = plainText(event);
      if (delta === undefined) return pieces.add(event);
      return delta === '' ? NOTHING : [{ type: 'text', delta }];
    },
    end: () => pieces.end(),
  };
}

/** Makes the reader of an answer that comes whole, in one document. */
export function createWholeReader(): AnswerReader {
  const pieces = createPieces();
  let complete = false;
  return {
    get complete() {
      return complete;
    },
    read(text) {
      const chunks = pieces.add(eventOfWhole(parseEvent(text)));
      complete = true;
      return chunks;
    },
    end: () => pieces.end(),
  };
}

/** The data of a line; undefined for lines that mean nothing here. */
function dataOf(line: string, failed: (said: string) => ProviderError): string | undefined {
  if (line.startsWith('data:')) return line.slice('data:'.length).trim();
  const text = line.trimEnd();
  // Comments keep a silent connection open; names and ids of events mean nothing here.
  if (text === '' || /^(:|(event|id|retry):)/.test(text)) return undefined;
  // Older llama-servers tell an error in a field of its own.
  if (text.startsWith('error:')) throw failed(text.slice('error:'.length).trim());
  throw new ProviderError('bad_response', 'The model server sent a line that is no server-sent event.');
}

/** Neither the text nor its parser's error are repeated: some servers repeat a part of the key. */
function parseEvent(data: string): object {
  let event: unknown;
  try {
    event = JSON.parse(data);
  } catch {
    throw new ProviderError('bad_response', 'The model server sent data that is not JSON.');
  }
  if (isObject(event) && !Array.isArray(event)) return event;
  throw new ProviderError('bad_response', 'The model server sent data that is not a JSON object.');
}

/** The fields of an event that are looked at without the schema; whatever they hold. */
interface UncheckedEvent {
  choices?: unknown;
  usage?: unknown;
  timings?: unknown;
}
interface UncheckedChoice {
  delta?: unknown;
  finish_reason?: unknown;
}
interface UncheckedDelta {
  content?: unknown;
  reasoning_content?: unknown;
  reasoning?: unknown;
  tool_calls?: unknown;
}

/**
 * The text of an event that holds nothing else; undefined for any other event. Nearly all events are such, so they are
 * read without the schema.
 */
function plainText({ choices, usage, timings }: UncheckedEvent): string | undefined {
  if (!isAbsent(usage) || !isAbsent(timings) || !Array.isArray(choices) || choices.length !== 1)
    return undefined;
  const choice: unknown = choices[0];
  if (!isObject(choice)) return undefined;
  const { delta, finish_reason: finish }: UncheckedChoice = choice;
  if (!isAbsent(finish) || !isObject(delta)) return undefined;
  const { content, reasoning_content: thinking, reasoning, tool_calls: calls }: UncheckedDelta = delta;
  if (typeof content !== 'string' || !isAbsent(thinking) || !isAbsent(reasoning) || !isAbsent(calls))
    return undefined;
  return content;
}

function isAbsent(value: unknown): boolean {
  return value === undefined || value === null;
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

/** A whole answer as the one event that says it all. Throws `ProviderError('bad_response')`. */
function eventOfWhole(answer: object): object {
  const parsed = wholeAnswer.safeParse(answer);
  if (!parsed.success) {
    const why = z.prettifyError(parsed.error);
    throw new ProviderError('bad_response', `The model server sent an answer of an unknown shape: ${why}`);
  }
  const choices = parsed.data.choices.map(({ message, finish_reason }) => ({
    delta: message,
    finish_reason,
  }));
  return { ...parsed.data, choices };
}
