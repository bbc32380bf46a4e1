/** The screen about schedules: run, pause, edit, remove. */
import { askText, confirmDelete } from '../confirm.js';
import { h } from '../dom.js';
import { button, moment, row, rows, section } from './parts.js';
import { showHistory } from './schedule-history.js';
import { say } from '../texts.js';

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
      const words = await askText(say('page.set.task'), task, MAX_TASK_CHARS);
      if (words === null || words.trim() === '' || words === task) return;
      await host.act(() => host.ask('PATCH', path, { task: words }));
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
  return [section(say('page.schedules'), rows(shown, say('page.set.no_schedules')))];
}

/** @param {Schedule} schedule */
function about({ session, timing, nextAt, lastAt }) {
  const next =
    nextAt === null ? say('page.set.paused') : say('page.schedules.next', { moment: moment(nextAt) });
  return say('page.set.schedule_about', { session, timing: describe(timing), next, moment: moment(lastAt) });
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
