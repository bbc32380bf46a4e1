/** One question about a tool call: what would run, with which files, and the buttons that decide it. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { api, ApiError, type Approval, type ApprovalDecision } from '../../api.ts';
import { messageOf } from '../../failures/in-place.ts';
import { Time } from '../../parts/time.tsx';
import { nearTime, say, sayParts } from '../../texts.ts';
import { CallArguments, visible } from './call-arguments.tsx';
import { editableArgs, EditArguments } from './edit-arguments.tsx';
import { dropOwnDecision, keepOwnDecision } from './own-decisions.ts';
import { QuestionCard } from './question-card.tsx';

/** The gateway refuses a longer one. */
const MAX_REASON_CHARS = 500;

/** The reason of a denial; that an approval holds permanently, or with which arguments. */
interface Detail {
  reason?: string;
  always?: boolean;
  args?: Record<string, unknown>;
}

interface CardProps {
  approval: Approval;
  mayDecide: boolean;
  /** Called once it is decided, here or elsewhere, with a note to show, if any. */
  finish: (note?: string) => Promise<void>;
}

/** What decides a request: the state while it is sent, and what went wrong. */
function useDecision({ approval: { id }, finish }: CardProps) {
  const [problem, setProblem] = useState('');
  const [isSending, setSending] = useState(false);
  /** Rejects with the `ApiError` of changed arguments that are refused. */
  const decide = async (decision: ApprovalDecision, detail: Detail = {}): Promise<void> => {
    let note: string | undefined;
    setSending(true);
    // Its event may come before the answer.
    keepOwnDecision(id);
    try {
      const { rule } = await api.decideApproval(id, decision, detail);
      if (detail.always === true && rule !== 'stored') note = say('page.approval.not_kept');
    } catch (error) {
      dropOwnDecision(id);
      if (detail.args !== undefined && error instanceof ApiError && error.code === 'bad_args') {
        setSending(false);
        throw error;
      }
      // It was decided elsewhere or has expired: the list shows the outcome.
      if (!(error instanceof ApiError && error.status < 500 && error.status !== 0)) {
        setProblem(messageOf(error));
        setSending(false);
        return;
      }
    }
    await finish(note);
  };
  return { problem, isSending, decide };
}

/** The card of a request: a call to approve, or a question of another person. */
export function ApprovalCard(props: CardProps): JSX.Element {
  const { approval, finish } = props;
  const { question } = approval;
  return question === null ? <CallCard {...props} /> : <QuestionCard {...{ approval, question, finish }} />;
}

/** The card of a call, with buttons for those who may decide. */
function CallCard(props: CardProps): JSX.Element {
  const { approval, mayDecide } = props;
  const { id, tool, files, warning, expiresAt, mayAlways } = approval;
  const { problem, isSending, decide } = useDecision(props);
  const [isEditing, setEditing] = useState(false);
  const args = editableArgs(approval.args);
  return (
    <div data-approval={id} class="approval" role="group" aria-label={say('page.approval.of', { tool })}>
      <p class="approval-title">{sayParts('page.approval.may_i', { tool: <code>{tool}</code> })}</p>
      {isEditing && args !== undefined ? (
        <EditArguments
          args={args}
          disabled={isSending}
          approve={(changes) => decide('approved', changes === undefined ? {} : { args: changes })}
          cancel={() => setEditing(false)}
        />
      ) : (
        <CallArguments args={approval.args} files={files} />
      )}
      {files.map((file, nth) => (
        <NamedFile key={nth} file={file} />
      ))}
      <p>{warning}</p>
      <div class="approval-foot">
        {mayDecide && !isEditing && (
          <Buttons
            mayAlways={mayAlways}
            edit={args && (() => setEditing(true))}
            disabled={isSending}
            decide={(...decision) => void decide(...decision)}
          />
        )}
        {!mayDecide && <span>{say('page.approval.not_yours')}</span>}
        <span class="quiet">
          {sayParts('page.approval.until', { time: <Time at={expiresAt} format={nearTime} /> })}
        </span>
      </div>
      <p class="error-text" role="alert">
        {problem}
      </p>
    </div>
  );
}

/** The buttons of a question, and the field for the reason of a refusal. */
function Buttons(props: {
  mayAlways: boolean;
  disabled: boolean;
  /** Undefined where there is nothing to edit. */
  edit: (() => void) | undefined;
  decide: (decision: ApprovalDecision, detail?: Detail) => void;
}): JSX.Element {
  const { mayAlways, disabled, edit, decide } = props;
  const [reason, setReason] = useState('');
  const words = reason.trim();
  return (
    <>
      <button type="button" class="primary" disabled={disabled} onClick={() => decide('approved')}>
        {say('page.approval.approve')}
      </button>
      {edit && (
        <button type="button" disabled={disabled} onClick={edit}>
          {say('page.approval.edit')}
        </button>
      )}
      {mayAlways && (
        <button
          type="button"
          title={say('page.approval.always_hint')}
          disabled={disabled}
          onClick={() => decide('approved', { always: true })}
        >
          {say('page.approval.always')}
        </button>
      )}
      <button
        type="button"
        class="danger"
        disabled={disabled}
        onClick={() => decide('denied', words === '' ? {} : { reason: words })}
      >
        {say('page.approval.deny')}
      </button>
      <input
        type="text"
        class="approval-reason"
        maxLength={MAX_REASON_CHARS}
        aria-label={say('page.approval.reason')}
        placeholder={say('page.approval.why_not')}
        autocomplete="off"
        value={reason}
        onInput={({ currentTarget }) => setReason(currentTarget.value)}
      />
    </>
  );
}

/** A file that the arguments or another file name, with its content if that is short. */
function NamedFile({ file }: { file: Approval['files'][number] }): JSX.Element {
  const name = <code>{visible(file.path)}</code>;
  const place = file.namedIn === undefined ? undefined : <code>{visible(file.namedIn)}</code>;
  if ('problem' in file) {
    const { problem } = file;
    return (
      <p>
        {place === undefined
          ? sayParts('page.approval.file_unshown', { name, problem })
          : sayParts('page.approval.file_unshown_in', { place, name, problem })}
      </p>
    );
  }
  const { bytes, sha256, text } = file;
  const described = { name, bytes: String(bytes), sha: <code>{sha256}</code> };
  return (
    <>
      <p>
        {place === undefined
          ? sayParts('page.approval.file', described)
          : sayParts('page.approval.file_in', { place, ...described })}
      </p>
      {text === undefined && <p>{say('page.approval.file_long')}</p>}
      {text && <pre tabIndex={0}>{visible(text)}</pre>}
    </>
  );
}
