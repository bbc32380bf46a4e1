/** How another model would have answered: a turn again, beside what it was; and its mark for evaluations. */
import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { WireReplay } from '../../../routes/replays.ts';
import { api } from '../../api.ts';
import { messageOf } from '../../failures/in-place.ts';
import { Markdown } from '../../markdown/markdown.tsx';
import { duration, money, number, say } from '../../texts.ts';

type Side = WireReplay['original'];

/** A model to choose, and both answers once it has answered, too. Models are read when it is opened for the first time. */
export function ReplayPart({ turnId }: { turnId: string }): JSX.Element {
  const [models, setModels] = useState<string[]>([]);
  const [problem, setProblem] = useState('');
  const [isRunning, setRunning] = useState(false);
  const [replay, setReplay] = useState<WireReplay>();
  const leaving = useRef(new AbortController());
  // Whoever closes the dialog no longer waits for the model.
  useEffect(() => () => leaving.current.abort(), []);
  const attempt = async (act: () => Promise<void>): Promise<void> => {
    setProblem('');
    try {
      await act();
    } catch (error) {
      if (!leaving.current.signal.aborted) setProblem(messageOf(error));
    }
  };
  const open = (): Promise<void> => attempt(async () => setModels((await api.choices('default')).models));
  const run = async (model: string): Promise<void> => {
    setRunning(true);
    setReplay(undefined);
    await attempt(async () => setReplay(await api.replay(turnId, model, leaving.current.signal)));
    setRunning(false);
  };
  return (
    <details onToggle={({ currentTarget }) => currentTarget.open && models.length === 0 && void open()}>
      <summary>{say('page.replay')}</summary>
      <form
        class="replay-form"
        onSubmit={(event) => {
          event.preventDefault();
          const model = new FormData(event.currentTarget).get('model');
          if (typeof model === 'string') void run(model);
        }}
      >
        <label>
          {say('page.model')}{' '}
          <select name="model">
            {models.map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </label>
        <button type="submit" disabled={isRunning || models.length === 0}>
          {say('page.replay.run')}
        </button>
      </form>
      <p class="quiet">{say('page.replay.hint')}</p>
      <div aria-live="polite">
        {isRunning && <p class="quiet">{say('page.replay.running')}</p>}
        {problem !== '' && <p class="error-text">{problem}</p>}
        {replay && <Sides replay={replay} />}
      </div>
    </details>
  );
}

function Sides({ replay: { original, replay, missing } }: { replay: WireReplay }): JSX.Element {
  return (
    <>
      <div class="replay-sides">
        <SideView side={original} title={say('page.replay.original')} />
        <SideView side={replay} title={say('page.replay.other')} />
      </div>
      {missing.length > 0 && (
        <>
          <p class="quiet">{say('page.replay.missing')}</p>
          <ul class="quiet">
            {missing.map((line) => (
              <li key={line}>{line}</li>
            ))}
          </ul>
        </>
      )}
    </>
  );
}

function SideView({ side, title }: { side: Side; title: string }): JSX.Element {
  const { model, answer, error, calls, promptTokens, completionTokens, estimated, modelMs, cost } = side;
  const tokens = `${estimated ? '≈ ' : ''}${number(promptTokens + completionTokens)}`;
  const figures = [say('page.replay.tokens', { tokens }), duration(modelMs), ...(cost ? [money(cost)] : [])];
  return (
    <section aria-label={title}>
      <h3 dir="auto">
        {title}: {model || '?'}
      </h3>
      <p class="trace-id">{figures.join(' · ')}</p>
      {calls.map(({ name, args, result }, nth) => (
        <p key={nth} class="trace-id">
          <code>{name}</code> {JSON.stringify(args)}
          {result === undefined && ` · ${say('page.replay.not_run')}`}
        </p>
      ))}
      <div class="md">
        <Markdown text={answer} />
      </div>
      {error !== undefined && <p class="error-text">{error}</p>}
    </section>
  );
}

/** Marks the answer as one that evaluations run again, and takes that back. */
export function MarkButton({ turnId }: { turnId: string }): JSX.Element {
  const [isMarked, setMarked] = useState(false);
  const [note, setNote] = useState('');
  const press = async (): Promise<void> => {
    try {
      await (isMarked ? api.unmarkTurn(turnId) : api.markTurn(turnId));
      setMarked(!isMarked);
      setNote(isMarked ? '' : say('page.mark.done'));
    } catch (error) {
      setNote(messageOf(error));
    }
  };
  return (
    <p class="replay-form">
      <button type="button" onClick={() => void press()}>
        {say(isMarked ? 'page.mark.undo' : 'page.mark')}
      </button>
      <span class="quiet" role="status">
        {note}
      </span>
    </p>
  );
}
