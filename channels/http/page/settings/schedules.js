/** The screen about schedules: add, run, pause, edit, remove. */
import { askText, confirmDelete } from '../confirm.ts';
import { h } from '../dom.ts';
import { button, choice, form, labelled, moment, row, rows, section } from './parts.js';
import { showHistory } from './schedule-history.js';
import { say, sayParts } from '../texts.ts';

/** @typedef {import('../api.ts').Schedule} Schedule */

/** The gateway refuses a longer one. */
const MAX_TASK_CHARS = 4_000;

/** @type {import('./parts.js').Screen} */
export async function schedulesScreen(host) {
  /** @type {{ schedules: Schedule[] }} */
  const { schedules } = await host.ask('GET', '/v1/schedules');
  const scheduleRows = schedules.map((schedule) => {
    const { id, task, nextAt } = schedule;
    const path = `/v1/schedules/${encodeURIComponent(id)}`;
    const edit = async () => {
      const text = await askText(say('page.set.task'), task, MAX_TASK_CHARS);
      if (text === null || text.trim() === '' || text === task) return;
      await host.act(() => host.ask('PATCH', path, { task: text }));
    };
    const retime = async () => {
      const cron = await askText(say('page.set.when'), cronOf(schedule));
      if (cron === null || cron.trim() === '') return;
      await host.act(() => host.ask('PATCH', path, { cron }));
    };
    const remove = async () => {
      if (await confirmDelete(say('page.schedules.delete_ask', { task })))
        await host.act(() => host.ask('DELETE', path));
    };
    const isPaused = nextAt === null;
    const turn = () => void host.act(() => host.ask('PATCH', path, { paused: !isPaused }));
    return row(
      task,
      about(schedule),
      button(say('page.set.run_now'), task, () => void host.act(() => host.ask('POST', `${path}/run`))),
      button(isPaused ? say('page.resume') : say('page.pause'), task, turn),
      button(say('page.edit'), task, () => void edit()),
      button(say('page.set.change_time'), task, () => void retime()),
      button(say('page.set.history'), task, () => void showHistory(host, schedule)),
      h('a', { class: 'text-button', href: `#${schedule.session}` }, say('page.set.its_chat')),
      button(say('page.delete'), task, () => void remove(), 'danger'),
    );
  });
  return [
    section(say('page.schedules'), rows(scheduleRows, say('page.set.no_schedules'))),
    section(say('page.set.add_schedule'), await newSchedule(host)),
  ];
}

/**
 * When a new schedule runs, by the field of the API that says it: its label, and the placeholder of the empty field.
 */
const TIMES = {
  cron: [say('page.set.time_cron'), '0 8 * * 1-5'],
  everyMinutes: [say('page.set.time_every'), '60'],
  inMinutes: [say('page.set.time_in'), '30'],
  at: [say('page.set.time_at'), '2030-01-31 09:00'],
};

/** @param {string} name @returns {keyof typeof TIMES} */
function timeNamed(name) {
  return name === 'everyMinutes' || name === 'inMinutes' || name === 'at' ? name : 'cron';
}

/** The form for a new one, in one of the newest chats. @param {import('./parts.js').ScreenHost} host */
async function newSchedule(host) {
  /** @type {{ sessions: import('../api.ts').Session[] }} */
  const { sessions } = await host.ask('GET', '/v1/sessions?limit=100');
  if (sessions.length === 0) return h('p', { class: 'quiet' }, say('page.set.schedule_no_chat'));
  const names = sessions.map(({ key, title }) => [key, title || key]);
  const chat = choice(Object.fromEntries(names), sessions[0]?.key ?? '');
  const task = h('textarea', {
    required: true,
    maxlength: MAX_TASK_CHARS,
    rows: 3,
    dir: 'auto',
  });
  const kinds = Object.entries(TIMES).map(([kind, [label = '']]) => [kind, label]);
  const kind = choice(Object.fromEntries(kinds), 'cron');
  const when = h('input', {
    type: 'text',
    required: true,
    maxlength: 100,
    autocomplete: 'off',
  });
  const showExample = () => {
    when.placeholder = TIMES[timeNamed(kind.value)][1] ?? '';
  };
  kind.addEventListener('change', showExample);
  showExample();
  const add = async () => {
    const name = timeNamed(kind.value);
    const isNumber = name === 'everyMinutes' || name === 'inMinutes';
    const time = {
      [name]: isNumber ? Number(when.value.replace(',', '.')) : when.value.trim(),
    };
    await host.ask('POST', '/v1/schedules', {
      session: chat.value,
      task: task.value.trim(),
      ...time,
    });
    await host.act(async () => undefined);
  };
  return form(
    say('page.set.add'),
    // What was typed stays when the gateway refuses it.
    () => void add().catch(host.showError),
    labelled(say('page.set.chat'), chat),
    labelled(say('page.set.task'), task),
    labelled(say('page.set.when_kind'), kind),
    labelled(say('page.set.when_it_runs'), when),
  );
}

/** @param {Schedule} schedule */
function about({ session, timing, nextAt, lastAt }) {
  const next =
    nextAt === null
      ? say('page.set.paused')
      : h('span', {}, ...sayParts('page.schedules.next', { moment: moment(nextAt) }));
  return sayParts('page.set.schedule_about', {
    session,
    timing: describe(timing),
    next,
    moment: moment(lastAt),
  });
}

/** @param {Schedule['timing']} timing */
function describe(timing) {
  if (timing.kind === 'cron') return `${timing.expression} (${timing.timeZone})`;
  return timing.kind === 'at'
    ? say('page.schedules.once')
    : say('page.every.minutes', { count: Math.round(timing.everyMs / 60_000) });
}

/** @param {Schedule} schedule */
function cronOf({ timing }) {
  return timing.kind === 'cron' ? timing.expression : '';
}
