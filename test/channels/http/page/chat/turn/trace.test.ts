/** What happened in a turn, opened from its answer on the page. */
import type { Locator, Page } from 'playwright-core';
import { expect, it } from 'vitest';
import type { EvalMark, ReplayReport } from '../../../../../../src/protocol/agent/replays.ts';
import type { TurnExplanation } from '../../../../../../src/protocol/store/traces.ts';
import { objections } from '../../browser/axe.ts';
import { write, WAIT } from '../../browser/browser.ts';
import { describePageOnFakeGateway } from '../../browser/describe-page.ts';

const answered = { why: 'It was answered.', timeline: [] };

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

async function openTrace(page: Page): Promise<Locator> {
  await page.getByRole('button', { name: 'Trace: what happened in this turn' }).click();
  return page.getByRole('dialog', { name: 'Trace of a turn' });
}

describePageOnFakeGateway('the trace on the page', (tab, fixture) => {
  /** The page with one answer, whose turn has this trace. */
  async function openAnswered(
    trace: Pick<TurnExplanation, 'why' | 'timeline'> & Partial<TurnExplanation>,
  ): Promise<Page> {
    const page = await fixture.open();
    const turn = await fixture.ask('hello');
    turn.say('Hi.');
    turn.end();
    fixture.api.gateway.trace = async (_caller, turnId) => ({
      turnId,
      session: 'http:one',
      state: 'done',
      acceptedAt: new Date(0),
      code: 'answered',
      ...trace,
    });
    return page;
  }

  it('opens from an answer with its summary and its timeline, and closes', async () => {
    const page = await openAnswered({
      reason: 'completed',
      why: 'Answered in 1.2 s.',
      cost: { amount: 0.0042, currency: 'USD' },
      timeline: [
        { atMs: 0, kind: 'accepted', text: 'the message was accepted' },
        { atMs: 20, ms: 1_180, kind: 'model_call', text: 'model call 1: <b>qwen</b>', isError: true },
      ],
    });
    const dialog = await openTrace(page);
    await dialog.getByText('Answered in 1.2 s.').waitFor();
    await dialog.getByText('Cost: $0.0042').waitFor();
    await expect
      .poll(() => dialog.locator('tr').allInnerTexts(), WAIT)
      .toEqual([
        expect.stringContaining('the message was accepted'),
        expect.stringMatching(/\+20 ms\s+1\.2 s\s+model call 1: <b>qwen<\/b>/),
      ]);
    await tab.screenshot('trace');
    await dialog.getByRole('button', { name: 'Close' }).click();
    await dialog.waitFor({ state: 'detached' });
  });

  it('shows what was sent to the model, which is loaded only when it is opened', async () => {
    const page = await openAnswered({
      ...answered,
      prompt: {
        iteration: 1,
        model: 'qwen',
        omitted: 3,
        tools: [{ name: 'read_file', tokens: 90 }],
        messages: [
          { role: 'system', tokens: 2_400, content: 'You are <b>helpful</b>.' },
          { role: 'user', tokens: 2, content: 'hello' },
        ],
      },
    });
    const asked: string[] = [];
    page.on('request', (request) => void asked.push(request.url()));
    const dialog = await openTrace(page);
    await dialog.getByText('It was answered.').waitFor();
    expect(asked.filter((url) => url.includes('include=prompt'))).toEqual([]);
    await dialog.getByText('What was sent to the model').click();
    await dialog.getByText('Tools: read_file (≈ 90)').waitFor();
    await dialog.getByText('3 older messages of the prompt were not stored.').waitFor();
    await dialog.getByText('≈ 2,400 tokens').click();
    await expect.poll(() => dialog.locator('pre').first().innerText(), WAIT).toBe('You are <b>helpful</b>.');
    expect(await objections(page)).toEqual([]);
    await tab.screenshot('trace-prompt');
  });

  it('opens from a running turn, and from one that waits behind it', async () => {
    const page = await fixture.open();
    await fixture.ask('the long one');
    await write(page, 'the waiting one');
    const traced: string[] = [];
    fixture.api.gateway.trace = async (_caller, turnId) => {
      traced.push(turnId);
      return undefined;
    };
    const buttons = page.getByRole('button', {
      name: 'Trace: what happened in this turn',
    });
    for (const at of [0, 1]) {
      await buttons.nth(at).click();
      const dialog = page.getByRole('dialog', { name: 'Trace of a turn' });
      await dialog.getByText('There is no turn').waitFor();
      await dialog.getByRole('button', { name: 'Close' }).click();
      await dialog.waitFor({ state: 'detached' });
    }
    expect(new Set(traced).size).toBe(2);
  });

  it('shows the answer of another model beside its own, with what each cost and what was not run', async () => {
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
    const dialog = await openTrace(await openAnswered(answered));
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

  it('ends a replay when it is closed, and says why one cannot be made', async () => {
    const ended: boolean[] = [];
    fixture.api.gateway.replays.replay = async (_caller, _turnId, _choice, signal) =>
      await new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => {
          ended.push(true);
          reject(signal.reason as Error);
        });
      });
    const dialog = await openTrace(await openAnswered(answered));
    await dialog.getByText('How would another model have answered?').click();
    await dialog.getByRole('button', { name: 'Ask it' }).click();
    await dialog.getByText('The other model is answering…').waitFor();
    await dialog.getByRole('button', { name: 'Close' }).click();
    await expect.poll(() => ended, WAIT).toEqual([true]);

    fixture.api.gateway.replays.replay = async () => undefined;
    await openTrace(dialog.page());
    await dialog.getByText('How would another model have answered?').click();
    await dialog.getByRole('button', { name: 'Ask it' }).click();
    await dialog.getByText('There is no turn').waitFor();
  });

  it('marks an answer for evaluations, and takes the mark back', async () => {
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
    const dialog = await openTrace(await openAnswered(answered));
    await dialog.getByRole('button', { name: 'Keep for evaluations' }).click();
    await dialog.getByText('Kept in the set “default”.').waitFor();
    expect(marks.size).toBe(1);
    await dialog.getByRole('button', { name: 'Do not keep it' }).click();
    await dialog.getByRole('button', { name: 'Keep for evaluations' }).waitFor();
    expect(marks.size).toBe(0);
  });
});
