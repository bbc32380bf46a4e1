/** The work of a turn in a real browser: the plan's card, the todo list, subagents. */
import { beforeEach, expect, it, vi } from 'vitest';
import type { EventBody } from '../../../../../src/protocol/event.ts';
import type { Plan, PlanStep } from '../../../../../src/protocol/agent/plan.ts';
import { plan, step, withStatus } from '../../../../fakes/gateway/shown-plans.ts';
import { chooseInChat, WAIT } from '../browser/browser.ts';
import { describePageOnFakeGateway, PHONE } from '../browser/describe-page.ts';

const STEPS: PlanStep[] = [
  step(0, { description: 'Find out which days are free', executor: { kind: 'tool', tool: 'read_file' } }),
  step(1, { description: 'Compare flights', executor: { kind: 'agent', profileId: 'researcher' } }),
  step(2, { description: 'Look for a small hotel near the river, not above 120 € a night' }),
  step(3, { description: 'Write it all down as one page', executor: { kind: 'tool', tool: 'write_file' } }),
];
const TRIP: Plan = plan(STEPS, { goal: 'A long weekend in Lisbon' });

describePageOnFakeGateway('the work of a turn', (tab, fixture) => {
  beforeEach(() => fixture.open());

  const marks = (): Promise<(string | null)[]> =>
    tab.page.locator('.step-mark').evaluateAll((all) => all.map((mark) => mark.getAttribute('aria-label')));

  it('shows a plan as a card whose steps progress live (N-26, S-39, S-41)', async () => {
    const turn = await fixture.ask('Plan a long weekend in Lisbon for two, please.');
    turn.follow(TRIP);
    const card = tab.page.getByRole('group', { name: /^Plan/ });
    await card.getByText('A long weekend in Lisbon').waitFor();
    expect(await marks()).toEqual(['to do', 'to do', 'to do', 'to do']);
    let now = withStatus(withStatus(TRIP, 0, 'done'), 1, 'running');
    turn.emit({ type: 'step_changed', step: now.steps[0]! });
    turn.emit({ type: 'step_changed', step: now.steps[1]! });
    await card.getByText('1 of 4').waitFor();
    expect(await marks()).toEqual(['done', 'running', 'to do', 'to do']);
    await expect
      .poll(() => card.locator('.step-by').allInnerTexts(), WAIT)
      .toEqual(['read_file', 'researcher', 'write_file']);
    turn.say('I have your free days. Now the flights.');
    await tab.screenshot('plan-running');
    now = withStatus(now, 1, 'failed');
    turn.emit({ type: 'step_changed', step: now.steps[1]! });
    turn.emit({ type: 'agent_thinking', step: now.steps[1]! });
    await card.getByText('thinking about what to do').waitFor();
    expect(await card.locator('.step.analysed').count()).toBe(1);
    expect(await card.getAttribute('class')).toContain('recovering');
    await tab.screenshot('plan-recovering');
    const revised = {
      ...now,
      steps: [
        now.steps[0]!,
        step(1, { id: 'n', description: 'Ask the railway instead', revision: 'no flights on Friday' }),
        ...now.steps.slice(2),
      ],
    };
    turn.emit({ type: 'plan_revised', plan: revised, reason: 'no flights on Friday' });
    await card.getByText('Ask the railway instead').waitFor();
    await expect
      .poll(() => card.locator('.step-revision').allInnerTexts(), WAIT)
      .toEqual(['no flights on Friday']);
    turn.emit({
      type: 'retry_attempt',
      step: { ...revised.steps[1]!, status: 'running', attempts: 2 },
      attempt: 2,
    });
    await card.getByText('attempt 2').waitFor();
    for (const one of revised.steps.slice(1))
      turn.emit({ type: 'step_changed', step: { ...one, status: 'done' } });
    turn.emit({ type: 'plan_completed' });
    await card.getByText('completed').waitFor();
    expect(await card.getAttribute('class')).not.toContain('recovering');
    turn.end();
  });

  it('shows the text of a step in its own fold, which starts over when the call is repeated (S-41)', async () => {
    const turn = await fixture.ask('Plan it');
    turn.follow(TRIP);
    const msgId = `${turn.id}.3001`;
    const think = (...deltas: string[]): void => {
      turn.emit({ type: 'thinking_started', msgId, title: 'Step 3: Look for a small hotel' });
      for (const delta of deltas) turn.emit({ type: 'thinking_delta', msgId, delta });
    };
    think('There is one at');
    const fold = tab.page.locator('details.thinking');
    await fold.getByText('There is one at').waitFor({ state: 'attached' });
    turn.emit({ type: 'thinking_finished', msgId });
    think('The Tejo Gateway, ', '110 €.');
    await fold.getByText('The Tejo Gateway, 110 €.').waitFor({ state: 'attached' });
    expect(await fold.count()).toBe(1);
    await expect.poll(() => fold.locator('summary').innerText(), WAIT).toBe('Step 3: Look for a small hotel');
    expect(await fold.textContent()).not.toContain('There is one at');
    turn.say('I found one.');
    turn.end();
    await tab.page.locator('.turn .md', { hasText: 'I found one.' }).waitFor();
    await expect.poll(() => tab.page.locator('.turn .md').allInnerTexts(), WAIT).toEqual(['I found one.']);
  });

  it('is shown as stored after a reload', async () => {
    const turn = await fixture.ask('Plan it');
    turn.follow(TRIP);
    turn.say('Done.');
    turn.store({ ...withStatus(withStatus(TRIP, 0, 'done'), 1, 'failed', 3), state: 'cancelled' });
    turn.end();
    await tab.page.reload();
    const card = tab.page.getByRole('group', { name: /^Plan/ });
    await card.getByText('cancelled').waitFor();
    expect(await marks()).toEqual(['done', 'failed', 'to do', 'to do']);
    await card.getByText('attempt 3').waitFor();
    await expect.poll(() => tab.page.locator('.turn .md').allInnerTexts(), WAIT).toEqual(['Done.']);
  });

  it('updates the todo list, and hides it when it only repeats the plan (N-27)', async () => {
    const turn = await fixture.ask('Tidy up');
    const items = STEPS.map(({ description }) => ({ text: description, status: 'pending' as const }));
    const list = tab.page.getByRole('region', { name: 'To do' });
    turn.emit({ type: 'todo_changed', items });
    await list.getByText('0 of 4').waitFor();
    turn.emit({
      type: 'todo_changed',
      items: items.map((item, n) => ({
        ...item,
        status: (['done', 'in_progress', 'failed', 'skipped'] as const)[n] ?? 'pending',
      })),
    });
    await list.getByText('2 of 4').waitFor();
    expect(await list.getByRole('img', { name: 'in progress' }).count()).toBe(1);
    await tab.screenshot('todos');
    turn.follow(TRIP);
    turn.emit({ type: 'todo_changed', items });
    await list.waitFor({ state: 'hidden' });
    turn.end();
  });

  it('shows what a subagent does, folded under the call that started it (N-56, B-46)', async () => {
    const turn = await fixture.ask('Compare the flights');
    const from = { agentId: 'a1', isSubagent: true };
    const task = 'Compare flights to Lisbon, Friday to Monday';
    const call = turn.tool('spawn_agent', { task, profile_id: 'researcher' });
    turn.emit({ type: 'subagent_spawned', profileId: 'researcher', task }, from);
    const agent = tab.page.locator('.tool > .agent');
    await agent.getByText('researcher').waitFor();
    await vi.waitFor(async () => expect(await agent.locator('.agent-doing').innerText()).toBe(task), WAIT);
    turn.emit({ type: 'tool_call', toolCallId: 'n1', name: 'web_search', args: { query: 'LIS' } }, from);
    await vi.waitFor(
      async () => expect(await agent.locator('.agent-doing').innerText()).toBe('web_search'),
      WAIT,
    );
    turn.emit(
      { type: 'tool_result', toolCallId: 'n1', name: 'web_search', result: '3 found', isError: false },
      from,
    );
    turn.emit({ type: 'stream_chunk', msgId: 'c1', delta: 'The **cheapest** is at noon.' }, from);
    expect(await agent.getByText('cheapest').isVisible()).toBe(false);
    await agent.locator('> summary').click();
    await agent.getByText('cheapest').waitFor();
    await agent.locator('.tool').getByText('done', { exact: true }).waitFor();
    await tab.screenshot('subagent');
    expect(await tab.page.locator('.turn > .answer > .md').count()).toBe(0);
    turn.emit({ type: 'subagent_completed', result: 'At noon.', completedNormally: true }, from);
    turn.result(call, 'spawn_agent', 'At noon.');
    turn.say('Fly at noon.');
    turn.end();
    await tab.page.locator('.turn-foot time').waitFor();
    await expect
      .poll(() => tab.page.locator('.turn > .answer > .md').allInnerTexts(), WAIT)
      .toEqual(['Fly at noon.']);
    expect(await agent.getAttribute('class')).toContain('done');
  });

  it('keeps showing a background subagent after its turn has ended (B-31)', async () => {
    const turn = await fixture.ask('Look for a hotel, there is no hurry');
    const from = { agentId: 'b1', isSubagent: true };
    const task = 'Look for a hotel';
    const call = turn.tool('spawn_agent', { task, background: true });
    turn.emit({ type: 'subagent_spawned', profileId: 'researcher', task }, from);
    turn.result(call, 'spawn_agent', 'It is working in the background.');
    turn.say('I have somebody look for one.');
    turn.end();
    await tab.page.locator('.turn-foot time').waitFor();
    const agent = tab.page.locator('.tool > .agent');
    const later = (body: EventBody): void =>
      fixture.api.gateway.events.emit(`http:${turn.message.chatId}`, { ...body, ...from });
    later({ type: 'tool_call', toolCallId: 'n1', name: 'web_search', args: { query: 'hotel' } });
    await vi.waitFor(
      async () => expect(await agent.locator('.agent-doing').textContent()).toBe('web_search'),
      WAIT,
    );
    later({ type: 'subagent_completed', result: 'Hotel Tejo.', completedNormally: true });
    await vi.waitFor(async () => expect(await agent.getAttribute('class')).toContain('done'), WAIT);
  });

  it('mentions that the context was compressed, and that another profile took over', async () => {
    const turn = await fixture.ask('go on');
    turn.emit({ type: 'context_compressed', before: 12_000, after: 2_500 });
    turn.emit({ type: 'profile_switched', profileId: 'coder' });
    await tab.page.getByText('Earlier messages were summarized').waitFor();
    await tab.page.getByText('Switched to the profile “coder”.').waitFor();
    expect(await tab.page.locator('.turn-note:visible').count()).toBe(2);
    turn.end();
  });

  it('shows and changes the plan mode, except while a turn runs (S-40, S-42)', async () => {
    const mode = tab.page.locator('#mode');
    const turn = await fixture.ask('hello');
    await expect
      .poll(() => mode.locator('option').allTextContents(), WAIT)
      .toEqual(['Planner', 'Teacher', 'Agentic']);
    await vi.waitFor(async () => expect(await mode.isDisabled()).toBe(true), WAIT);
    turn.end();
    await vi.waitFor(async () => expect(await mode.isEnabled()).toBe(true), WAIT);
    await chooseInChat(tab.page, 'mode', 'agentic');
    await vi.waitFor(async () => expect(await tab.page.locator('.choices.agentic').count()).toBe(1), WAIT);
    await tab.screenshot('mode-agentic');
    await tab.page.reload();
    await vi.waitFor(async () => expect(await mode.inputValue()).toBe('agentic'), WAIT);
  });

  it('fits a phone in dark mode', async () => {
    await fixture.open(PHONE);
    const turn = await fixture.ask('Plan a long weekend in Lisbon for two, please.');
    turn.follow(TRIP);
    const now = withStatus(withStatus(TRIP, 0, 'done'), 1, 'running', 2);
    turn.emit({ type: 'step_changed', step: now.steps[0]! });
    turn.emit({ type: 'step_changed', step: now.steps[1]! });
    turn.store(now);
    const task = 'Compare flights to Lisbon, Friday to Monday';
    turn.tool('spawn_agent', { task });
    turn.emit(
      { type: 'subagent_spawned', profileId: 'researcher', task },
      { agentId: 'a', isSubagent: true },
    );
    await tab.page.getByText('attempt 2').waitFor();
    await tab.screenshot('plan-phone');
    const wider = await tab.page.evaluate(() => document.documentElement.scrollWidth > window.innerWidth);
    expect(wider).toBe(false);
    turn.end();
  });
});
