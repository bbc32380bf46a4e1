/** What happened in a turn, opened from its answer on the page. */
import type { Locator, Page } from 'playwright-core';
import { expect, it } from 'vitest';
import type { TurnExplanation } from '../../../../../../src/protocol/store/traces.ts';
import { objections } from '../../browser/axe.ts';
import { write, WAIT } from '../../browser/browser.ts';
import { describePageOnFakeGateway } from '../../browser/describe-page.ts';

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
      why: 'It was answered.',
      timeline: [],
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
});
