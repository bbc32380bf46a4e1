/**
 * The history of a schedule, as its owner reads it: over HTTP, with the command, and on the page with the trace of a
 * run.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { scheduleCommand } from '../../../src/commands/schedule.ts';
import { loadConfig } from '../../../src/config.ts';
import { describePage } from '../../channels/http/page/browser/describe-page.ts';
import { describeGateway, type GatewayFixture, openGatewayFixture, OWNER, WAIT } from '../setup.ts';
import { goToScreen } from './settings/setup.ts';

interface Run {
  dueAt: string;
  at: string;
  outcome: string;
  result: string;
  turnId: string | null;
  endedAt: string | null;
}

const TASK = 'Tell me the tides';

async function addSchedule(fixture: GatewayFixture): Promise<string> {
  await fixture.post('tides', 'hello');
  await fixture.idle('http:tides');
  const json = { session: 'http:tides', task: TASK, everyMinutes: 60 };
  return (await (await fixture.call('/v1/schedules', { json })).json()).id;
}

async function runsOf(fixture: GatewayFixture, id: string): Promise<Run[]> {
  return (await (await fixture.call(`/v1/schedules/${id}/runs`)).json()).runs;
}

describeGateway('the history of a schedule', {}, (fixture) => {
  it('has the turn of each run and its end, what was missed, and is deleted with the schedule', async () => {
    const id = await addSchedule(fixture());
    expect(await runsOf(fixture(), id)).toEqual([]);
    const command = async (...args: string[]): Promise<string> =>
      await scheduleCommand(args)(fixture().store, loadConfig(fixture().env));
    expect(await command('history', id)).toContain('No runs yet.');

    fixture().ollama.answer({ text: 'High at noon.' }, { when: TASK });
    // As if no gateway had run for three and a half hours.
    await fixture().sql`
      update schedule set next_at = date_trunc('milliseconds', now() - interval '210 minutes') where id = ${id}`;
    await fixture().modelCall(TASK);
    await fixture().idle('http:tides');
    const [missed, begun, ...more] = await runsOf(fixture(), id);
    expect(more).toEqual([]);
    expect(begun).toMatchObject({ outcome: 'begun', result: 'completed', endedAt: expect.any(String) });
    expect(Date.parse(begun?.at ?? '') - Date.parse(begun?.dueAt ?? '')).toBeGreaterThan(3 * 3_600_000);
    expect(missed).toMatchObject({ outcome: 'missed', turnId: null, endedAt: null });
    expect(missed?.result).toMatch(/^3 runs were missed because no gateway was running/);
    const trace = await (await fixture().call(`/v1/turns/${begun?.turnId}/trace`)).json();
    expect(trace).toMatchObject({ session: 'http:tides', reason: 'completed' });
    expect(await command('history', id)).toMatch(
      new RegExp(`: completed  npx parley trace ${begun?.turnId}$`, 'm'),
    );

    expect((await fixture().call('/v1/schedules/none/runs')).status).toBe(404);
    await fixture().call(`/v1/schedules/${id}`, { method: 'DELETE' });
    expect((await fixture().call(`/v1/schedules/${id}/runs`)).status).toBe(404);
    expect(await fixture().sql`select from schedule_run`).toHaveLength(0);
  });

  it('explains why a run was skipped', async () => {
    const id = await addSchedule(fixture());
    fixture().ollama.answer({ text: 'slow', hold: true }, { when: 'take your time' });
    await fixture().post('tides', 'take your time');
    const call = await fixture().modelCall('take your time');
    for (let nth = 0; nth < 21; nth += 1) await fixture().post('tides', `more ${nth}`);
    await fixture().call(`/v1/schedules/${id}/run`, { method: 'POST' });
    await expect
      .poll(async () => (await runsOf(fixture(), id)).map(({ result }) => result), WAIT)
      .toEqual(['skipped: too many messages were waiting in the chat, which /stop drops']);
    await fixture().call('/v1/sessions/http:tides/stop', { method: 'POST' });
    call.release();
    await fixture().idle('http:tides');
  });
});

describePage('the history of a schedule on the page', (tab) => {
  let fixture: GatewayFixture;
  beforeAll(async () => void (fixture = await openGatewayFixture()));
  afterAll(() => fixture.close());

  it('lists the runs, and opens the trace of one', async () => {
    const id = await addSchedule(fixture);
    await fixture.call(`/v1/schedules/${id}/run`, { method: 'POST' });
    await fixture.modelCall(TASK);
    await fixture.idle('http:tides');
    const page = await tab.open(fixture.gateway.url, { token: OWNER });
    await goToScreen(page, 'schedules');
    await page.getByRole('button', { name: `History: ${TASK}` }).click();
    const runs = page.getByRole('dialog', { name: 'Runs of a schedule' });
    await runs.getByText('completed').waitFor();
    expect(await runs.locator('tbody tr').count()).toBe(1);
    await tab.screenshot('schedule-history');
    await runs.getByRole('button', { name: 'Trace' }).click();
    await page
      .getByRole('dialog', { name: 'Trace of a turn' })
      .getByText('the turn ended: completed')
      .waitFor();
    await tab.screenshot('schedule-history-trace');
  });

  it('adds a schedule to a chat, and keeps what was typed if the gateway refuses it', async () => {
    await fixture.post('harbour', 'hello');
    await fixture.idle('http:harbour');
    const page = await tab.open(fixture.gateway.url, { token: OWNER });
    await goToScreen(page, 'schedules');
    await page.getByRole('combobox', { name: 'Chat', exact: true }).selectOption('http:harbour');
    await page.getByLabel('What should be done?').fill('Name the ships in port');
    await page.getByRole('combobox', { name: 'Timing' }).selectOption('cron');
    await page.getByLabel('When', { exact: true }).fill('whenever');
    await page.getByRole('button', { name: 'Add', exact: true }).click();
    await page.locator('.settings-form .error-text').filter({ hasText: /./ }).waitFor();
    expect(await page.getByLabel('What should be done?').inputValue()).toBe('Name the ships in port');
    await page.getByRole('combobox', { name: 'Timing' }).selectOption('everyMinutes');
    await page.getByLabel('When', { exact: true }).fill('90');
    await page.getByRole('button', { name: 'Add', exact: true }).click();
    await page.locator('.settings-row-title', { hasText: 'Name the ships in port' }).waitFor();
    await tab.screenshot('schedule-added');
    const { schedules } = await (await fixture.call('/v1/schedules?session=http:harbour')).json();
    expect(schedules).toMatchObject([
      {
        task: 'Name the ships in port',
        timing: { kind: 'every', everyMs: 5_400_000 },
      },
    ]);
  });
});
