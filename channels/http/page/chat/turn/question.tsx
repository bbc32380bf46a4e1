/** The message of a turn: its sender, its files and its text, also while it is sent or edited. */
import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { ApiError } from '../../api.ts';
import { messageOf } from '../../failures/in-place.ts';
import { Icon } from '../../parts/icon.tsx';
import { say } from '../../texts.ts';
import { FileList } from '../files.tsx';
import type { ShownQuestion, Turn, TurnHost, Unsent } from './turn.ts';

/** A message of more lines or characters is folded. */
export const MAX_SHOWN_LINES = 16;
export const MAX_SHOWN_CHARS = 1_600;

export function isLong(text: string): boolean {
  return text.length > MAX_SHOWN_CHARS || text.split('\n', MAX_SHOWN_LINES + 1).length > MAX_SHOWN_LINES;
}

/** One message of a person or of the gateway. */
export function Question({ turn, chat }: { turn: Turn; chat: TurnHost }): JSX.Element | null {
  const { question, sending } = turn;
  // A message is not drawn again while a person edits it.
  const [isEditing, setEditing] = useState(false);
  if (question === undefined || turn.visibility?.isQuestionHidden === true) return null;
  const isLast = turn.visibility?.asksLast === true;
  const label = say(isLast ? 'page.act.edit_last' : 'page.act.edit');
  const { content, senderName, attachments = [], role } = question;
  const outcome = sending === undefined ? '' : sending === 'sending' ? ' sending' : ' unsent';
  if (isEditing)
    return (
      <div class="asked">
        <EditField question={question} isLast={isLast} chat={chat} close={() => setEditing(false)} />
      </div>
    );
  return (
    <div class={`asked${outcome}`}>
      {senderName && <p class="sender">{senderName}</p>}
      <FileList files={chat.files} list={attachments} />
      {content.trim() !== '' && <MessageText text={content} />}
      {role === 'user' && sending === undefined && (
        <button
          type="button"
          class="turn-act pencil"
          aria-label={label}
          title={label}
          onClick={() => setEditing(true)}
        >
          <Icon name="pencil" />
        </button>
      )}
      {typeof sending === 'object' && <NotSent {...sending} />}
    </div>
  );
}

function NotSent({ error, retry }: Unsent): JSX.Element {
  // That there is no connection is said by a banner.
  const isUnreachable = error instanceof ApiError && error.isUnreachable;
  return (
    <p class="error-text">
      {isUnreachable ? say('page.question.not_sent') : say('page.question.unsent', { why: messageOf(error) })}{' '}
      <button type="button" class="text-button" onClick={retry}>
        {say('page.again')}
      </button>
    </p>
  );
}

/** The text of a message; a long one is folded to its beginning, with the button that shows all of it. */
function MessageText({ text }: { text: string }): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  const isFoldable = isLong(text);
  return (
    <>
      <div class={`message-text${isFoldable && !isOpen ? ' folded' : ''}`} dir="auto">
        {text}
      </div>
      {isFoldable && (
        <button
          type="button"
          class="text-button fold"
          aria-expanded={isOpen}
          onClick={() => setOpen(!isOpen)}
        >
          {say(isOpen ? 'page.long.less' : 'page.long.all')}
        </button>
      )}
    </>
  );
}

interface EditProps {
  question: ShownQuestion;
  /** It becomes another version of the last question; any other begins a new chat. */
  isLast: boolean;
  chat: TurnHost;
  close: () => void;
}

/** The field in which a question is edited; it stays when the message could not be sent. */
function EditField({ question, isLast, chat, close }: EditProps): JSX.Element {
  const { seq, content, attachments = [] } = question;
  const [text, setText] = useState(content);
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => field.current?.focus(), []);
  const files = attachments.map(({ file }) => file);
  const send = async (): Promise<void> => {
    if (text.trim() === '' && files.length === 0) return;
    const isSent = await chat.act(
      isLast ? { do: 'reword', content: text } : { do: 'edit', seq, content: text, files },
    );
    if (isSent) close();
  };
  return (
    <form
      class="edit-question"
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
      onKeyDown={(event) => {
        if (event.key !== 'Escape') return;
        event.stopPropagation();
        close();
      }}
    >
      <textarea
        ref={field}
        dir="auto"
        aria-label={say('page.act.message')}
        rows={3}
        value={text}
        onInput={({ currentTarget }) => setText(currentTarget.value)}
      />
      <p class="quiet">{say(isLast ? 'page.act.edit_last_hint' : 'page.act.edit_hint')}</p>
      <div class="confirm-buttons">
        <button type="button" onClick={close}>
          {say('page.cancel')}
        </button>
        <button type="submit" class="primary">
          {say('page.send')}
        </button>
      </div>
    </form>
  );
}
