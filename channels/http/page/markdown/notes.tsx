/** Footnotes of an answer: raised numbers that lead to a list of their texts, and back. */
import { createContext, type JSX } from 'preact';
import { useContext } from 'preact/hooks';
import { say } from '../texts.ts';
import type { BlockBody } from './nodes.ts';

/** Where the text of a footnote begins: `[^1]:` at the start of a line. */
const START = /(?:^|\n)\[\^(\d{1,3})\]:[ \t]*/g;

/** The footnotes that a text has: what their ids begin with, and their numbers. */
export const Notes = createContext<{ id: string; numbers: ReadonlySet<string> }>({
  id: '',
  numbers: new Set(),
});

/** A paragraph as what comes before its footnotes, and those that begin in its lines. */
export function notesIn(text: string): { lead: string; notes: { number: string; text: string }[] } {
  const starts = [...text.matchAll(START)];
  const notes = starts.map(({ index, 0: whole, 1: number = '' }, at) => ({
    number,
    text: text.slice(index + whole.length, starts[at + 1]?.index),
  }));
  return { lead: text.slice(0, starts[0]?.index), notes };
}

/** The numbers of the footnotes that begin in these blocks. */
export function noteNumbers(blocks: readonly BlockBody[]): string[] {
  return blocks.flatMap((block) => {
    if (block.type === 'paragraph') return notesIn(block.text).notes.map(({ number }) => number);
    if (block.type === 'quote') return noteNumbers(block.children);
    return block.type === 'list' ? block.items.flatMap(({ children }) => noteNumbers(children)) : [];
  });
}

/** A number in the text: a button where its footnote is there. One without a text, as models write for sources, stays as it is. */
export function NoteCall({ number, text }: { number: string; text: string }): JSX.Element {
  const { id, numbers } = useContext(Notes);
  return (
    <sup class="note-call" data-note={number}>
      {numbers.has(number) ? (
        <MoveButton
          to={`.notes li[data-note="${number}"]`}
          label={say('page.markdown.note', { number })}
          describedBy={`${id}-${number}`}
        >
          {number}
        </MoveButton>
      ) : (
        text
      )}
    </sup>
  );
}

/** The button from a footnote to the first number of it. */
export function BackButton({ number }: { number: string }): JSX.Element {
  return (
    <MoveButton to={`.note-call[data-note="${number}"] button`} label={say('page.markdown.note_back')}>
      ↩
    </MoveButton>
  );
}

interface MoveButtonProps {
  /** Selects a part of the answer. */
  to: string;
  label: string;
  describedBy?: string;
  children: string;
}

/** Moves the view and the focus. Not a link: its target would be a step of the page's history, where each is a chat. */
function MoveButton({ to, label, describedBy, children }: MoveButtonProps): JSX.Element {
  return (
    <button
      type="button"
      class="note-link"
      aria-label={label}
      aria-describedby={describedBy}
      onClick={({ currentTarget }) => {
        const target = currentTarget.closest('.md')?.querySelector<HTMLElement>(to);
        target?.scrollIntoView({ block: 'nearest' });
        target?.focus({ preventScroll: true });
      }}
    >
      {children}
    </button>
  );
}
