/** Fences, and calls without marks at the beginning of an answer; their first characters usually rule them out. */
import { createBracketScan, type OfferedTools, type TextCall } from '../answers/tool-calls.ts';
import { beginsCall, beginsCode, readBareCalls, readCodeCalls, readNamedCall } from './text-calls.ts';

/** A text that may be calls. */
export interface Candidate {
  /** Backticks of a fence; 0 for anything else. */
  readonly ticks: number;
  /** It counts only when nothing follows it. */
  readonly isLast: boolean;
  /**
   * Takes a character: the candidate is still `open`, complete (`closed`), ordinary `text`, or the beginning of `code`.
   * Called only while it is open.
   */
  addCharacter(character: string): 'open' | 'closed' | 'text' | 'code';
  /** Everything taken so far. */
  raw(): string;
  /** The calls in it, if it is complete and consists of nothing else. */
  calls(offered: OfferedTools): TextCall[] | undefined;
}

/** Whether a call without marks may begin with this character: with a bracket, or with the name of a tool. */
export function beginsBareCall(character: string, offered: OfferedTools): boolean {
  return '{['.includes(character) || beginsCode(character, offered) === 'open';
}

/** A bare call in the answer: JSON (Llama 3.1), code (Llama 3.2), a name and JSON (GLM-4). */
export function bareCandidate(offered: OfferedTools): Candidate {
  const pieces: string[] = [];
  const closesJson = createBracketScan();
  const closesCode = createBracketScan(`"'`, '([{', ')]}');
  let kind: 'json' | 'code' | 'named' | 'open' = 'open';
  const begin = (text: string): typeof kind | 'no' => {
    const asJson = beginsCall(text);
    if (asJson === 'yes') return 'json';
    const asCode = beginsCode(text, offered);
    return asCode === 'no' ? asJson : asCode;
  };
  return {
    ticks: 0,
    get isLast() {
      return kind !== 'json';
    },
    addCharacter(character) {
      pieces.push(character);
      const [endsJson, endsCode] = [closesJson(character), closesCode(character)];
      if (kind === 'open') {
        const verdict = begin(pieces.join(''));
        if (verdict === 'no' || endsJson) return 'text';
        kind = verdict;
      }
      return (kind === 'code' ? endsCode : endsJson) ? 'closed' : 'open';
    },
    raw: () => pieces.join(''),
    calls: (tools) => READERS[kind](pieces.join(''), tools),
  };
}

const READERS = {
  json: readBareCalls,
  code: readCodeCalls,
  named: readNamedCall,
  open: (): undefined => undefined,
};

const LANGUAGES = new Set(['', 'json', 'tool_call', 'tool_code', 'tool', 'function_call']);
/** Where code is a call, as Gemma 3 writes them. */
const CODE_LANGUAGES = new Set(['tool_call', 'tool_code', 'tool', 'function_call']);
const MAX_LANGUAGE_CHARS = 16;

/** A fence of this many backticks, which have already been read. */
export function fenceCandidate(ticks: number, offered: OfferedTools): Candidate {
  const pieces: string[] = ['`'.repeat(ticks)];
  let phase: 'language' | 'begin' | 'json' | 'code' = 'language';
  let isCode = false;
  let begin = '';
  let run = 0;
  const endLanguage = (): boolean => {
    const language = begin.trim();
    phase = 'begin';
    begin = '';
    isCode = CODE_LANGUAGES.has(language);
    return LANGUAGES.has(language);
  };
  const endBegin = (): boolean => {
    if (beginsCall(begin) === 'yes') phase = 'json';
    else if (isCode && beginsCode(begin.trimStart(), offered) === 'code') phase = 'code';
    else if (beginsCall(begin) === 'no') return isCode && beginsCode(begin.trimStart(), offered) === 'open';
    return true;
  };
  return {
    ticks,
    isLast: true,
    addCharacter(character) {
      pieces.push(character);
      if (phase === 'json' || phase === 'code') {
        run = character === '`' ? run + 1 : 0;
        return run === ticks ? 'closed' : 'open';
      }
      if (phase === 'language' && character === '\n') return endLanguage() ? 'open' : 'code';
      begin += character;
      if (phase === 'language') return begin.length > MAX_LANGUAGE_CHARS ? 'code' : 'open';
      return endBegin() ? 'open' : 'code';
    },
    raw: () => pieces.join(''),
    calls(tools) {
      const [, ...lines] = pieces.join('').split('\n');
      const body = lines.join('\n').replace(/`{3,64}\s{0,64}$/, '');
      if (phase === 'json') return readBareCalls(body, tools);
      return phase === 'code' ? readCodeCalls(body, tools) : undefined;
    },
  };
}
