/** Messages a user sends while a plan runs: in mode `steer` they reach the next step, repair and the final answer. */
import { expect, it } from 'vitest';
import { MAX_STEERING_CHARS, withUserAdditions } from '../../../src/agent/plans/run-plan.ts';
import { TurnRows } from '../../../src/agent/turn/turn-rows.ts';
import { partialTurn } from '../../fakes/agent/turn.ts';
import type { QueueMode } from '../../../src/protocol/store/records.ts';
import { describeStore } from '../../database.ts';
import { dyingAt, notOfDeath } from '../../fakes/agent/dying-store.ts';
import { moment, nextTurn } from '../../fakes/moments.ts';
import { testPlan } from '../../fakes/agent/plans.ts';
import { asks, says, ScriptedProvider, type ScriptStep } from '../../fakes/agent/scripted-provider.ts';
import { openScenario, TurnScenario } from '../../fakes/agent/turn-setup.ts';

const MOMENT = asks([{ name: 'moment', args: {} }]);
const WORDS = 'make the api blue';
const ADDED = `The user has since added: ${WORDS}`;
const planned = (...steps: string[]): ScriptStep[] => [
  says('Some steps.\nREFLECT: no'),
  says(['Steps', ...steps.map((step, n) => `${n + 1}. ${step}`)].join('\n')),
];
const retry = says('{"action":"retry","reason":"again"}');

describeStore('user messages while a plan runs', (databases) => {
  /** A plan where the user sends a message during the first call. */
  const begin = async (queueMode: QueueMode, ...steps: ScriptStep[]) => {
    const store = await databases.open({ newSessions: { mode: 'agentic', queueMode } });
    const provider = new ScriptedProvider(...steps);
    const late: string[] = [];
    const tools = [moment(async () => void late.push((await scenario.say(WORDS)).turnId))];
    const options = { store, provider, tools, profile: { planningEnabled: true } };
    const scenario: TurnScenario = await openScenario(databases, options);
    return { store, provider, late, scenario, options };
  };
  const asked = ({ requests }: ScriptedProvider, n: number): string =>
    JSON.stringify(requests.at(n)?.messages);

  it('reach the next step and the final answer in mode steer, and are answered nowhere else', async () => {
    const { store, provider, late, scenario } = await begin(
      'steer',
      ...planned('[SELF] Paint', '[SELF] Clean up'),
      MOMENT,
      says('Painted.'),
      says('Cleaned.'),
      says('All is done, the api in blue.'),
    );
    const { turn, outcome } = await scenario.ask('Paint the fence');
    expect(turn?.final?.content).toBe('All is done, the api in blue.');
    expect(nextTurn(outcome)).toBeUndefined();
    expect(asked(provider, 3)).not.toContain(WORDS);
    expect(asked(provider, 4)).toContain(ADDED);
    const last = provider.requests.at(-1)?.messages ?? [];
    expect(last.flatMap(({ role, content }) => (role === 'user' ? [content] : []))).toEqual([
      'Paint the fence',
      WORDS,
    ]);
    const told = scenario.events.findIndex(({ type }) => type === 'messages_joined');
    expect(scenario.events[told]).toEqual({ type: 'messages_joined', turnIds: late });
    expect(scenario.events[told + 1]).toMatchObject({
      type: 'step_changed',
      step: { id: 's2', status: 'running' },
    });
    expect(await store.ledger.turn(late[0] ?? '')).toMatchObject({ state: 'done', reason: 'joined' });
    // The plan itself keeps its original goal.
    expect((await store.plans.latestPlan('telegram:42'))?.plan.goal).toBe('Paint the fence');
  });

  it('reach the correction of the step during which they arrived', async () => {
    const { provider, scenario } = await begin(
      'steer',
      ...planned('[SELF] Paint'),
      MOMENT,
      says('FAILED: which colour?'),
      retry,
      says('Painted.'),
      says('Done.'),
    );
    await scenario.ask('Paint the fence');
    expect(asked(provider, 4)).toContain(`Goal: Paint the fence\\n${ADDED}`);
    expect(asked(provider, 5)).toContain(ADDED);
  });

  it('are still known when the process dies after they joined', async () => {
    const { store, provider, late, options } = await begin(
      'steer',
      ...planned('[SELF] Paint', '[SELF] Clean up'),
      MOMENT,
      says('Painted.'),
      says('Cleaned.'),
      says('In blue.'),
    );
    const death = dyingAt(0, 'after', ['joinTurn']);
    const first = await openScenario(databases, { ...options, around: death.of });
    options.tools[0] = moment(async () => void late.push((await first.say(WORDS)).turnId));
    const { turnId, head } = await first.say('Paint the fence');
    await first.run(head).catch(notOfDeath);
    const second = new TurnScenario(options);
    await second.start();
    await second.run(await second.sweep());
    expect((await store.ledger.turn(turnId))?.final?.content).toBe('In blue.');
    expect(asked(provider, 4)).toContain(ADDED);
    expect(late).toHaveLength(1);
  });

  it('wait for their own turn in mode queue', async () => {
    const { provider, scenario } = await begin(
      'queue',
      ...planned('[SELF] Paint'),
      MOMENT,
      says('Painted.'),
      says('Done.'),
      says('DIRECT'),
      says('Blue it is.'),
    );
    const { outcome } = await scenario.ask('Paint the fence');
    expect(asked(provider, -1)).not.toContain(WORDS);
    await scenario.run(nextTurn(outcome));
    expect(scenario.finishes.map(({ content }) => content)).toEqual(['Done.', 'Blue it is.']);
  });
});

it.each([
  [MAX_STEERING_CHARS, `${'x'.repeat(MAX_STEERING_CHARS - 5)}\nlast`],
  [MAX_STEERING_CHARS + 1, `…${'x'.repeat(MAX_STEERING_CHARS - 5)}\nlast`],
])('reach a step up to a limit, keeping the newest: %i characters', (length, shown) => {
  const rows = new TurnRows('Paint', []);
  const entries = ['x'.repeat(length - 5), 'last'].map((content, n) => ({
    kind: 'user' as const,
    content,
    laneSeq: n + 2,
  }));
  rows.joined(entries.map((entry) => ({ iteration: 1, entry, tokens: 1 })));
  const turn = partialTurn({ rows });
  const plan = testPlan(1);
  expect(withUserAdditions(plan, turn).goal).toBe(`${plan.goal}\nThe user has since added: ${shown}`);
});
