/** The scheduled tasks of OpenClaw, nanobot and Hermes, which store them alike: `{"jobs": [...]}` with a `schedule` each. */
import { z } from 'zod';
import { parseJson } from '../../lib/json/json.ts';
import { oneLine } from '../../lib/text.ts';
import type { ScheduleWhen } from '../../protocol/schedules.ts';
import { timeIn } from './chat-turns.ts';
import { type ImportItem, omitted } from './items.ts';

/** Jobs of one file. */
const MAX_JOBS = 1_000;
/** Characters of a name in the report. */
const NAME_CHARS = 80;

const time = z.union([z.string(), z.number()]).nullish();

/**
 * OpenClaw `src/cron/types.ts` (`CronJob`), nanobot `nanobot/cron/types.py` (`CronJob.from_store_dict`), Hermes
 * `website/docs/developer-guide/cron-internals.md`. Each field is named by those that write it.
 */
const jobShape = z.looseObject({
  id: z.string(),
  name: z.string().nullish(),
  enabled: z.boolean().nullish(),
  /** Hermes. */
  prompt: z.string().nullish(),
  script: z.unknown().optional(),
  no_agent: z.boolean().nullish(),
  schedule: z.looseObject({
    kind: z.string(),
    expr: z.string().nullish(),
    tz: z.string().nullish(),
    /** OpenClaw, nanobot. */
    everyMs: z.number().nullish(),
    every_ms: z.number().nullish(),
    at: time,
    atMs: time,
    at_ms: time,
    /** Hermes. */
    minutes: z.number().nullish(),
    run_at: time,
  }),
  /** OpenClaw, nanobot. */
  payload: z.looseObject({ message: z.string().nullish(), text: z.string().nullish() }).nullish(),
});

/** The tasks in the text of a jobs file; `file` is for the report. Never throws. */
export function jobsIn(file: string, text: string): ImportItem[] {
  const value = parseJson(text);
  const jobs = Array.isArray(value)
    ? value
    : z.looseObject({ jobs: z.array(z.unknown()) }).safeParse(value).data?.jobs;
  if (jobs === undefined) return [omitted(`the schedules in ${file}`, 'it is not JSON with a list of jobs')];
  const items = jobs.slice(0, MAX_JOBS).map(jobItem);
  if (jobs.length > MAX_JOBS) items.push(omitted('a schedule', `at most ${MAX_JOBS} are taken at once`));
  return items;
}

/** One task. Never throws. */
export function jobItem(value: unknown): ImportItem {
  const { data: job } = jobShape.safeParse(value);
  if (job === undefined) return omitted('a schedule', 'its fields are not those that Parley knows');
  const name = oneLine(job.name ?? '').slice(0, NAME_CHARS) || job.id;
  const label = `the schedule "${name}"`;
  if (job.enabled === false) return omitted(label, 'it is switched off');
  const task = (job.prompt ?? job.payload?.message ?? job.payload?.text ?? '').trim();
  if (task === '' || job.no_agent === true || typeof job.script === 'string')
    return omitted(label, 'it runs a program of its own instead of giving the model a task');
  const when = whenOf(job.schedule);
  if (when === undefined)
    return omitted(label, `Parley has no schedule of the kind ${oneLine(job.schedule.kind).slice(0, 40)}`);
  return { kind: 'schedule', id: job.id, name, when, task };
}

type JobSchedule = z.output<typeof jobShape>['schedule'];

function whenOf({
  kind,
  expr,
  tz,
  everyMs,
  every_ms,
  at,
  atMs,
  at_ms,
  minutes,
  run_at,
}: JobSchedule): ScheduleWhen | undefined {
  if (kind === 'cron' && typeof expr === 'string') return { cron: expr, timeZone: tz ?? undefined };
  const interval = everyMs ?? every_ms ?? (minutes ?? 0) * 60_000;
  if ((kind === 'every' || kind === 'interval') && interval > 0) return { everyMinutes: interval / 60_000 };
  const moment = timeIn(at ?? atMs ?? at_ms ?? run_at);
  if ((kind === 'at' || kind === 'once') && moment !== undefined) return { at: moment.toISOString() };
  return undefined;
}
