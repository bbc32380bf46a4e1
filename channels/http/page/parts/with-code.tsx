/** Texts of which parts are code. */
import type { JSX } from 'preact';

/** A text, with what is between backticks as code. */
export function WithCode({ text }: { text: string }): JSX.Element {
  return <>{text.split('`').map((part, nth) => (nth % 2 === 0 ? part : <code key={nth}>{part}</code>))}</>;
}

/** A sentence from the schema of the settings, which begins small there, as one on its own; with what is code. */
export function Sentence({ text }: { text: string }): JSX.Element {
  return <WithCode text={text.slice(0, 1).toUpperCase() + text.slice(1)} />;
}
