/**
 * JSON at the beginning of an answer and fences: each may be a tool call, which the first characters usually rule out.
 */
import { createJsonScan } from '../answers/tool-calls.ts';
import type { OfferedTools } from '../answers/tool-calls.ts';
import { beginsCall, readBareCalls } from './text-calls.ts';
import type { TextCall } from './text-calls.ts';

/** A text that may be calls. */
export interface Candidate {
  /** Backticks of a fence, which counts only when nothing follows it; 0 for bare JSON. */
  readonly ticks: number;
  /**
   * Takes a character: the candidate is still `open`, complete (`closed`), ordinary `text`, or the beginning of
   * ordinary `code`. Not called again after any but the first.
   */
  addCharacter(character: string): 'open' | 'closed' | 'text' | 'code';
  /** Everything taken so far. */
  raw(): string;
  /** The calls in it, if it is complete and consists of nothing else. */
  calls(offered: OfferedTools): TextCall[] | undefined;
}

/** Bare JSON in the answer (Llama 3.1). */
export function jsonCandidate(): Candidate {
  const closes = createJsonScan();
  const pieces: string[] = [];
  let isCall = false;
  return {
    ticks: 0,
    addCharacter(character) {
      pieces.push(character);
      if (closes(character.charCodeAt(0))) return isCall ? 'closed' : 'text';
      const begin = isCall ? 'yes' : beginsCall(pieces.join(''));
      isCall = begin === 'yes';
      return begin === 'no' ? 'text' : 'open';
    },
    raw: () => pieces.join(''),
    calls: (offered) => readBareCalls(pieces.join(''), offered),
  };
}

const LANGUAGES = new Set(['', 'json', 'tool_call', 'tool_code', 'tool', 'function_call']);
const MAX_LANGUAGE_CHARS = 16;

/** A fence of this many backticks, which have already been read. */
export function fenceCandidate(ticks: number): Candidate {
  const pieces: string[] = ['`'.repeat(ticks)];
  let phase: 'language' | 'begin' | 'body' = 'language';
  let begin = '';
  let run = 0;
  const endLanguage = (): boolean => {
    const known = LANGUAGES.has(begin.trim());
    phase = 'begin';
    begin = '';
    return known;
  };
  return {
    ticks,
    addCharacter(character) {
      pieces.push(character);
      if (phase === 'body') {
        run = character === '`' ? run + 1 : 0;
        return run === ticks ? 'closed' : 'open';
      }
      if (phase === 'language' && character === '\n') return endLanguage() ? 'open' : 'code';
      begin += character;
      if (phase === 'language') return begin.length > MAX_LANGUAGE_CHARS ? 'code' : 'open';
      const found = beginsCall(begin);
      if (found === 'yes') phase = 'body';
      return found === 'no' ? 'code' : 'open';
    },
    raw: () => pieces.join(''),
    calls(offered) {
      if (phase !== 'body') return undefined;
      const [, ...lines] = pieces.join('').split('\n');
      return readBareCalls(lines.join('\n').replace(/`{3,64}\s{0,64}$/, ''), offered);
    },
  };
}
