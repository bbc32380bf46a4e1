/** Characters that a server cut in two are put together again, wherever its chunks end. */
import type { ChatChunk } from '../../contracts/model/provider.ts';

/** Text of an answer: what is read, or what is thought. */
type TextChunk = Extract<ChatChunk, { delta: string }>;

const REPLACEMENT = '\uFFFD';

/**
 * Makes the joiner of one answer. It holds back the first half of a character until the next text of the same kind; a
 * half that stays alone becomes U+FFFD. Nearly all chunks pass unchanged.
 */
export function createCharacterJoiner(): (chunks: readonly ChatChunk[]) => readonly ChatChunk[] {
  let half = '';
  let kind: TextChunk['type'] = 'text';

  const join = (chunk: ChatChunk): ChatChunk[] => {
    const isSame = isText(chunk) && chunk.type === kind;
    const lone: ChatChunk[] = half === '' || isSame ? [] : [{ type: kind, delta: REPLACEMENT }];
    const before = isSame ? half : '';
    half = '';
    if (!isText(chunk)) return [...lone, chunk];
    kind = chunk.type;
    const text = before + chunk.delta;
    half = endsInHalf(text) ? text.slice(-1) : '';
    const delta = (half === '' ? text : text.slice(0, -1)).toWellFormed();
    return delta === '' ? lone : [...lone, { ...chunk, delta }];
  };
  return (chunks) => (half === '' && chunks.every(isWhole) ? chunks : chunks.flatMap(join));
}

function isText(chunk: ChatChunk): chunk is TextChunk {
  return chunk.type === 'text' || chunk.type === 'thinking';
}

function isWhole(chunk: ChatChunk): boolean {
  return !isText(chunk) || chunk.delta.isWellFormed();
}

/** True for a text whose last unit is the first half of a character. */
function endsInHalf(text: string): boolean {
  const last = text.charCodeAt(text.length - 1);
  return last >= 0xd800 && last <= 0xdbff;
}
