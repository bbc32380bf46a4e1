/** The screen about schedules: run, pause, edit, remove. */
import { askText, confirmDelete } from '../confirm.js';
import { h } from '../dom.js';
import { button, moment, row, rows, section } from './parts.js';
import { showHistory } from './schedule-history.js';

/** @typedef {import('../api.js').Schedule} Schedule */

/** The gateway refuses a longer one. */
const MAX_TASK_CHARS = 4_000;

/** @type {import('./parts.js').Screen} */
export async function schedulesScreen(host) {
  /** @type {{ schedules: Schedule[] }} */
  const { schedules } = await host.ask('GET', '/v1/schedules');
  const shown = schedules.map((schedule) => {
    const { id, task, nextAt } = schedule;
    const path = `/v1/schedules/${encodeURIComponent(id)}`;
    const edit = async () => {
      const words = await askText('What is to be done?', task, MAX_TASK_CHARS);
      if (words === null || words.trim() === '' || words === task) return;
      await host.act(() => host.ask('PATCH', path, { task: words }));
    };
    const retime = async () => {
      const cron = await askText('When, as a cron line (such as 0 9 * * 1-5)?', cronOf(schedule));
      if (cron === null || cron.trim() === '') return;
      await host.act(() => host.ask('PATCH', path, { cron }));
    };
    const remove = async () => {
      if (await confirmDelete(`Delete the schedule “${task}”?`))
        await host.act(() => host.ask('DELETE', path));
    };
    const isPaused = nextAt === null;
    const turn = () => void host.act(() => host.ask('PATCH', path, { paused: !isPaused }));
    return row(
      task,
      about(schedule),
      button('Run now', task, () => void host.act(() => host.ask('POST', `${path}/run`))),
      button(isPaused ? 'Resume' : 'Pause', task, turn),
      button('Edit', task, () => void edit()),
      button('Change time', task, () => void retime()),
      button('History', task, () => void showHistory(host, schedule)),
      h('a', { class: 'text-button', href: `#${schedule.session}` }, 'Its chat'),
      button('Delete', task, () => void remove(), 'danger'),
    );
  });
  return [section('Schedules', rows(shown, 'There are no schedules. /schedule add in a chat makes one.'))];
}

/** @param {Schedule} schedule */
function about({ session, timing, nextAt, lastAt }) {
  const next = nextAt === null ? 'paused or over' : `next ${moment(nextAt)}`;
  return `${session} · ${describe(timing)} · ${next} · last ${moment(lastAt)}`;
}

/** @param {Schedule['timing']} timing */
function describe(timing) {
  if (timing.kind === 'cron') return `${timing.expression} (${timing.timeZone})`;
  return timing.kind === 'at' ? 'once' : `every ${Math.round(timing.everyMs / 60_000)} min`;
}

/** @param {Schedule} schedule */
function cronOf({ timing }) {
  return timing.kind === 'cron' ? timing.expression : '';
}
