/**
 * The demo as a newcomer experiences it: the demo's own home and persona, only faster, and nothing else but the
 * gateway.
 */
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { AgentEvent } from '../../src/protocol/event.ts';
import type { Plan } from '../../src/protocol/agent/plan.ts';
import { chooseInChat, write } from '../channels/http/page/browser/browser.ts';
import { describePage } from '../channels/http/page/browser/describe-page.ts';
import { readPanel } from '../channels/http/page/plan/panel.ts';
import { eventsUntil } from '../channels/http/client.ts';
import { writeDemoHome } from '../fakes/demo/home.ts';
import { demoAnswer } from '../fakes/demo/answer.ts';
import { type GatewayFixture, openGatewayFixture, OWNER, WAIT } from './setup.ts';

describe('the demo', () => {
  let fixture: GatewayFixture;
  beforeAll(async () => {
    const model = { fallback: demoAnswer, wait: () => Promise.resolve() };
    fixture = await openGatewayFixture({ furnish: writeDemoHome, model });
  });
  afterAll(() => fixture.close());

  const command = async (id: string, content: string): Promise<void> => {
    const answer = await fixture.call(`/v1/sessions/http:${id}/messages`, { json: { content } });
    expect(await answer.json()).toMatchObject({ handled: true });
  };
  /** Says it in a chat; returns all events until the end of the turn. */
  const ask = async (id: string, content: string): Promise<AgentEvent[]> => {
    // Readers do not see turns that are already over: the chat exists, and is followed, before anything is
    // said.
    await command(id, '/queue queue');
    const stream = await fixture.call(`/v1/sessions/http:${id}/events`);
    expect(stream.status).toBe(200);
    const turnId = await fixture.post(id, content);
    const ended = (event: AgentEvent): boolean => event.type === 'turn_ended' && event.turnId === turnId;
    return (await eventsUntil(stream, ended)).events.filter((event) => event.turnId === turnId);
  };
  const planOf = async (id: string): Promise<Plan> => {
    const record = await fixture.store.plans.latestPlan(`http:${id}`);
    if (record === undefined) throw new Error('there is no plan');
    return record.plan;
  };
  const stepsOf = ({ steps }: Plan): [string, string][] =>
    steps.map((step) => [step.description, step.status]);
  const lastAnswer = async (id: string): Promise<string> =>
    (await fixture.messages(`http:${id}`)).at(-1)?.content ?? '';

  it('answers a greeting immediately with one answer, which suggests what to try (N-15)', async () => {
    const events = await ask('greeting', 'hello');
    expect(events.map(({ type }) => type)).not.toContain('plan_ready');
    const deltas = events.flatMap((event) => (event.type === 'stream_chunk' ? [event.delta] : []));
    const stored = await fixture.messages('http:greeting');
    expect(stored.map(({ role, isPlan }) => [role, isPlan])).toEqual([
      ['user', false],
      ['assistant', false],
    ]);
    expect(deltas.join('')).toBe(stored[1]?.content);
    expect(stored[1]?.content).toMatch(/You said: "hello"[^]*plan a picnic[^]*This is the demo/);
    const calls = fixture.ollama.calls.filter(({ body }) => JSON.stringify(body).includes('hello'));
    expect(calls).toHaveLength(2);
  });

  it('plans a picnic with one step corrected, and sums up the result (S-01, S-13, S-20)', async () => {
    const events = await ask('picnic', 'plan a picnic');
    const types = events.map(({ type }) => type);
    expect(types.indexOf('thinking_delta')).toBeLessThan(types.indexOf('plan_ready'));
    for (const once of ['plan_ready', 'agent_thinking', 'plan_revised', 'plan_completed']) {
      expect(types.filter((type) => type === once)).toEqual([once]);
    }
    const plan = await planOf('picnic');
    expect(plan).toMatchObject({ goal: 'plan a picnic', mode: 'agentic', state: 'completed' });
    expect(stepsOf(plan)).toEqual([
      ['Look at what is in the folder', 'done'],
      ['Write first notes into picnic.md', 'done'],
      ['Read the notes in picnic.md', 'done'],
      ['Say what the picnic needs', 'done'],
    ]);
    expect(plan.steps.map(({ corrections }) => corrections)).toEqual([0, 0, 1, 0]);
    expect(plan.steps[1]?.revision).toContain('picnic.md is not there yet');
    expect(await lastAnswer('picnic')).toMatch(
      /picnic is done[^]*- who comes along[^]*repaired itself[^]*This is the demo/,
    );
  });

  it('needs no correction when the notes exist already, and reads them out when asked', async () => {
    await ask('again', 'plan a trip');
    const events = await ask('again', 'plan a trip');
    expect(events.map(({ type }) => type)).not.toContain('plan_revised');
    expect((await planOf('again')).state).toBe('completed');
    expect(await lastAnswer('again')).not.toContain('repaired itself');
    await ask('again', 'read trip.md');
    expect(await lastAnswer('again')).toContain('# Notes: trip');
  });

  it('plans in several chats at once, each about its own topic', async () => {
    const topics = ['party', 'garden', 'journey'];
    await Promise.all(topics.map((topic) => ask(topic, `Please plan my ${topic}`)));
    const plans = await Promise.all(topics.map(planOf));
    expect(plans.map(({ state, steps }) => [state, steps.length, steps[1]?.description])).toEqual(
      topics.map((topic) => ['completed', 4, `Write first notes into ${topic}.md`]),
    );
  });

  it('ticks its own list in planner mode (N-27)', async () => {
    await command('ticking', '/mode planner');
    const events = await ask('ticking', 'plan a picnic');
    expect(events.map(({ type }) => type)).toContain('plan_completed');
    const plan = await planOf('ticking');
    expect(plan).toMatchObject({ mode: 'planner', state: 'completed' });
    expect(stepsOf(plan).map(([, status]) => status)).toEqual(['done', 'done', 'done']);
    expect(await lastAnswer('ticking')).toContain('- who comes along');
  });

  it('explains why a plan in teacher mode ended after a failed step, and which mode corrects it (S-02)', async () => {
    await command('failing', '/mode teacher');
    await fixture.post('failing', 'plan a picnic');
    await run('failing', 'Look at what is in the folder');
    await run('failing', 'Read the notes in picnic.md');
    await vi.waitFor(async () => {
      expect(await lastAnswer('failing')).toMatch(/ended early\. Step 2 failed[^]*agentic/);
    }, WAIT);
    expect(await planOf('failing')).toMatchObject({
      state: 'cancelled',
      // Users read it: the marks around text of others are for the model.
      reason: 'Step 2 failed: read_file failed: There is no "picnic.md".',
    });
  });

  /** Lets the step run, once its plan waits before it. */
  const run = async (id: string, description: string): Promise<void> => {
    await vi.waitFor(async () => {
      const plan = await planOf(id);
      const next = plan.steps.find(({ status }) => status === 'pending');
      expect(next?.description).toBe(description);
      const pressed = await fixture.call(`/v1/plans/${plan.id}/run`, { method: 'POST' });
      expect(pressed.status).toBe(200);
    }, WAIT);
  };

  describePage('on the page', (tab) => {
    const panel = () => tab.page.getByRole('group', { name: /^Plan/ });

    it('shows the plan with the inserted step, the reason, and the corrections left (S-13, S-22)', async () => {
      const page = await tab.open(fixture.gateway.url, { token: OWNER });
      await write(page, 'plan a picnic');
      await page.locator('.plan-count', { hasText: '4 of 4' }).waitFor();
      await page.locator('.md', { hasText: 'repaired itself' }).waitFor();
      const shown = await readPanel(page);
      expect(shown).toMatchObject({ state: 'completed', budget: 'Corrections left: 9 of 10' });
      expect(shown.steps[1]).toMatchObject({ executor: 'write_file', mark: 'done' });
      expect(shown.steps[1]?.revision).toContain('picnic.md is not there yet');
      expect(shown.steps[2]).toMatchObject({ attempts: 2, mark: 'done' });
    }, 60_000);

    it('explains each step in teacher mode and waits for Run, or skips the step when Skip is pressed (S-02)', async () => {
      const page = await tab.open(fixture.gateway.url, { token: OWNER });
      await write(page, 'hello');
      await page.locator('.md', { hasText: 'This is the demo' }).waitFor();
      // The page also marks messages as read, with the same method.
      const chosen = page.waitForResponse(
        (response) => response.request().postData()?.includes('teacher') === true,
      );
      await chooseInChat(page, 'mode', 'teacher');
      expect((await chosen).status()).toBe(200);
      await write(page, 'plan a picnic');
      const press = (name: string): Promise<void> =>
        panel().getByRole('button', { name, exact: true }).click();
      const explains = (text: string): Promise<void> =>
        page.locator('.plan-note', { hasText: text }).waitFor();
      await explains('First a look at the folder');
      await press('Run');
      await explains('the folder did not have it');
      await press('Skip step');
      await explains('Last, what was found');
      await press('Run');
      await page.locator('.md', { hasText: 'The plan for the picnic is done.' }).waitFor();
      const { state, steps } = await readPanel(page);
      expect([state, ...steps.map(({ mark }) => mark)]).toEqual(['completed', 'done', 'skipped', 'done']);
    }, 60_000);
  });
});
