/** Asks whether a turn is undone, once it is shown what goes back and what cannot. */
import type { JSX } from 'preact';
import type { WireUndo } from '../../wire.ts';
import { Dialog, showDialog } from '../parts/dialog.tsx';
import { say } from '../texts.ts';

/** Longest part of the question in the title, in UTF-16 units. */
const MAX_QUESTION = 80;

/** False when the dialog is declined or closed. */
export function confirmUndo(undo: WireUndo): Promise<boolean> {
  return new Promise((resolve) =>
    showDialog((close) => {
      const answer = (agrees: boolean): void => {
        close();
        resolve(agrees);
      };
      return <UndoDialog undo={undo} answer={answer} />;
    }),
  );
}

function UndoDialog({
  undo: { content, goesBack, stays },
  answer,
}: {
  undo: WireUndo;
  answer: (agrees: boolean) => void;
}): JSX.Element {
  const buttons = (
    <>
      <button type="button" onClick={() => answer(false)}>
        {say('page.undo.keep')}
      </button>
      <button type="button" class="danger" onClick={() => answer(true)}>
        {say('page.undo')}
      </button>
    </>
  );
  const title = say('page.undo.question', { question: content.slice(0, MAX_QUESTION).toWellFormed() });
  return (
    <Dialog id="undo" title={title} close={() => answer(false)} buttons={buttons}>
      <Things title={say('page.undo.back')} things={goesBack.map(({ text }) => text)} />
      <Things title={say('page.undo.stays')} things={stays.map(({ text }) => text)} />
      {goesBack.length + stays.length === 0 && <p>{say('page.undo.nothing_else')}</p>}
    </Dialog>
  );
}

function Things({ title, things }: { title: string; things: readonly string[] }): JSX.Element | null {
  if (things.length === 0) return null;
  return (
    <section aria-label={title}>
      <h3>{title}</h3>
      <ul class="undo-things">
        {[...new Set(things)].map((thing) => (
          <li key={thing}>{thing}</li>
        ))}
      </ul>
    </section>
  );
}
