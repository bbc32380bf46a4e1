/**
 * The list of schedules in the sidebar: when each runs, and a button to remove it. Hidden while it is empty.
 */
import type { Schedule, Api } from '../api.ts';
import { confirmDelete } from '../confirm.ts';
import { byId, h, icon } from '../dom.ts';
import { NewestAnswer } from '../newest.ts';
import { nearTime, say, sayParts } from '../texts.ts';
import { timeElement } from '../times.ts';

const MINUTE_MS = 60_000;

/** The list of schedules. */
export class ScheduleList {
  #api;
  #open;
  #box = byId('schedules', HTMLElement);
  #count = byId('schedule-count', HTMLElement);
  #list = byId('schedule-list', HTMLElement);
  #newest = new NewestAnswer();

  constructor(api: Api, open: (key: string) => void) {
    this.#api = api;
    this.#open = open;
  }

  /** Reloads the list. */
  async refresh() {
    const mayShow = this.#newest.begin();
    const schedules = await this.#api.schedules();
    if (!mayShow()) return;
    this.#box.hidden = schedules.length === 0;
    this.#count.textContent = String(schedules.length);
    this.#list.replaceChildren(...schedules.map((schedule) => this.#row(schedule)));
  }

  #row({ id, session, task, timing, nextAt }: Schedule) {
    const next =
      nextAt === null
        ? [say('page.schedules.ended')]
        : sayParts('page.schedules.next', { moment: timeElement(nextAt, nearTime) });
    const open = h(
      'button',
      { type: 'button', class: 'session', title: task, onclick: () => this.#open(session) },
      h('span', { class: 'session-title', dir: 'auto' }, task),
      h('span', { class: 'session-meta' }, `${describeTiming(timing)} · `, ...next),
    );
    const remove = h(
      'button',
      {
        type: 'button',
        class: 'icon-button delete',
        'aria-label': say('page.schedules.delete', { task }),
        onclick: () => void this.#remove(id, task),
      },
      icon('M5 7h14M10 7V5h4v2M7 7l1 12h8l1-12'),
    );
    return h('div', { class: 'session-row' }, open, remove);
  }

  async #remove(id: string, task: string) {
    if (!(await confirmDelete(say('page.schedules.delete_ask', { task })))) return;
    await this.#api.removeSchedule(id);
    await this.refresh();
  }
}

function describeTiming(timing: Schedule['timing']) {
  if (timing.kind === 'cron') return timing.expression;
  if (timing.kind === 'at') return say('page.schedules.once');
  const minutes = Math.round(timing.everyMs / MINUTE_MS);
  if (minutes % 1_440 === 0) return say('page.every.days', { count: minutes / 1_440 });
  if (minutes % 60 === 0) return say('page.every.hours', { count: minutes / 60 });
  return say('page.every.minutes', { count: minutes });
}
