/** The arguments of a call as fields: it is approved with what a person makes of them. */
import type { JSX } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import {
  callFields,
  problemsByArgument,
  readCallFields,
} from '../../../../../src/protocol/isomorphic/call-fields.js';
import { ApiError, type Approval } from '../../api.ts';
import { messageOf } from '../../failures/in-place.ts';
import { say } from '../../texts.ts';
import { argumentLabel, visible } from './call-arguments.tsx';

/** Most lines of a field at once, in rows; a longer text scrolls. */
const MAX_ROWS = 12;

/** The arguments, if they can be edited: those of a call that has any, by their names. */
export function editableArgs(args: Approval['args']): Record<string, unknown> | undefined {
  if (typeof args !== 'object' || args === null || Array.isArray(args)) return undefined;
  return Object.keys(args).length === 0 ? undefined : { ...args };
}

interface EditProps {
  args: Record<string, unknown>;
  disabled: boolean;
  /** Approves with these arguments; undefined = with those of the call. Rejects with an `ApiError` if they are refused. */
  approve: (args: Record<string, unknown> | undefined) => Promise<void>;
  cancel: () => void;
}

/** A field for each argument, and the buttons that approve with them or go back. */
export function EditArguments({ args, disabled, approve, cancel }: EditProps): JSX.Element {
  const fields = callFields(args);
  const [texts, setTexts] = useState(fields.map(({ text }) => text));
  const [problems, setProblems] = useState<Readonly<Record<string, string>>>({});
  const [problem, setProblem] = useState('');
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => form.current?.querySelector('textarea')?.focus(), []);
  const submit = async (): Promise<void> => {
    const entered = readCallFields(args, texts);
    setProblem('');
    const notJson = 'notJson' in entered ? entered.notJson : [];
    setProblems(Object.fromEntries(notJson.map((name) => [name, say('page.approval.edit_json')])));
    if ('notJson' in entered) return;
    try {
      await approve(entered.isChanged ? entered.args : undefined);
    } catch (error) {
      const found = error instanceof ApiError ? problemsByArgument(Object.keys(args), error.message) : {};
      setProblems(found);
      if (Object.keys(found).length === 0) setProblem(messageOf(error));
    }
  };
  return (
    <form
      ref={form}
      class="edit-arguments"
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
      onKeyDown={(event) => {
        if (event.key !== 'Escape') return;
        event.stopPropagation();
        cancel();
      }}
    >
      {fields.map(({ name, isJson }, at) => (
        <ArgumentField
          key={name}
          name={name}
          isJson={isJson}
          text={texts[at] ?? ''}
          problem={problems[name]}
          enter={(text) => setTexts(texts.with(at, text))}
        />
      ))}
      <p class="error-text" role="alert">
        {problem}
      </p>
      <div class="approval-foot">
        <button type="submit" class="primary" disabled={disabled}>
          {say('page.approval.edit_approve')}
        </button>
        <button type="button" disabled={disabled} onClick={cancel}>
          {say('page.cancel')}
        </button>
      </div>
    </form>
  );
}

function ArgumentField(props: {
  name: string;
  isJson: boolean;
  text: string;
  problem: string | undefined;
  enter: (text: string) => void;
}): JSX.Element {
  const { name, isJson, text, problem, enter } = props;
  const fieldId = useId();
  const noteId = `${fieldId}-note`;
  const note = problem ?? (isJson ? say('page.approval.edit_json') : '');
  return (
    <div class="argument">
      <label class="argument-name" for={fieldId}>
        {argumentLabel(name)}
      </label>
      <textarea
        id={fieldId}
        dir="auto"
        spellcheck={false}
        rows={Math.min(MAX_ROWS, text.split('\n').length)}
        value={text}
        aria-invalid={problem !== undefined}
        aria-describedby={note === '' ? undefined : noteId}
        onInput={({ currentTarget }) => enter(currentTarget.value)}
      />
      {note !== '' && (
        <span id={noteId} class={problem === undefined ? 'quiet' : 'error-text'}>
          {visible(note)}
        </span>
      )}
    </div>
  );
}
