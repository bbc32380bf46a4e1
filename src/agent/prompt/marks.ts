/** Marks around text of others, so that the model can tell it from what its person and the gateway say. */
import {
  betweenMarks,
  newMarkCode,
  NO_INSTRUCTION,
  stableMarkCode,
  titleOf,
  withoutMarks,
} from '../../protocol/sessions/marked-text.ts';

/**
 * The text between two lines with a code that is made after it: a page cannot close its own quotation and continue as
 * someone else. The result is stored, so that the history keeps its bytes and the model server its cache.
 */
export function markText(title: string, text: string): string {
  return betweenMarks(newMarkCode(), title, text);
}

/** Like `markText`, for text that is information only. `from` names its source. */
export function markUntrusted(from: string, text: string): string {
  return markText(`text of others, from ${titleOf(from)}. ${NO_INSTRUCTION}`, text);
}

/** Like `markUntrusted`, with the same marks for the same text while this process runs: for prompts that are not stored. */
export function markUntrustedStably(from: string, text: string): string {
  return betweenMarks(stableMarkCode(text), `text of others, from ${titleOf(from)}. ${NO_INSTRUCTION}`, text);
}

/** What the author of a user's row typed: without marks, and without what it quotes. */
export function typedText({ content, typed }: { content: string; typed?: string | undefined }): string {
  return typed ?? withoutMarks(content);
}
