/** Multi-step work under kill -9: approvals, subagents, schedules, messages that join a running turn. */
import { setTimeout as pause } from 'node:timers/promises';
import { z } from 'zod';
import { runCampaign } from '../crash/campaign.ts';
import type { Verdict } from '../crash/judge/checker.ts';
import { type Failure, gatewayAt, kill, killAt, type Stage } from '../crash/failure.ts';
import { until } from '../crash/moments.ts';
import { schedulesRun } from '../crash/rows.ts';
import { TOKEN } from '../crash/scenario.ts';
import { type Campaign, repeated, RESUME_MS, runOptions, scaled } from './campaign.ts';

/** Interval between checks for questions, in milliseconds. */
const DECIDE_EVERY_MS = 100;
const REACHED_WITHIN_MS = 8_000;
/** Sessions in this order; the last ones let messages join a running turn. */
const SESSIONS = 12;
const STEERED = ['http:s08', 'http:s09'];
const COLLECTED = ['http:s10', 'http:s11'];
/** The session of all schedules. */
const CLOCK_SESSION = 'http:clock';

const waiting = z.object({ approvals: z.array(z.object({ id: z.string() })) });

async function call(stage: Stage, route: string, method: string, body?: object): Promise<Response> {
  const url = await gatewayAt(stage.scenario, 0).url();
  return await fetch(url + route, {
    method,
    headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
}

/** Approves every question that it `takes` twice, the way impatient users do. Returns a function that ends it, and counts. */
export function approver(
  stage: Stage,
  takes: (id: string) => boolean = () => true,
): { decided: () => number; close: () => Promise<void> } {
  const closing = new AbortController();
  let decided = 0;
  const work = async (): Promise<void> => {
    while (!closing.signal.aborted) {
      await pause(DECIDE_EVERY_MS);
      try {
        const { approvals } = waiting.parse(await (await call(stage, '/v1/approvals', 'GET')).json());
        for (const { id } of approvals.filter((one) => takes(one.id))) {
          decided += 1;
          for (let nth = 0; nth < 2; nth += 1)
            await call(stage, `/v1/approvals/${id}`, 'POST', { decision: 'approved' });
        }
      } catch {
        // The gateway is dead, or was killed meanwhile: the question is still there afterwards.
      }
    }
  };
  const working = work();
  return {
    decided: () => decided,
    async close() {
      closing.abort();
      // It may be waiting for a gateway that no longer starts.
      await Promise.race([working, pause(DECIDE_EVERY_MS * 10)]);
    },
  };
}

/** Kills as soon as a user decides something. */
function killAtDecision(count: () => number): Failure {
  return {
    name: 'K17',
    async strike(stage, at) {
      const before = count();
      await until(() => count() > before, REACHED_WITHIN_MS);
      await pause(stage.random() * 20);
      return await kill(stage, gatewayAt(stage.scenario, at));
    },
  };
}

/** Creates a schedule, makes it due, and kills while it fires. */
function killAtSchedule(tasks: string[]): Failure {
  return {
    name: 'K16',
    async strike(stage, at) {
      const task = `Task number ${tasks.length}.`;
      const made = await call(stage, '/v1/schedules', 'POST', {
        session: CLOCK_SESSION,
        task,
        inMinutes: 1,
      });
      if (!made.ok) throw new Error(`No schedule: ${made.status} ${await made.text()}`);
      tasks.push(task);
      await stage.scenario.read(
        (sql) => sql`
          update schedule set next_at = now(),
            timing = jsonb_set(timing, '{at}', to_jsonb(floor(extract(epoch from now()) * 1000)))
          where task = ${task} and next_at is not null`,
      );
      await pause(stage.random() * 1_500);
      return await kill(stage, gatewayAt(stage.scenario, at));
    },
  };
}

/** Each task ran once; in sessions with joining messages, every prompt has them once and in order, and misses none. */
async function audit({ scenario, people }: Stage, tasks: readonly string[]): Promise<Partial<Verdict>> {
  const end = performance.now() + REACHED_WITHIN_MS * 10;
  let runs = await scenario.read((sql) => schedulesRun(sql, CLOCK_SESSION));
  while (tasks.some((task) => !runs.has(task)) && performance.now() < end) {
    await pause(500);
    runs = await scenario.read((sql) => schedulesRun(sql, CLOCK_SESSION));
  }
  const lost = tasks.filter((task) => !runs.has(task)).map((task) => `${task} was not run`);
  const storedTwice = tasks.flatMap((task) =>
    (runs.get(task) ?? 0) > 1 ? [`${task} was run ${runs.get(task)} times`] : [],
  );
  const reordered = [...STEERED, ...COLLECTED].flatMap((key) => {
    const name = key.replace('http:', '');
    const said = people.accepted.filter(({ session }) => session === name).map(({ id }) => id);
    return misheard(said, scenario.contexts.get(name) ?? []).map((what) => `${key}: ${what}`);
  });
  return { lost, storedTwice, reordered };
}

/** What is wrong with the messages in the prompts of a session: each has some in a row, and the last one the last. */
function misheard(said: readonly string[], prompts: readonly string[][]): string[] {
  const whole = `,${said.join()},`;
  const strange = prompts.filter((ids) => !whole.includes(`,${ids.join()},`));
  const heard = new Set(prompts.flat());
  const missed = said.filter((id) => !heard.has(id));
  const [end, last] = [said.at(-1), prompts.at(-1)?.at(-1)];
  return [
    ...strange.map((ids) => `a prompt has ${ids.join()}`),
    ...(missed.length > 0 ? [`no prompt has ${missed.join()}`] : []),
    ...(end === last ? [] : [`the last prompt ends with ${last}, not with ${end}`]),
  ];
}

export const work: Campaign = {
  name: 'work',
  about: '150 kills over approvals (K17), schedules (K16), subagents, steered and collected messages',
  databases: ['postgres', 'embedded'],
  bars: { resumeMs: RESUME_MS },
  async run(setup) {
    const count = scaled(150, setup.share, 3);
    const tasks: string[] = [];
    let decided = (): number => 0;
    return await runCampaign({
      ...runOptions(setup),
      environment: { EFFECTS_RISK: 'dangerous' },
      config: { tools: { enabled: ['list_dir', 'spawn_agent'] } },
      tools: [[['unsafe']], [['agent']], [['agent', 'unsafe']], [['idempotent']], [['agent'], ['unsafe']]],
      joining: [...STEERED, ...COLLECTED],
      messages: count * 24,
      sessions: { http: SESSIONS },
      failures: repeated([killAtDecision(() => decided()), killAtSchedule(tasks), killAt('busy')], count),
      async prepare(stage) {
        for (const [queueMode, keys] of Object.entries({ steer: STEERED, collect: COLLECTED }))
          for (const key of keys) await call(stage, `/v1/sessions/${key}`, 'PATCH', { queueMode });
        await call(stage, `/v1/sessions/${CLOCK_SESSION}/messages`, 'POST', { content: 'What time is it?' });
        const own = approver(stage);
        ({ decided } = own);
        return own.close;
      },
      audit: (stage) => audit(stage, tasks),
    });
  },
};
