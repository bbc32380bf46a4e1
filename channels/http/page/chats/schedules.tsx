/** The list of schedules in the sidebar: when each runs, and a button to remove it. Absent while there are none. */
import { signal } from '@preact/signals';
import type { JSX } from 'preact';
import { api, type Schedule } from '../api.ts';
import { confirmDelete } from '../confirm.tsx';
import { run } from '../failures/show-error.ts';
import { openChat } from '../navigation.ts';
import { NewestAnswer } from '../newest.ts';
import { Icon } from '../parts/icon.tsx';
import { Time } from '../parts/time.tsx';
import { nearTime, say, sayParts } from '../texts.ts';

const MINUTE_MS = 60_000;

/** The schedules of all chats that this token sees. */
export class ScheduleList {
  readonly rows = signal<readonly Schedule[]>([]);
  readonly #newest = new NewestAnswer();

  /** Reloads the list. Rejects with `ApiError`. */
  async refresh(): Promise<void> {
    const mayShow = this.#newest.begin();
    const schedules = await api.schedules();
    if (mayShow()) this.rows.value = schedules;
  }

  /** Removes a schedule after a question. */
  async remove({ id, task }: Schedule): Promise<void> {
    if (!(await confirmDelete(say('page.schedules.delete_ask', { task })))) return;
    await api.removeSchedule(id);
    await this.refresh();
  }
}

/** The folded list. */
export function Schedules({ schedules }: { schedules: ScheduleList }): JSX.Element | null {
  const rows = schedules.rows.value;
  if (rows.length === 0) return null;
  return (
    <details id="schedules" class="schedules">
      <summary>
        <Icon name="right" />
        {say('page.schedules')} <span class="schedule-count">{rows.length}</span>
      </summary>
      <div id="schedule-list" class="schedule-list">
        {rows.map((schedule) => (
          <div class="session-row" key={schedule.id}>
            <button
              type="button"
              class="session"
              title={schedule.task}
              onClick={() => openChat(schedule.session)}
            >
              <span class="session-title" dir="auto">
                {schedule.task}
              </span>
              <span class="session-meta">
                {describeTiming(schedule.timing)} ·{' '}
                {schedule.nextAt === null
                  ? say('page.schedules.ended')
                  : sayParts('page.schedules.next', {
                      moment: <Time at={schedule.nextAt} format={nearTime} />,
                    })}
              </span>
            </button>
            <button
              type="button"
              class="icon-button delete"
              aria-label={say('page.schedules.delete', { task: schedule.task })}
              onClick={() => run(schedules.remove(schedule))}
            >
              <Icon name="trash" />
            </button>
          </div>
        ))}
      </div>
    </details>
  );
}

function describeTiming(timing: Schedule['timing']): string {
  if (timing.kind === 'cron') return timing.expression;
  if (timing.kind === 'at') return say('page.schedules.once');
  const minutes = Math.round(timing.everyMs / MINUTE_MS);
  if (minutes % 1_440 === 0) return say('page.every.days', { count: minutes / 1_440 });
  if (minutes % 60 === 0) return say('page.every.hours', { count: minutes / 60 });
  return say('page.every.minutes', { count: minutes });
}
