/** Draws a turn: its message, its plan, its answer, and what people do with these besides reading. */
import type { Signal } from '@preact/signals';
import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { PicturesInText } from '../../markdown/markdown.tsx';
import { PlanPanel, Todos } from '../../plan/plan-panel.tsx';
import { CopyButton } from '../../parts/copy.tsx';
import { Icon, type IconName } from '../../parts/icon.tsx';
import { Time } from '../../parts/time.tsx';
import { say } from '../../texts.ts';
import { FileList, usePictures } from '../files.tsx';
import { Note, Parts } from './answer-view.tsx';
import { textOf } from './answer.ts';
import { Question } from './question.tsx';
import type { Turn, TurnHost } from './turn.ts';
import type { TurnVisibility } from './turn-visibility.ts';

/** A message and its answer. */
export function TurnView({
  id,
  turn: state,
  chat,
}: {
  id: string;
  turn: Signal<Turn>;
  chat: TurnHost;
}): JSX.Element {
  const turn = state.value;
  const { isHidden = false, isTakenBack = false, isLast = false } = turn.visibility ?? {};
  const kinds = [isHidden && 'other-answer', isTakenBack && 'taken-back', isLast && 'last'];
  return (
    <article data-key={id} class={['turn', ...kinds.filter((kind) => kind !== false)].join(' ')}>
      <Question turn={turn} chat={chat} />
      <PlanOfTurn turn={turn} chat={chat} />
      <AnswerOfTurn turn={turn} chat={chat} />
      {(turn.isBusy || turn.status !== '') && (
        <p class="turn-status">{turn.isBusy ? <Dots /> : turn.status}</p>
      )}
      {isTakenBack && !isHidden && <TakenBack turn={turn} chat={chat} />}
      <Foot turn={turn} chat={chat} />
    </article>
  );
}

interface TurnProps {
  turn: Turn;
  chat: TurnHost;
}

function PlanOfTurn({ turn: { plan, planText, todos }, chat }: TurnProps): JSX.Element {
  const planned = plan?.plan.steps ?? [];
  const isPlanAgain =
    todos.length === planned.length && todos.every(({ text }, nth) => text === planned[nth]?.description);
  return (
    <>
      {plan && <PlanPanel host={chat.plans} view={plan} />}
      {plan === undefined && planText !== undefined && (
        <section class="plan" role="group" aria-label={say('page.plan')}>
          <p class="plan-title">{say('page.plan')}</p>
          <Note text={planText} />
        </section>
      )}
      {todos.length > 0 && !isPlanAgain && <Todos items={todos} />}
    </>
  );
}

function AnswerOfTurn({ turn: { answer, files: filesByMessage, plan }, chat }: TurnProps): JSX.Element {
  const files = useMemo(() => [...filesByMessage.values()].flat(), [filesByMessage]);
  const { pictures, others } = usePictures(chat.files, files);
  // The sentence names the buttons of a plan that waits; they are gone once it is decided.
  const isOver =
    plan !== undefined && plan.plan.state !== 'stored' && textOf(answer) === say('turn.plan_made');
  return (
    <>
      <div class="answer" aria-live="off">
        <PicturesInText.Provider value={pictures}>
          {!isOver && <Parts answer={answer} />}
        </PicturesInText.Provider>
      </div>
      {others.length > 0 && (
        <div class="sent-files">
          <FileList files={chat.files} list={others} />
        </div>
      )}
    </>
  );
}

/** Moving dots, while an answer is being made. */
function Dots(): JSX.Element {
  return (
    <span class="dots" role="img" aria-label={say('page.part.dots')}>
      <i />
      <i />
      <i />
    </span>
  );
}

/** The line under a turn that was taken back, or dropped before it had an answer. */
function TakenBack({ turn: { marks }, chat }: TurnProps): JSX.Element {
  if (marks.answerLeftOut === undefined) return <p class="turn-note">{say('page.act.dropped')}</p>;
  return (
    <p class="turn-note">
      {say('page.act.undone')}{' '}
      <button
        type="button"
        class="text-button"
        onClick={() => void chat.act({ do: 'choose', turnId: marks.turnId })}
      >
        {say('page.act.put_back')}
      </button>
    </p>
  );
}

/** What is below an answer; a turn without one has its trace there. */
function Foot({ turn: { stored, marks, visibility }, chat }: TurnProps): JSX.Element | null {
  // A message that a turn sent along the way has an id that begins with the turn's.
  const [turnId = ''] = (stored?.turnId ?? marks.turnId).split('.', 1);
  if (turnId === '') return null;
  const trace = (
    <button
      type="button"
      class="copy"
      aria-label={say('page.trace.what')}
      onClick={() => void chat.act({ do: 'trace', turnId })}
    >
      {say('page.trace')}
    </button>
  );
  if (stored === undefined) return <div class="turn-foot">{trace}</div>;
  const { seq, content, createdAt, model } = stored;
  return (
    <div class="turn-foot">
      <Time at={createdAt} />
      <TrySwitch place={visibility?.place} choose={(id) => void chat.act({ do: 'choose', turnId: id })} />
      {content !== '' && <CopyButton text={content} label={say('page.act.copy')} />}
      <ActButton
        icon="again"
        class="only-last"
        label={say('page.act.again')}
        act={() => void chat.act({ do: 'retry' })}
      />
      <ActButton
        icon="undo"
        class="unless-taken-back"
        label={say('page.act.undo')}
        act={() => void chat.act({ do: 'undo', turnId })}
      />
      <ActButton icon="fork" label={say('page.act.fork')} act={() => void chat.act({ do: 'fork', seq })} />
      {trace}
      {model && (
        <span class="answered-by" title={say('page.act.answered_by', { model })}>
          {model}
        </span>
      )}
    </div>
  );
}

interface ActButtonProps {
  label: string;
  icon?: IconName;
  sign?: string;
  class?: string;
  /** Without one it is disabled. */
  act: (() => void) | undefined;
}

function ActButton({ label, icon, sign, class: kind = '', act }: ActButtonProps): JSX.Element {
  return (
    <button
      type="button"
      class={`turn-act ${kind}`}
      aria-label={label}
      title={label}
      disabled={act === undefined}
      onClick={act}
    >
      {icon && <Icon name={icon} />}
      {sign}
    </button>
  );
}

/** `‹ 1/2 ›` under one of several answers; nothing for a single one. */
function TrySwitch({
  place,
  choose,
}: {
  place: TurnVisibility['place'];
  choose: (turnId: string) => void;
}): JSX.Element | null {
  if (place === undefined || place.count < 2) return null;
  const { nth, count, before: previous, after: next } = place;
  const to = (turnId: string | undefined) => (turnId === undefined ? undefined : () => choose(turnId));
  return (
    <span class="try-switch" role="group" aria-label={say('page.act.tries')}>
      <ActButton label={say('page.act.earlier')} sign="‹" act={to(previous)} />
      <span>{`${nth}/${count}`}</span>
      <ActButton label={say('page.act.later')} sign="›" act={to(next)} />
    </span>
  );
}
