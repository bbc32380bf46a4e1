/** The history of a schedule in a dialog: when each run was due, when it began, how it ended, and its trace. */
import { showTrace } from '../chat/turn/trace-panel.ts';
import { h } from '../dom.ts';
import { button, moment, table } from './parts.js';
import { dayAndClock, say } from '../texts.ts';
import { messageOf } from '../failures/in-place.js';

/** @typedef {import('../../wire.ts').WireRun} Run */

/**
 * Opens the dialog; it is filled when the runs have arrived.
 * @param {import('./parts.js').ScreenHost} host
 * @param {import('../api.ts').Schedule} schedule
 */
export async function showHistory(host, { id, task }) {
  const body = h('div', { 'aria-live': 'polite' }, say('page.set.runs_reading'));
  const close = h(
    'button',
    { type: 'button', class: 'text-button', onclick: () => dialog.close() },
    say('page.close'),
  );
  const title = h('h2', { dir: 'auto' }, say('page.set.runs_of', { task }));
  const dialog = h(
    'dialog',
    { class: 'trace', 'aria-label': say('page.set.runs_title') },
    title,
    body,
    close,
  );
  dialog.addEventListener('close', () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
  try {
    /** @type {{ runs: Run[] }} */
    const { runs } = await host.ask('GET', `/v1/schedules/${encodeURIComponent(id)}/runs`);
    body.replaceChildren(
      runs.length === 0
        ? h('p', { class: 'quiet' }, say('page.set.runs_none'))
        : table(
            say('page.set.runs_table'),
            [say('page.set.due'), say('page.set.started'), say('page.set.how_ended'), ''],
            runs.map((run) => cells(host, run)),
          ),
    );
  } catch (error) {
    body.replaceChildren(h('p', { class: 'error-text' }, messageOf(error)));
  }
}

/**
 * @param {import('./parts.js').ScreenHost} host
 * @param {Run} run
 */
function cells(host, { dueAt, at, outcome, result, turnId, endedAt }) {
  const read = () => host.ask('GET', `/v1/turns/${encodeURIComponent(turnId ?? '')}/trace`);
  const resultParts = endedAt === null ? result : h('span', {}, `${result}, `, moment(endedAt));
  return [
    moment(dueAt),
    outcome === 'begun' ? moment(at) : '–',
    resultParts,
    turnId === null
      ? ''
      : button(
          say('page.trace'),
          say('page.set.run_due', { moment: dayAndClock(dueAt) }),
          () => void showTrace(read),
        ),
  ];
}
