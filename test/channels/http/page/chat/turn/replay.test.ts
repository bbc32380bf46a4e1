/** A turn again on another model, and its mark for evaluations, on the page. */
import type { Locator } from 'playwright-core';
import { expect, it } from 'vitest';
import type { EvalMark, ReplayReport } from '../../../../../../src/protocol/agent/replays.ts';
import { objections } from '../../browser/axe.ts';
import { WAIT } from '../../browser/browser.ts';
import { describePageOnFakeGateway } from '../../browser/describe-page.ts';

const SIDE: ReplayReport['original'] = {
  model: 'big:7b',
  profileId: 'default',
  answer: 'It is **Lisbon**.',
  reason: 'completed',
  calls: [{ name: 'read_file', args: { path: 'a.txt' }, result: 'Portugal' }],
  iterations: 2,
  promptTokens: 1_200,
  completionTokens: 34,
  estimated: false,
  modelMs: 2_500,
  ms: 2_600,
  cost: { amount: 0.0042, currency: 'USD' },
};

describePageOnFakeGateway('replays on the page', (tab, fixture) => {
  async function openTrace(): Promise<Locator> {
    const page = await fixture.open();
    const turn = await fixture.ask('What is its capital?');
    turn.say('It is Lisbon.');
    turn.end();
    fixture.api.gateway.trace = async (_caller, turnId) => ({
      turnId,
      session: 'http:one',
      state: 'done',
      acceptedAt: new Date(0),
      code: 'answered',
      why: 'It was answered.',
      timeline: [],
    });
    await page.getByRole('button', { name: 'Trace: what happened in this turn' }).click();
    return page.getByRole('dialog', { name: 'Trace of a turn' });
  }

  it('show both answers side by side, with what each cost and what was not run', async () => {
    const asked: unknown[] = [];
    fixture.api.gateway.replays = {
      ...fixture.api.gateway.replays,
      replay: async (_caller, turnId, choice) => {
        asked.push(choice);
        return {
          turnId,
          session: 'http:one',
          question: 'What is its capital?',
          original: SIDE,
          replay: {
            ...SIDE,
            model: 'tiny:1b',
            answer: 'Perhaps Porto?',
            calls: [{ name: 'web_search', args: { query: 'capital' } }],
            cost: undefined,
          },
          missing: ['a picture that the model saw no longer exists'],
        };
      },
    };
    const dialog = await openTrace();
    await dialog.getByText('How would another model have answered?').click();
    await dialog.getByLabel('Model').selectOption('tiny:1b');
    await dialog.getByRole('button', { name: 'Ask it' }).click();
    const was = dialog.getByRole('region', { name: 'As it was' });
    await was.getByText('1,234 tokens · 2.5 s · $0.0042').waitFor();
    expect(await was.locator('strong').innerText()).toBe('Lisbon');
    const other = dialog.getByRole('region', { name: 'Replay' });
    await other.getByText('Perhaps Porto?').waitFor();
    await other.getByText('1,234 tokens · 2.5 s', { exact: true }).waitFor();
    await other.getByText('web_search {"query":"capital"} · not run').waitFor();
    await dialog.getByText('a picture that the model saw no longer exists').waitFor();
    expect(asked).toEqual([{ model: 'tiny:1b' }]);
    expect(await objections(dialog.page())).toEqual([]);
    await tab.screenshot('replay');
  });

  it('end when their dialog is closed, and say why one cannot be made', async () => {
    const ended: boolean[] = [];
    fixture.api.gateway.replays.replay = async (_caller, _turnId, _choice, signal) =>
      await new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => {
          ended.push(true);
          reject(signal.reason as Error);
        });
      });
    const dialog = await openTrace();
    await dialog.getByText('How would another model have answered?').click();
    await dialog.getByRole('button', { name: 'Ask it' }).click();
    await dialog.getByText('The other model is answering…').waitFor();
    await dialog.getByRole('button', { name: 'Close' }).click();
    await expect.poll(() => ended, WAIT).toEqual([true]);

    fixture.api.gateway.replays.replay = async () => undefined;
    await dialog.page().getByRole('button', { name: 'Trace: what happened in this turn' }).click();
    await dialog.getByText('How would another model have answered?').click();
    await dialog.getByRole('button', { name: 'Ask it' }).click();
    await dialog.getByText('There is no turn').waitFor();
  });

  it('mark an answer for evaluations, and take the mark back', async () => {
    const marks = new Set<string>();
    Object.assign(fixture.api.gateway.replays, {
      mark: async (_caller: unknown, turnId: string): Promise<EvalMark> => {
        marks.add(turnId);
        return {
          set: 'default',
          turnId,
          session: 'http:one',
          question: 'What is its capital?',
          checks: [],
          markedAt: new Date(0),
        };
      },
      unmark: async (_caller: unknown, turnId: string) => marks.delete(turnId),
    });
    const dialog = await openTrace();
    await dialog.getByRole('button', { name: 'Keep for evaluations' }).click();
    await dialog.getByText('Kept in the set “default”.').waitFor();
    expect(marks.size).toBe(1);
    await dialog.getByRole('button', { name: 'Do not keep it' }).click();
    await dialog.getByRole('button', { name: 'Keep for evaluations' }).waitFor();
    expect(marks.size).toBe(0);
  });
});
