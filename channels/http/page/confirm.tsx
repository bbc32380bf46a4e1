/** The questions of the page: the confirmation before something happens that cannot be undone, and one for a short text. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { Dialog, showDialog } from './parts/dialog.tsx';
import { say } from './texts.ts';

/** Asks whether to go on, by default with deleting; false when the dialog is declined or closed. `word` is on the button that agrees. */
export async function confirmDelete(question: string, word: string = say('page.delete')): Promise<boolean> {
  return (await ask((answer) => <Confirm question={question} word={word} answer={answer} />)) !== null;
}

/** Asks for a short text that begins as `text`, of `most` characters; null when the dialog is declined or closed. */
export async function askText(question: string, text: string, most = 200): Promise<string | null> {
  return await ask((answer) => <AskText question={question} text={text} most={most} answer={answer} />);
}

type Answer = (text: string | null) => void;

function ask(dialogOf: (answer: Answer) => JSX.Element): Promise<string | null> {
  return new Promise((resolve) =>
    showDialog((close) =>
      dialogOf((text) => {
        close();
        resolve(text);
      }),
    ),
  );
}

function Confirm({
  question,
  word,
  answer,
}: {
  question: string;
  word: string;
  answer: Answer;
}): JSX.Element {
  return (
    <Dialog
      id="confirm"
      title={question}
      close={() => answer(null)}
      buttons={
        <>
          <button type="button" onClick={() => answer(null)}>
            {say('page.cancel')}
          </button>
          <button type="button" class="danger" onClick={() => answer('')}>
            {word}
          </button>
        </>
      }
    />
  );
}

function AskText({
  question,
  text,
  most,
  answer,
}: {
  question: string;
  text: string;
  most: number;
  answer: Answer;
}): JSX.Element {
  const [value, setValue] = useState(text);
  return (
    <Dialog
      id="ask"
      title={question}
      close={() => answer(null)}
      buttons={
        <>
          <button type="button" onClick={() => answer(null)}>
            {say('page.cancel')}
          </button>
          <button type="submit" form="ask-form" class="primary">
            {say('page.save')}
          </button>
        </>
      }
    >
      <form
        id="ask-form"
        onSubmit={(event) => {
          event.preventDefault();
          answer(value);
        }}
      >
        <input
          id="ask-text"
          type="text"
          aria-label={question}
          maxlength={most}
          autocomplete="off"
          value={value}
          onInput={({ currentTarget }) => setValue(currentTarget.value)}
          onFocus={({ currentTarget }) => currentTarget.select()}
        />
      </form>
    </Dialog>
  );
}
