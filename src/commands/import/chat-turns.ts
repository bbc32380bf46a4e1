/** Makes turns of the messages of a conversation: what a person wrote, and what was answered until they wrote again. */
import type { ForeignTurn } from '../../store/index.ts';
import { clipMiddle } from '../../lib/text.ts';
import { MAX_CHAT_CHARS, MAX_CHAT_TURNS, MAX_MESSAGE_CHARS } from './items.ts';

/** A message as programs store it. */
export interface ForeignMessage {
  role: 'user' | 'assistant';
  text: string;
  /** Undefined when the program stored none. */
  at: Date | undefined;
  model?: string | undefined;
}

/** Collects the messages of one conversation, oldest first. */
export interface TurnCollector {
  add(message: ForeignMessage): void;
  /** The newest turns, and the number of older ones that are left out. */
  end(): { turns: ForeignTurn[]; olderTurns: number };
}

/** Starts a conversation; `startedAt` is for messages without a time. */
export function collectTurns(startedAt: Date): TurnCollector {
  const turns: ForeignTurn[] = [];
  let chars = 0;
  let olderTurns = 0;
  const isTooMuch = (): boolean =>
    turns.length > MAX_CHAT_TURNS || (chars > MAX_CHAT_CHARS && turns.length > 1);
  const dropOldest = (): void => {
    const [oldest] = turns.splice(0, 1);
    chars -= sizeOf(oldest);
    olderTurns += 1;
  };
  return {
    add({ role, text, at, model }) {
      const content = clipMiddle(text.trim(), MAX_MESSAGE_CHARS);
      if (content === '') return;
      const last = turns.at(-1);
      const time = at ?? last?.at ?? startedAt;
      if (role === 'user' && (last === undefined || last.answer !== undefined)) {
        turns.push({ question: content, at: time });
      } else if (last === undefined) {
        turns.push({ question: '', answer: content, at: time, model });
      } else {
        chars -= sizeOf(last);
        // A person or a program that wrote several messages in a row.
        if (role === 'user') last.question = joined(last.question, content);
        else {
          last.answer = joined(last.answer ?? '', content);
          last.model = model ?? last.model;
        }
      }
      chars += sizeOf(turns.at(-1));
      while (isTooMuch()) dropOldest();
    },
    end: () => ({ turns, olderTurns }),
  };
}

function joined(text: string, more: string): string {
  return text === '' ? more : clipMiddle(`${text}\n\n${more}`, MAX_MESSAGE_CHARS);
}

function sizeOf(turn: ForeignTurn | undefined): number {
  return turn === undefined ? 0 : turn.question.length + (turn.answer?.length ?? 0);
}

/** The text of a message's content: a string, or the texts among its parts. Never throws. */
export function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content
    .flatMap((part: unknown) => {
      if (typeof part === 'string') return [part];
      if (typeof part !== 'object' || part === null || !('text' in part)) return [];
      const isText =
        !('type' in part) ||
        part.type === 'text' ||
        part.type === 'input_text' ||
        part.type === 'output_text';
      return isText && typeof part.text === 'string' ? [part.text] : [];
    })
    .join('\n\n');
}

/** A time as programs store it: ISO text, or epoch seconds, milliseconds or nanoseconds; undefined for anything else. Never throws. */
export function timeIn(value: unknown): Date | undefined {
  if (typeof value === 'string') return validTime(new Date(value));
  if (typeof value !== 'number' || !Number.isFinite(value)) return undefined;
  return validTime(new Date(value > 1e17 ? value / 1e6 : value > 1e11 ? value : value * 1000));
}

/** Years that both JavaScript and Postgres understand, and that a clock may have shown. */
function validTime(time: Date): Date | undefined {
  const year = time.getUTCFullYear();
  return year >= 2000 && year < 2200 ? time : undefined;
}
