/** Answers of both kinds of servers, built from the parts that a case is about. */
import type { UpstreamAnswer } from '../../fakes/model/scripted-upstream.ts';

/** The expected result of a case: an answer with these parts, or an error with this code. */
export interface Outcome {
  text?: string;
  thinking?: string;
  calls?: readonly {
    name: string;
    args?: Record<string, unknown>;
    malformed?: string;
  }[];
  finish?: string;
  usage?: Record<string, number>;
  code?: string;
  /** A part of the error text that users read. */
  message?: string;
  /** A part of the error text that owners read: what the server said. */
  words?: string;
  retryAfterMs?: number;
  /** Calls that reach the server. */
  requests?: number;
}

/** One way in which a server deviates from its API, or fails. */
export interface Case {
  name: string;
  kind: 'openai' | 'ollama';
  /** The answers to its calls; the last one answers all further calls. */
  answers: readonly UpstreamAnswer[];
  outcome: Outcome;
  /** A server that cannot stream: `stream: false` in its settings. */
  whole?: boolean;
}

export const HELLO = { text: 'Hello.', finish: 'stop' } satisfies Outcome;
export const LIST_CALL = { name: 'list_dir', args: { path: '.' } };

/** An event of an OpenAI-compatible stream. */
export const event = (value: unknown): string => `data: ${JSON.stringify(value)}\n\n`;
export const delta = (fields: unknown, finish: string | null = null): string =>
  event({ choices: [{ index: 0, delta: fields, finish_reason: finish }] });
export const DONE = 'data: [DONE]\n\n';
/** The proper end of a stream. */
export const STOP = [delta({}, 'stop'), DONE];

/** A case of an OpenAI-compatible server that sends these packets. */
export function openai(name: string, body: readonly (string | Uint8Array)[], outcome: Outcome): Case {
  return { name, kind: 'openai', answers: [{ body }], outcome };
}

/** A line of an Ollama stream. */
export const line = (value: unknown): string => `${JSON.stringify(value)}\n`;
export const message = (fields: unknown): string => line({ model: 'fake', message: fields, done: false });
export const LAST = line({
  model: 'fake',
  message: { role: 'assistant', content: '' },
  done: true,
  done_reason: 'stop',
});

/** A case of an Ollama that sends these packets. */
export function ollama(name: string, body: readonly (string | Uint8Array)[], outcome: Outcome): Case {
  return { name, kind: 'ollama', answers: [{ body }], outcome };
}

/** A text as tokens of this many characters, from both kinds. */
export function asText(name: string, text: string, size: number, outcome: Outcome): Case[] {
  const pieces = Array.from({ length: Math.ceil(text.length / size) }, (_, at) =>
    text.slice(at * size, (at + 1) * size),
  );
  return [
    openai(name, [...pieces.map((content) => delta({ content })), ...STOP], outcome),
    ollama(name, [...pieces.map((content) => message({ role: 'assistant', content })), LAST], outcome),
  ];
}

/** A refusal with a status and a body, for every call or only the first, after which the server answers. */
export function refusal(
  kind: Case['kind'],
  name: string,
  answer: {
    status: number;
    body: unknown;
    headers?: Record<string, string>;
    once?: boolean;
  },
  outcome: Outcome,
): Case {
  const { status, body, headers = {}, once = false } = answer;
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const refused = { status, headers: { 'content-type': 'application/json', ...headers }, body: [text] };
  const good =
    kind === 'openai' ? [delta({ content: 'Hello.' }), ...STOP] : [message({ content: 'Hello.' }), LAST];
  return { name, kind, answers: once ? [refused, { body: good }] : [refused], outcome };
}
