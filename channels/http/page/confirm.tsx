/** The questions of the page: the confirmation before something happens that cannot be undone, and one for a short text. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { Dialog, showDialog } from './parts/dialog.tsx';
import { say } from './texts.ts';

/** Asks whether to go on, by default with deleting; false when the dialog is declined or closed. `word` is on the button that agrees. */
export async function confirmDelete(question: string, word: string = say('page.delete')): Promise<boolean> {
  return (await ask((answer) => <Confirm question={question} word={word} answer={answer} />)) !== null;
}

/** Asks for a short text that begins as `text`, of `most` characters; null when the dialog is declined or closed. `hint` says what an empty one does. */
export async function askText(
  question: string,
  text: string,
  { most = 200, hint }: { most?: number; hint?: string } = {},
): Promise<string | null> {
  return await ask((answer) => <AskText {...{ question, text, most, hint, answer }} />);
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

/** Declines; and agrees, or sends the form with this id. */
function Buttons({ answer, word, form }: { answer: Answer; word: string; form?: string }): JSX.Element {
  return (
    <>
      <button type="button" onClick={() => answer(null)}>
        {say('page.cancel')}
      </button>
      <button
        type={form === undefined ? 'button' : 'submit'}
        form={form}
        class={form === undefined ? 'danger' : 'primary'}
        onClick={form === undefined ? () => answer('') : undefined}
      >
        {word}
      </button>
    </>
  );
}

interface QuestionProps {
  question: string;
  answer: Answer;
}

function Confirm({ question, word, answer }: QuestionProps & { word: string }): JSX.Element {
  const buttons = <Buttons answer={answer} word={word} />;
  return <Dialog id="confirm" title={question} close={() => answer(null)} buttons={buttons} />;
}

function AskText({
  question,
  text,
  most,
  hint,
  answer,
}: QuestionProps & { text: string; most: number; hint: string | undefined }): JSX.Element {
  const [value, setValue] = useState(text);
  const buttons = <Buttons answer={answer} word={say('page.save')} form="ask-form" />;
  return (
    <Dialog id="ask" title={question} close={() => answer(null)} buttons={buttons}>
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
          placeholder={hint}
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
