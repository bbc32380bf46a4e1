/** The context window: its size, the budget of a prompt, what is dropped to fit it, and token estimates that are calibrated. */
import { GatewayError } from '../../protocol/errors.ts';
import { clipMiddle } from '../../lib/text.ts';
import type { Profile } from '../../protocol/agent/profile.ts';
import type { ChatMessage } from '../../protocol/agent/provider.ts';
import type { PromptParts } from '../../protocol/store/traces.ts';
import { textRef } from '../../protocol/texts/say.ts';
import type { Group } from './history.ts';

/** Window of a model when no profile asks for one, in tokens: large windows fill a home machine's memory. */
export const SAFE_WINDOW = 16_384;
/** Tokens kept free for the answer when the profile names no `maxTokens`, and never more than a quarter of the window. */
const ANSWER_RESERVE = 4_096;
/** How much of a prompt that the server refused as too long is sent again, at most (B-11). */
export const OVERFLOW_SHRINK = 0.6;
/** Tokens that a note has besides its text: its marks, and what the system prompt says about them (`src/providers/shape.ts`). */
export const NOTE_OVERHEAD = 90;
/** Shortest piece of a tool result that is still worth reading, in UTF-16 units. */
const MIN_RESULT_CHARS = 200;

/** What a server says about the window of a model, in tokens. */
export interface ReportedWindow {
  contextWindow: number;
  /** The server does not say: it is the smallest that such models have. */
  windowGuessed?: boolean | undefined;
}

/**
 * The window that every call to `model` requests, so that the server never reloads it: the largest `contextWindow` (else
 * `usual`) of the profiles that may use it, at most what the server reports for the model (B-30).
 */
export function modelWindow(
  model: string,
  can: ReportedWindow,
  profiles: readonly Profile[],
  usual = SAFE_WINDOW,
): number {
  const sizes = profiles
    .filter((profile) => profile.model === undefined || untagged(profile.model) === untagged(model))
    .map((profile) => profile.contextWindow ?? usual);
  const window = Math.max(...sizes, 0) || usual;
  return can.windowGuessed === true ? window : Math.min(can.contextWindow, window);
}

/** `qwen3` and `qwen3:latest` are one model. */
function untagged(model: string): string {
  return model.replace(/:latest$/, '');
}

/** The part of a model's window that is this profile's, in tokens. */
export function profileWindow(window: number, { contextWindow }: Profile, usual = SAFE_WINDOW): number {
  return Math.min(window, contextWindow ?? usual);
}

/** The part of a profile's window that its prompts may fill (B-27), in tokens; negative when there is none. */
export function inputBudget(window: number, { maxTokens }: Profile, toolTokens: number): number {
  const reserve = maxTokens ?? Math.min(ANSWER_RESERVE, Math.floor(window / 4));
  return window - reserve - toolTokens;
}

/** Size of a context, in estimated tokens and in rows. */
export interface ContextSize {
  tokens: number;
  rows: number;
}

/** The parts of a prompt. Groups are oldest first. */
export interface Prompt {
  system: { content: string; tokens: number };
  /** Earlier turns. */
  history: readonly Group[];
  /** The message being answered; always kept. */
  current: Group;
  /** Answers and results of this turn so far. */
  steps: readonly Group[];
  /** The gateway's own voice at the end, sent between marks in the last message; never stored. */
  note?: { content: string; tokens: number } | undefined;
}

/** The messages of a call, and their estimated tokens: in all, and by part. */
export interface FittedPrompt {
  messages: ChatMessage[];
  tokens: number;
  parts: Omit<PromptParts, 'tools'>;
}

/**
 * The messages of a call that fit `budget` (estimated tokens). Always kept: the system prompt, the current message, the
 * note and the newest step, whose tool results are clipped when they alone are too long. Then come the newest steps, then
 * the newest history, in whole groups (B-28). Throws `GatewayError('window_too_small' | 'message_too_large')`.
 */
export function fitPrompt(prompt: Prompt, budget: number): FittedPrompt {
  const note = prompt.note === undefined ? 0 : prompt.note.tokens + NOTE_OVERHEAD;
  const fixed = prompt.system.tokens + note;
  if (budget - fixed <= 0) throw windowTooSmall();
  let room = budget - fixed - prompt.current.tokens;
  if (room < 0) throw messageTooLarge(prompt.current.tokens, budget - fixed);

  const last = prompt.steps.at(-1);
  const newest = last === undefined ? [] : [fitStep(last, room)];
  room -= tokensOf(newest);
  const older = prompt.steps.slice(0, -1);
  const steps = newestThatFit(older, room);
  room -= tokensOf(steps);
  const history = steps.length === older.length ? historyThatFits(prompt.history, room) : [];
  room -= tokensOf(history);

  const groups = [...history, prompt.current, ...steps, ...newest];
  const messages: ChatMessage[] = [];
  if (prompt.system.content !== '') messages.push({ role: 'system', content: prompt.system.content });
  for (const group of groups) messages.push(...group.messages);
  if (prompt.note !== undefined) messages.push({ role: 'system', content: prompt.note.content });
  const parts = {
    system: prompt.system.tokens,
    history: tokensOf(history),
    message: prompt.current.tokens,
    steps: tokensOf(steps) + tokensOf(newest),
    note,
  };
  return { messages, tokens: budget - room, parts };
}

function tokensOf(groups: readonly Group[]): number {
  return groups.reduce((sum, group) => sum + group.tokens, 0);
}

/** The newest turns, after the summary of those before them: without it, the model would have forgotten these. */
function historyThatFits(history: readonly Group[], budget: number): Group[] {
  const [first, ...rest] = history;
  if (first?.isSummary !== true || first.tokens > budget) return newestThatFit(history, budget);
  return [first, ...newestThatFit(rest, budget - first.tokens)];
}

function newestThatFit(groups: readonly Group[], budget: number): Group[] {
  let room = budget;
  let from = groups.length;
  while (from > 0 && groups[from - 1]!.tokens <= room) {
    from -= 1;
    room -= groups[from]!.tokens;
  }
  return groups.slice(from);
}

/** A step that fits, its tool results clipped to equal shares where needed. */
function fitStep(step: Group, budget: number): Group {
  if (step.tokens <= budget) return step;
  const results = step.messages.filter((message) => message.role === 'tool');
  const long = results.reduce((sum, message) => sum + Buffer.byteLength(message.content), 0);
  const over = (step.tokens - budget) * 3;
  const keep = long === 0 ? 0 : Math.max(0, (long - over) / long);
  const messages = step.messages.map((message) => {
    if (message.role !== 'tool') return message;
    const chars = Math.max(MIN_RESULT_CHARS, Math.floor(message.content.length * keep * 0.9));
    return { ...message, content: clipMiddle(message.content, chars) };
  });
  const bytes = messages.reduce(
    (sum, { role, content }) => sum + (role === 'tool' ? Buffer.byteLength(content) : 0),
    0,
  );
  const tokens = step.tokens - Math.floor((long - bytes) / 3);
  if (tokens > budget) throw windowTooSmall();
  return { messages, tokens };
}

function windowTooSmall(): GatewayError {
  return new GatewayError('window_too_small', textRef('failure.window_too_small'));
}

function messageTooLarge(tokens: number, room: number): GatewayError {
  const values = { tokens, room: Math.max(0, room) };
  return new GatewayError('message_too_large', textRef('failure.message_too_large', values));
}

/** Bounds of the scale: a wrong report of a server must not empty or overfill the window. */
const SCALE_MIN = 0.6;
const SCALE_MAX = 2;
/** Smaller prompts are mostly the server's own template, so nothing is learned from them. */
const SCALE_LEARNS_FROM = 200;
/** Models whose scale is kept; the least recently updated one is dropped first. */
export const SCALE_MODELS = 100;

/** Ratio of a model's real tokens to the estimate. */
export interface TokenScale {
  /** Real tokens per estimated token. */
  of(model: string): number;
  learn(model: string, estimated: number, reported: number): void;
}

/** Learns from the prompt sizes that the server reports: upwards at once, because overflow costs a call, downwards slowly. */
export function createTokenScale(): TokenScale {
  const scales = new Map<string, number>();
  return {
    of: (model) => scales.get(model) ?? 1,
    learn(model, estimated, reported) {
      if (estimated < SCALE_LEARNS_FROM || reported <= 0) return;
      const ratio = Math.min(SCALE_MAX, Math.max(SCALE_MIN, reported / estimated));
      const old = scales.get(model) ?? 1;
      scales.delete(model);
      scales.set(model, ratio > old ? ratio : old * 0.8 + ratio * 0.2);
      if (scales.size > SCALE_MODELS) scales.delete(scales.keys().next().value ?? model);
    },
  };
}

/** Models whose grown window is remembered; one more forgets the one that grew first. */
export const MAX_GROWN_MODELS = 100;

/** Models that run elsewhere, by the names that Ollama gives them: a large window takes none of this machine's memory. */
const CLOUD = /[:-]cloud$/;

/**
 * What every model has of its window when no profile asks for a size: 16,384 tokens, more once a prompt needed more. A
 * window never shrinks again, so that the server does not keep reloading the model.
 */
export class ModelWindows {
  readonly #grown = new Map<string, number>();

  /** The window of a profile that names none, in tokens. */
  of(model: string, can: ReportedWindow): number {
    if (CLOUD.test(model) && can.windowGuessed !== true) return can.contextWindow;
    return this.#grown.get(model) ?? SAFE_WINDOW;
  }

  /**
   * Doubles the window within what the server reports. False when it is as large as it can be, or when the profile names
   * its own.
   */
  grow(
    model: string,
    can: ReportedWindow,
    { contextWindow }: { contextWindow?: number | undefined },
  ): boolean {
    const now = this.of(model, can);
    if (contextWindow !== undefined || can.windowGuessed === true) return false;
    if (can.contextWindow <= now) return false;
    this.#grown.set(model, Math.min(now * 2, can.contextWindow));
    if (this.#grown.size > MAX_GROWN_MODELS) this.#grown.delete(this.#grown.keys().next().value ?? model);
    return true;
  }
}
