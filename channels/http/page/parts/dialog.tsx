/** The one dialog of the page: a native `dialog` that is there while it is open. */
import { type ComponentChildren, type JSX, render } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { say } from '../texts.ts';

interface DialogProps {
  id?: string;
  class?: string;
  title: string;
  /** Called when the dialog was closed, by its buttons or with Escape. */
  close: () => void;
  /** The buttons of its last line; without them, one that closes it. */
  buttons?: ComponentChildren;
  children?: ComponentChildren;
}

/** A modal dialog with a title and a row of buttons. */
export function Dialog({ id, class: kind = '', title, close, buttons, children }: DialogProps): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} id={id} class={`confirm ${kind}`} aria-label={title} onClose={close}>
      <h2>{title}</h2>
      {children}
      <div class="confirm-buttons">
        {buttons ?? (
          <button type="button" onClick={() => dialog.current?.close()}>
            {say('page.close')}
          </button>
        )}
      </div>
    </dialog>
  );
}

/** Shows a dialog until it calls `close`; it is drawn again whenever a signal that it reads has changed. */
export function showDialog(dialogOf: (close: () => void) => JSX.Element): void {
  const place = document.createElement('div');
  document.body.append(place);
  const close = (): void => {
    // Closed first: the focus goes back to where it was.
    place.querySelector('dialog')?.close();
    place.remove();
    // Not at once: an effect of the dialog may close it while it is drawn.
    queueMicrotask(() => render(null, place));
  };
  const Shown = (): JSX.Element => dialogOf(close);
  render(<Shown />, place);
}
