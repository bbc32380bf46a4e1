/** Footnotes of an answer: raised numbers that lead to a list of their texts, and back. */
import { h } from '../dom.ts';
import { say } from '../texts.ts';

/** Where the text of a footnote begins: `[^1]:` at the start of a line. */
const START = /(?:^|\n)\[\^(\d{1,3})\]:[ \t]*/g;

/** Answers whose footnotes are linked, counted: the ids of each are its own. */
let answers = 0;

/** A paragraph as what comes before its footnotes, and those that begin in its lines. */
export function notesIn(text: string): { lead: string; notes: { number: string; text: string }[] } {
  const starts = [...text.matchAll(START)];
  const notes = starts.map(({ index, 0: whole, 1: number = '' }, at) => ({
    number,
    text: text.slice(index + whole.length, starts[at + 1]?.index),
  }));
  return { lead: text.slice(0, starts[0]?.index), notes };
}

/** The number of a footnote in the text. */
export function drawNoteCall(number: string, text: string) {
  return h('sup', { class: 'note-call', 'data-note': number }, text);
}

/**
 * Makes buttons of the numbers whose footnotes are there, and links these back to the first number of theirs. A number
 * without a text, as models write for sources, stays as it is. (Not links: their targets would be steps of the page's
 * history, where each is a chat.)
 */
export function linkNotes(answer: HTMLElement) {
  for (const note of answer.querySelectorAll<HTMLElement>('.notes li:not([id])')) {
    const number = note.dataset['note'] ?? '';
    answer.dataset['notes'] ??= `note-${(answers += 1)}`;
    note.id = `${answer.dataset['notes']}-${number}`;
    note.append(' ', moveButton(answer, `.note-call[data-note="${number}"] button`, '↩'));
  }
  for (const call of answer.querySelectorAll<HTMLElement>('.note-call:not(:has(button))')) {
    const number = call.dataset['note'] ?? '';
    const note = answer.querySelector(`.notes li[data-note="${number}"]`);
    if (note === null) continue;
    const button = moveButton(answer, `.notes li[data-note="${number}"]`, number);
    button.setAttribute('aria-describedby', note.id);
    call.replaceChildren(button);
  }
}

/** A button that moves the view and the focus to another part of the answer. */
function moveButton(answer: HTMLElement, to: string, text: string) {
  const label = text === '↩' ? say('page.markdown.note_back') : say('page.markdown.note', { number: text });
  const button = h('button', { type: 'button', class: 'note-link', 'aria-label': label }, text);
  button.addEventListener('click', () => {
    const target = answer.querySelector<HTMLElement>(to);
    target?.scrollIntoView({ block: 'nearest' });
    target?.focus({ preventScroll: true });
  });
  return button;
}
