/** Copying texts. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { say } from '../texts.ts';

const SAID_MS = 1_600;

/**
 * Copies a text; rejects where the browser refuses. Pages over plain HTTP have no `navigator.clipboard`: there, the text is
 * selected in a field, inside the open dialog if there is one, because nothing else can be selected then.
 */
async function copyText(text: string): Promise<void> {
  if ('clipboard' in navigator) return await navigator.clipboard.writeText(text);
  const field = document.createElement('textarea');
  field.value = text;
  field.className = 'visually-hidden';
  (document.querySelector('dialog:modal') ?? document.body).append(field);
  field.select();
  const isCopied = document.execCommand('copy');
  field.remove();
  if (!isCopied) throw new DOMException('', 'NotAllowedError');
}

/** The button that copies a text, and says for a moment that it did. */
export function CopyButton({ text, label }: { text: string | (() => string); label: string }): JSX.Element {
  const [word, setWord] = useState(say('page.copy'));
  const flash = (outcome: string): void => {
    setWord(outcome);
    setTimeout(() => setWord(say('page.copy')), SAID_MS);
  };
  const copy = (): void =>
    void copyText(typeof text === 'string' ? text : text()).then(
      () => flash(say('page.copied')),
      () => flash(say('page.copy.refused')),
    );
  return (
    <button type="button" class="copy" aria-label={label} onClick={copy}>
      {word}
    </button>
  );
}
