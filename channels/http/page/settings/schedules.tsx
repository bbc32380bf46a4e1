/** The screen about schedules: add, run, pause, edit, remove, and the runs of each. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { WireListed, WireRun, WireSchedule } from '../../wire.ts';
import { askText, confirmDelete } from '../confirm.tsx';
import { messageOf } from '../failures/in-place.ts';
import { Dialog, showDialog } from '../parts/dialog.tsx';
import { ask } from '../requests.ts';
import { Act, Moment, Row, Rows } from '../parts/rows.tsx';
import { dayAndClock, say, sayParts } from '../texts.ts';
import { Choice, Field, Form, Loading, Section, Table, useAnswer } from './parts.tsx';

/** The gateway refuses a longer one. */
const MAX_TASK_CHARS = 4_000;

export function Schedules(): JSX.Element {
  const answer = useAnswer<{ schedules: WireSchedule[] }>('/v1/schedules');
  if (answer.body === undefined) return <Loading of={answer} />;
  const history = (schedule: WireSchedule): void =>
    showDialog((close) => <History schedule={schedule} close={close} />);
  return (
    <>
      <Section title={say('page.schedules')} about={say('page.set.schedules_about')}>
        <Rows empty={say('page.set.no_schedules')}>
          {answer.body.schedules.map((schedule) => (
            <ScheduleRow
              key={schedule.id}
              schedule={schedule}
              act={answer.act}
              history={() => history(schedule)}
            />
          ))}
        </Rows>
      </Section>
      <Section title={say('page.set.add_schedule')}>
        <NewSchedule done={answer.reload} />
      </Section>
    </>
  );
}

function ScheduleRow(props: {
  schedule: WireSchedule;
  act: (work: () => Promise<unknown>) => void;
  history: () => void;
}): JSX.Element {
  const { id, task, nextAt, lastAt, session, timing } = props.schedule;
  const path = `/v1/schedules/${encodeURIComponent(id)}`;
  const change = (body: object): void => props.act(() => ask('PATCH', path, body));
  const edit = async (): Promise<void> => {
    const text = await askText(say('page.set.task'), task, { most: MAX_TASK_CHARS });
    if (text !== null && text.trim() !== '' && text !== task) change({ task: text });
  };
  const retime = async (): Promise<void> => {
    const cron = await askText(say('page.set.when'), timing.kind === 'cron' ? timing.expression : '');
    if (cron !== null && cron.trim() !== '') change({ cron });
  };
  const remove = async (): Promise<void> => {
    if (await confirmDelete(say('page.schedules.delete_ask', { task }))) props.act(() => ask('DELETE', path));
  };
  const isPaused = nextAt === null;
  const next = isPaused ? (
    say('page.set.paused')
  ) : (
    <span>{sayParts('page.schedules.next', { moment: <Moment at={nextAt} /> })}</span>
  );
  const moment = <Moment at={lastAt} />;
  return (
    <Row
      title={task}
      mood={isPaused ? 'off' : 'ok'}
      about={sayParts('page.set.schedule_about', { session, timing: describe(timing), next, moment })}
    >
      <Act
        label={say('page.set.run_now')}
        of={task}
        press={() => props.act(() => ask('POST', `${path}/run`))}
      />
      <Act
        label={isPaused ? say('page.resume') : say('page.pause')}
        of={task}
        press={() => change({ paused: !isPaused })}
      />
      <Act label={say('page.edit')} of={task} press={() => void edit()} />
      <Act label={say('page.set.change_time')} of={task} press={() => void retime()} />
      <Act label={say('page.set.history')} of={task} press={props.history} />
      <a class="button" href={`#${session}`} aria-label={`${say('page.set.its_chat')}: ${task}`}>
        {say('page.set.its_chat')}
      </a>
      <Act label={say('page.delete')} of={task} press={() => void remove()} danger />
    </Row>
  );
}

function describe(timing: WireSchedule['timing']): string {
  if (timing.kind === 'cron') return `${timing.expression} (${timing.timeZone})`;
  return timing.kind === 'at'
    ? say('page.schedules.once')
    : say('page.every.minutes', { count: Math.round(timing.everyMs / 60_000) });
}

const FIELD = { name: 'when', required: true, maxLength: 100, autocomplete: 'off' } as const;
/** When a new schedule runs: its label, its field, and what the API gets. */
const TIMES = {
  daily: {
    label: say('page.set.time_daily'),
    field: <input type="time" {...FIELD} />,
    body: (text: string) => {
      const [hour = '', minute = ''] = text.split(':');
      return { cron: `${Number(minute)} ${Number(hour)} * * *` };
    },
  },
  everyMinutes: {
    label: say('page.set.time_every'),
    field: <input type="text" {...FIELD} placeholder="60" />,
    body: (text: string) => ({ everyMinutes: numberIn(text) }),
  },
  inMinutes: {
    label: say('page.set.time_in'),
    field: <input type="text" {...FIELD} placeholder="30" />,
    body: (text: string) => ({ inMinutes: numberIn(text) }),
  },
  at: {
    label: say('page.set.time_at'),
    field: <input type="datetime-local" {...FIELD} />,
    body: (text: string) => ({ at: text.replace('T', ' ') }),
  },
  cron: {
    label: say('page.set.time_cron'),
    field: <input type="text" {...FIELD} placeholder="0 8 * * 1-5" />,
    body: (text: string) => ({ cron: text }),
  },
};
const KINDS = Object.fromEntries(Object.entries(TIMES).map(([kind, { label }]) => [kind, label]));

function numberIn(text: string): number {
  return Number(text.replace(',', '.'));
}

function isKind(kind: string): kind is keyof typeof TIMES {
  return kind in TIMES;
}

/** The form for a new one, in one of the newest chats. */
function NewSchedule({ done }: { done: () => Promise<void> }): JSX.Element {
  const chats = useAnswer<{ sessions: WireListed[] }>('/v1/sessions?limit=100');
  const [kind, setKind] = useState<keyof typeof TIMES>('daily');
  if (chats.body === undefined) return <Loading of={chats} />;
  const { sessions } = chats.body;
  if (sessions.length === 0) return <p class="settings-empty">{say('page.set.schedule_no_chat')}</p>;
  // Titles repeat; with its last time, a chat is known.
  const names = sessions.map(({ key, title, updatedAt }) => [
    key,
    `${title || key} · ${dayAndClock(updatedAt)}`,
  ]);
  const { field, body } = TIMES[kind];
  const add = async (read: (name: string) => string): Promise<void> => {
    await ask('POST', '/v1/schedules', { session: read('chat'), task: read('task'), ...body(read('when')) });
    await done();
  };
  return (
    <Form label={say('page.set.add')} submit={add}>
      <Field label={say('page.set.chat')}>
        <Choice name="chat" options={Object.fromEntries(names)} />
      </Field>
      <Field label={say('page.set.task')}>
        <textarea name="task" required maxLength={MAX_TASK_CHARS} rows={3} dir="auto" />
      </Field>
      <Field label={say('page.set.when_kind')}>
        <Choice options={KINDS} value={kind} change={(next) => isKind(next) && setKind(next)} />
      </Field>
      <Field label={say('page.set.when_it_runs')}>{field}</Field>
    </Form>
  );
}

/** The runs of a schedule: when each was due, when it began, how it ended, and its trace. */
function History({
  schedule: { id, task },
  close,
}: {
  schedule: WireSchedule;
  close: () => void;
}): JSX.Element {
  const answer = useAnswer<{ runs: WireRun[] }>(`/v1/schedules/${encodeURIComponent(id)}/runs`);
  const [problem, setProblem] = useState('');
  const openTrace = async (turnId: string): Promise<void> => {
    const { showTrace } = await import('../chat/turn/trace.tsx');
    showTrace(() => ask('GET', `/v1/turns/${encodeURIComponent(turnId)}/trace`));
  };
  const rowOf = ({ dueAt, at, outcome, result, turnId, endedAt }: WireRun): (JSX.Element | string)[] => [
    <Moment at={dueAt} />,
    outcome === 'begun' ? <Moment at={at} /> : '–',
    <>
      {result}
      {endedAt !== null && [', ', <Moment at={endedAt} />]}
    </>,
    turnId === null ? (
      ''
    ) : (
      <Act
        label={say('page.trace')}
        of={say('page.set.run_due', { moment: dayAndClock(dueAt) })}
        press={() => void openTrace(turnId).catch((error: unknown) => setProblem(messageOf(error)))}
      />
    ),
  ];
  return (
    <Dialog class="trace widest" title={say('page.set.runs_title')} close={close}>
      <p dir="auto">{say('page.set.runs_of', { task })}</p>
      <p class="error-text" role="alert">
        {problem}
      </p>
      {answer.body === undefined ? (
        <Loading of={answer} />
      ) : answer.body.runs.length === 0 ? (
        <p class="quiet">{say('page.set.runs_none')}</p>
      ) : (
        <Table
          caption={say('page.set.runs_table')}
          heads={[say('page.set.due'), say('page.set.started'), say('page.set.how_ended'), say('page.trace')]}
          rows={answer.body.runs.map(rowOf)}
        />
      )}
    </Dialog>
  );
}
