/** A question that another person has the bot ask whoever reads this chat: with a field for the answer. */
import type { JSX } from 'preact';
import { useId, useState } from 'preact/hooks';
import { api, ApiError, type Approval } from '../../api.ts';
import { messageOf } from '../../failures/in-place.ts';
import { Time } from '../../parts/time.tsx';
import { nearTime, say, sayParts } from '../../texts.ts';
import { visible } from './call-arguments.tsx';

/** The gateway refuses a longer one. */
const MAX_ANSWER_CHARS = 4_000;

interface QuestionProps {
  approval: Approval;
  question: NonNullable<Approval['question']>;
  /** Called once it is answered, here or elsewhere. */
  finish: () => Promise<void>;
}

/** The card of a question, which is answered or refused there. */
export function QuestionCard({ approval, question, finish }: QuestionProps): JSX.Element {
  const [answer, setAnswer] = useState('');
  const [problem, setProblem] = useState('');
  const [isSending, setSending] = useState(false);
  const fieldId = useId();
  const who = visible(question.asker);
  const send = async (body: Parameters<typeof api.answerQuestion>[1]): Promise<void> => {
    setSending(true);
    try {
      await api.answerQuestion(approval.id, body);
    } catch (error) {
      // It was answered elsewhere or needs no answer any more: the list shows that.
      if (!(error instanceof ApiError && [404, 409].includes(error.status))) {
        setProblem(messageOf(error));
        setSending(false);
        return;
      }
    }
    await finish();
  };
  return (
    <div data-approval={approval.id} class="approval" role="group" aria-label={say('page.ask.of', { who })}>
      <form
        class="approval-question"
        onSubmit={(event) => {
          event.preventDefault();
          if (answer.trim() !== '') void send({ answer: answer.trim() });
        }}
      >
        <label class="approval-title" for={fieldId}>
          {say('page.ask.asks', { who })}
        </label>
        <pre tabIndex={0} dir="auto">
          {visible(question.text)}
        </pre>
        <textarea
          id={fieldId}
          dir="auto"
          rows={2}
          maxLength={MAX_ANSWER_CHARS}
          placeholder={say('page.ask.goes')}
          value={answer}
          onInput={({ currentTarget }) => setAnswer(currentTarget.value)}
        />
        <QuestionButtons
          disabled={isSending}
          isEmpty={answer.trim() === ''}
          send={(body) => void send(body)}
        />
        <span class="quiet">
          {sayParts('page.ask.until', { time: <Time at={approval.expiresAt} format={nearTime} /> })}
        </span>
        <p class="error-text" role="alert">
          {problem}
        </p>
      </form>
    </div>
  );
}

function QuestionButtons(props: {
  disabled: boolean;
  isEmpty: boolean;
  send: (body: { refuse: true; never?: boolean }) => void;
}): JSX.Element {
  const { disabled, isEmpty, send } = props;
  return (
    <div class="approval-foot">
      <button type="submit" class="primary" disabled={disabled || isEmpty}>
        {say('page.ask.answer')}
      </button>
      <button type="button" disabled={disabled} onClick={() => send({ refuse: true })}>
        {say('page.ask.refuse')}
      </button>
      <button
        type="button"
        class="danger"
        disabled={disabled}
        onClick={() => send({ refuse: true, never: true })}
      >
        {say('page.ask.never')}
      </button>
    </div>
  );
}
