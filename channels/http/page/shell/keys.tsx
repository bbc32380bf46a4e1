/** The list of keys, which `?` shows. */
import type { JSX } from 'preact';
import { Dialog, showDialog } from '../parts/dialog.tsx';
import { say } from '../texts.ts';

const KEYS: [key: string, does: string][] = [
  ['Enter', say('page.keys.send')],
  ['Shift + Enter', say('page.keys.line')],
  ['/', say('page.keys.commands')],
  ['Escape', say('page.keys.escape')],
  ['?', say('page.keys.show')],
];

/** Opens the list. */
export function showKeys(): void {
  showDialog((close) => <Keys close={close} />);
}

function Keys({ close }: { close: () => void }): JSX.Element {
  return (
    <Dialog id="keys" title={say('page.keys')} close={close}>
      <dl class="keys-list">
        {KEYS.map(([key, does]) => (
          <div>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}

/** Opens the list with `?`, except where text is being typed. */
export function listenForKeys(): void {
  addEventListener('keydown', (event) => {
    const { target } = event;
    const isWriting =
      target instanceof HTMLElement && target.matches('input, textarea, select, [contenteditable]');
    // An empty message field is where the focus nearly always is.
    const isEmptyDraft =
      target instanceof HTMLTextAreaElement && target.id === 'draft' && target.value === '';
    if (event.key !== '?' || (isWriting && !isEmptyDraft) || document.querySelector('dialog[open]')) return;
    event.preventDefault();
    showKeys();
  });
}
