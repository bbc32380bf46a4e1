/** The button that copies a text, and says for a moment that it did. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { copyText } from '../dom.ts';
import { say } from '../texts.ts';

const SAID_MS = 1_600;

export function CopyButton({ text, label }: { text: string; label: string }): JSX.Element {
  const [word, setWord] = useState(say('page.copy'));
  const flash = (outcome: string): void => {
    setWord(outcome);
    setTimeout(() => setWord(say('page.copy')), SAID_MS);
  };
  const copy = (): void =>
    void copyText(text).then(
      () => flash(say('page.copied')),
      () => flash(say('page.copy.refused')),
    );
  return (
    <button type="button" class="copy" aria-label={label} onClick={copy}>
      {word}
    </button>
  );
}
