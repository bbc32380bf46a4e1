/** Texts of which parts are code. */
import type { JSX } from 'preact';

/** A text, with what is between backticks as code. */
export function WithCode({ text }: { text: string }): JSX.Element {
  return <>{text.split('`').map((part, nth) => (nth % 2 === 0 ? part : <code key={nth}>{part}</code>))}</>;
}
