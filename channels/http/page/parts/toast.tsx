/** Short notes at the edge of the page, each once and for a while; one may offer to take something back. */
import { signal } from '@preact/signals';
import { type JSX, render } from 'preact';
import { say } from '../texts.ts';

const TOAST_MS = 6_000;
/** Notes that offer something stay longer. */
const UNDO_MS = 10_000;

interface Toast {
  text: string;
  isError: boolean;
  undo: (() => void) | undefined;
}

const toasts = signal<readonly Toast[]>([]);
/** When the note of a text goes. */
const timers = new Map<string, ReturnType<typeof setTimeout>>();

/** Shows a note; the same text is shown once, for as long as the newest of them. `undo` gets a button. */
export function toast(
  text: string,
  { isError = false, undo }: { isError?: boolean; undo?: () => void } = {},
): void {
  if (timers.size === 0) render(<Toasts />, document.getElementById('toasts')!);
  clearTimeout(timers.get(text));
  const others = toasts.value.filter((one) => one.text !== text);
  toasts.value = [...others, { text, isError, undo }];
  timers.set(
    text,
    setTimeout(() => remove(text), undo === undefined ? TOAST_MS : UNDO_MS),
  );
}

function remove(text: string): void {
  clearTimeout(timers.get(text));
  timers.delete(text);
  toasts.value = toasts.value.filter((one) => one.text !== text);
}

function Toasts(): JSX.Element {
  return (
    <>
      {toasts.value.map(({ text, isError, undo }) => (
        <p key={text} class={`toast${isError ? ' toast-error' : ''}`}>
          {text}
          {undo && (
            <button
              type="button"
              class="text-button"
              onClick={() => {
                remove(text);
                undo();
              }}
            >
              {say('page.undo')}
            </button>
          )}
        </p>
      ))}
    </>
  );
}
