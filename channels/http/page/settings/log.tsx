/**
 * The screen about the log: its newest lines as rows, filtered. It asks for them now and then: the log is a file that several
 * processes write, and a stream of it would be a second one beside that of the chats for a screen that is looked at for minutes.
 */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { LogLine } from '../../../../src/protocol/operator/administration.ts';
import { Moment } from '../parts/rows.tsx';
import { exactly, say, toTheSecond } from '../texts.ts';
import { Chips, Loading, useAnswer } from './parts.tsx';

/** Pause between two looks at the log, in milliseconds. */
const LOOK_EVERY_MS = 2_000;

const LEVELS = {
  debug: say('page.set.level_debug'),
  info: say('page.set.level_info'),
  warn: say('page.set.level_warn'),
  error: say('page.set.level_error'),
};

export function LogScreen(): JSX.Element {
  const [level, setLevel] = useState('info');
  const [words, setWords] = useState('');
  const [isPaused, setPaused] = useState(false);
  const answer = useAnswer<{ lines: LogLine[] }>(
    `/v1/log?level=${level}`,
    isPaused ? undefined : LOOK_EVERY_MS,
  );
  if (answer.body === undefined) return <Loading of={answer} />;
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  const lines = answer.body.lines
    .filter(({ message, fields }) =>
      wanted.every((word) => `${message} ${fields}`.toLowerCase().includes(word)),
    )
    .toReversed();
  return (
    <section class="settings-section log">
      <div class="settings-form">
        <Chips label={say('page.set.at_least')} options={LEVELS} value={level} change={setLevel} />
        <input
          type="search"
          class="search"
          aria-label={say('page.set.log_search')}
          placeholder={say('page.set.log_search')}
          value={words}
          onInput={({ currentTarget }) => setWords(currentTarget.value)}
        />
        <button type="button" aria-pressed={isPaused} onClick={() => setPaused(!isPaused)}>
          {say('page.set.log_pause')}
        </button>
      </div>
      {lines.length === 0 ? (
        <p class="settings-empty">{say('page.set.log_none')}</p>
      ) : (
        <ol class="log-lines" aria-label={say('page.set.log_lines')}>
          {lines.map((line) => (
            <Line key={`${line.time} ${line.message} ${line.fields}`} line={line} />
          ))}
        </ol>
      )}
    </section>
  );
}

function Line({ line: { time, level, message, fields } }: { line: LogLine }): JSX.Element {
  return (
    <li class={`log-line ${level}`}>
      <span class="log-at">
        <Moment at={time} as={toTheSecond} />
      </span>
      <span class="log-level">{level}</span>
      <span class="log-event">{message}</span>
      <span class="log-fields" dir="auto" title={exactly(time)}>
        {pairs(fields).map(([name, value]) => (
          <span key={name}>
            <b>{name}</b>={value}{' '}
          </span>
        ))}
      </span>
    </li>
  );
}

/** The fields of a line by their name, as the terminal shows them. */
function pairs(fields: string): [name: string, value: string][] {
  try {
    const parsed: unknown = JSON.parse(fields);
    if (typeof parsed === 'object' && parsed !== null)
      return Object.entries(parsed).map(([name, value]) => [
        name,
        typeof value === 'string' ? value : JSON.stringify(value),
      ]);
  } catch {
    // A line that was cut: as it is.
  }
  return fields === '' ? [] : [['…', fields]];
}
