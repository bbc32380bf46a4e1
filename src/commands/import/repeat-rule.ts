/** Turns the simple rules of RFC 5545 (`FREQ=DAILY;BYHOUR=9`) into schedules. */
import type { ScheduleWhen } from '../../protocol/schedules.ts';

const DAYS = ['SU', 'MO', 'TU', 'WE', 'TH', 'FR', 'SA'];
const MINUTES: Readonly<Record<string, number>> = { MINUTELY: 1, HOURLY: 60 };

/** The schedule of a rule; undefined for one that no cron line says. Never throws. */
export function whenOfRule(rule: string): ScheduleWhen | undefined {
  const line = rule.split('\n').find((one) => one.includes('FREQ=')) ?? '';
  const fields = new Map(
    line
      .replace(/^RRULE:/, '')
      .split(';')
      .map((field) => field.trim().split('=', 2) as [string, string | undefined]),
  );
  const take = (name: string): string | undefined => {
    const value = fields.get(name);
    fields.delete(name);
    return value;
  };
  const frequency = take('FREQ') ?? '';
  const interval = Number(take('INTERVAL') ?? 1);
  const [minute, hours] = [take('BYMINUTE') ?? '0', take('BYHOUR')];
  take('BYSECOND');
  take('WKST');
  const days = take('BYDAY');
  const monthDays = take('BYMONTHDAY');
  // Whatever is left limits the rule in a way that the schedule would not.
  if (fields.size > 0 || ![minute, hours ?? '0', monthDays ?? '1'].every((list) => /^\d+(,\d+)*$/.test(list)))
    return undefined;
  const step = MINUTES[frequency];
  if (step !== undefined && hours === undefined && days === undefined && monthDays === undefined)
    return { everyMinutes: step * interval };
  // Without an hour, a rule runs at the time of day at which it was made.
  if (interval !== 1 || hours === undefined) return undefined;
  const weekDays = days?.split(',').map((day) => DAYS.indexOf(day)) ?? [];
  if (weekDays.includes(-1)) return undefined;
  if (frequency === 'DAILY' && monthDays === undefined)
    return { cron: `${minute} ${hours} * * ${weekDays.length === 0 ? '*' : weekDays.join(',')}` };
  if (frequency === 'WEEKLY' && weekDays.length > 0 && monthDays === undefined)
    return { cron: `${minute} ${hours} * * ${weekDays.join(',')}` };
  if (frequency === 'MONTHLY' && monthDays !== undefined && days === undefined)
    return { cron: `${minute} ${hours} ${monthDays} * *` };
  return undefined;
}
