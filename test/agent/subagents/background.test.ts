/** Background subagents: the turn continues, the result starts a turn in the right session, a stop ends them. */
import { expect, it } from 'vitest';
import { LaneAbort } from '../../../src/protocol/bus.ts';
import { GatewayError } from '../../../src/protocol/errors.ts';
import type { LaneHead } from '../../../src/protocol/store/lanes.ts';
import { MAX_SUBAGENTS_AT_ONCE } from '../../../src/protocol/agent/subagents.ts';
import { spawnAgent } from '../../../src/tools/spawn-agent.ts';
import { describeStore } from '../../database.ts';
import { ReplayProvider } from '../../fakes/agent/replay-provider.ts';
import { asks, fallsSilent, says, type ScriptStep } from '../../fakes/agent/scripted-provider.ts';
import { openScenario, type TurnScenario } from '../../fakes/agent/turn-setup.ts';

const letGo = (task: string) => ({ name: 'spawn_agent', args: { task, background: true } });

const replay = (child: readonly ScriptStep[], tasks = ['The task']): ReplayProvider =>
  new ReplayProvider({
    'Do it': [asks(tasks.map(letGo)), says('It is being done.')],
    'The task': child,
    '[Report of': [says('It is done.')],
    'And now?': [says('Nothing.')],
  });

/** The heads that the end of a subagent claimed: the turn that reports it. */
async function finish(scenario: TurnScenario, child: LaneHead | undefined, signal?: AbortSignal) {
  const outcome = await scenario.run(child, signal);
  if (outcome.kind !== 'finished') throw new Error(`It was ${outcome.kind}.`);
  return outcome.step.heads;
}

describeStore('a subagent in the background', (databases) => {
  it('lets its turn answer before it has started, and is reported in a new turn of that session (B-31, B-34, B-36)', async () => {
    const provider = replay([says('The result.')]);
    const scenario = await openScenario(databases, { provider, tools: [spawnAgent] });
    const { turn, turnId } = await scenario.ask('Do it');
    expect(turn).toMatchObject({ state: 'done', final: { content: 'It is being done.' } });
    expect(provider.about('The task')).toHaveLength(0);
    expect(scenario.ofAgents.map(({ type }) => type)).toEqual(['subagent_spawned']);
    const [head] = await finish(scenario, scenario.background[0]);
    expect(head?.lane).toBe('in:telegram:42');
    await scenario.run(head);
    const messages = await scenario.store.ledger.messages('telegram:42', { limit: 9 });
    expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'system', 'assistant']);
    expect(messages[2]).toMatchObject({
      senderName: 'subagent',
      content: expect.stringContaining('The result.'),
    });
    expect(messages[3]?.content).toBe('It is done.');
    expect(scenario.ofAgents.at(-1)).toMatchObject({
      type: 'subagent_completed',
      result: 'The result.',
      completedNormally: true,
    });
    expect(scenario.events).toContainEqual(
      expect.objectContaining({ type: 'message_received', seq: messages[2]?.seq }),
    );
    // The turn that reports it is delivered like any other.
    expect(scenario.finishes.at(-1)?.outbound).toMatchObject({
      message: { channel: 'telegram', chatId: '42' },
    });
    expect(turnId).not.toBe(messages[2]?.turnId);
  });

  it('is reported in the right session among many, each once (B-34)', async () => {
    const chats = Array.from({ length: 12 }, (_, n) => String(1_000 + n));
    const provider = new ReplayProvider({
      ...Object.fromEntries(
        chats.flatMap((chat) => [
          [`Ask ${chat}.`, [asks([letGo(`Task ${chat}.`)]), says('Later.')]],
          [`Task ${chat}.`, [says(`Result ${chat}.`)]],
        ]),
      ),
      '[Report of': [says('Told.')],
    });
    const scenario = await openScenario(databases, { provider, tools: [spawnAgent] });
    await Promise.all(chats.map((chat) => scenario.ask(`Ask ${chat}.`, { chatId: chat, senderId: chat })));
    const heads = await Promise.all(scenario.background.toReversed().map((child) => finish(scenario, child)));
    await Promise.all(heads.flat().map((head) => scenario.run(head)));
    for (const chat of chats) {
      const messages = await scenario.store.ledger.messages(`telegram:${chat}`, { limit: 9 });
      expect(messages.map(({ content }) => /Result \d+\./.exec(content)?.[0] ?? content)).toEqual([
        `Ask ${chat}.`,
        'Later.',
        `Result ${chat}.`,
        'Told.',
      ]);
    }
  });

  it('is refused as the fifth of its session, with a result for the model', async () => {
    const tasks = Array.from({ length: MAX_SUBAGENTS_AT_ONCE + 1 }, (_, n) => `The task ${n}`);
    const provider = replay([says('Done.')], tasks);
    const scenario = await openScenario(databases, { provider, tools: [spawnAgent] });
    await scenario.ask('Do it');
    expect(scenario.background).toHaveLength(MAX_SUBAGENTS_AT_ONCE);
    const refused = scenario.events.filter((event) => event.type === 'tool_result' && event.isError);
    expect(refused).toMatchObject([
      { result: expect.stringContaining(`${MAX_SUBAGENTS_AT_ONCE} subagents of this turn`) },
    ]);
    // Those of an earlier turn count as well.
    await scenario.ask('Do it');
    expect(scenario.background).toHaveLength(MAX_SUBAGENTS_AT_ONCE);
    const [told] = await finish(scenario, scenario.background[0]);
    await scenario.run(told);
    await scenario.ask('Do it');
    expect(scenario.background).toHaveLength(MAX_SUBAGENTS_AT_ONCE + 1);
  });

  it('ends with /stop in its session, without a separate turn, and the next turn knows about it', async () => {
    const provider = replay([fallsSilent('Half')]);
    const scenario = await openScenario(databases, { provider, tools: [spawnAgent] });
    await scenario.ask('Do it');
    const stop = new AbortController();
    const ending = finish(scenario, scenario.background[0], stop.signal);
    await expect.poll(() => provider.active, { timeout: 10_000 }).toBe(1);
    expect(await scenario.store.lanes.stop('telegram:42', { fresh: false })).toEqual({
      stopped: false,
      cancelled: 0,
      agents: 1,
    });
    expect(await scenario.store.lanes.flags(scenario.node)).toMatchObject([
      { lane: scenario.background[0]?.lane },
    ]);
    stop.abort(new LaneAbort('stopped'));
    expect(await ending).toEqual([]);
    expect(provider.active).toBe(0);
    expect(scenario.ofAgents.at(-1)).toMatchObject({ type: 'subagent_completed', completedNormally: false });
    expect(await scenario.sweep()).toBeUndefined();
    await scenario.ask('And now?');
    expect(provider.about('And now?')[0]?.messages).toContainEqual({
      role: 'user',
      content: expect.stringContaining('It was stopped with its session'),
    });
  });

  it('ends without a model call when it was stopped before it started', async () => {
    const provider = replay([says('Never.')]);
    const scenario = await openScenario(databases, { provider, tools: [spawnAgent] });
    await scenario.ask('Do it');
    await scenario.store.lanes.stop('telegram:42', { fresh: true });
    const [child] = scenario.background;
    if (child === undefined) throw new Error('nothing was let go');
    expect(await finish(scenario, { ...child, stopped: true })).toEqual([]);
    expect(provider.about('The task')).toHaveLength(0);
    await scenario.ask('And now?');
    // A new conversation knows nothing about it.
    expect(JSON.stringify(provider.about('And now?')[0]?.messages)).not.toContain('stopped');
  });

  it('does not report to a session that was deleted', async () => {
    const provider = replay([says('Too late.')]);
    const store = await databases.open();
    const scenario = await openScenario(databases, { provider, tools: [spawnAgent], store });
    await scenario.ask('Do it');
    await store.ledger.deleteSession('telegram:42');
    await expect(finish(scenario, scenario.background[0])).rejects.toThrow('is void');
    const left = await store.sql`
      select (select count(*)::int from session) as sessions, (select count(*)::int from context) as rows,
        (select count(*)::int from lane_item where lane like 'agent:%') as tasks`;
    expect(left).toMatchObject([{ sessions: 0, rows: 0, tasks: 0 }]);
  });

  it('reports to its session when it cannot be run at all, and stays visible as a dead letter', async () => {
    const provider = replay([says('Never.')]);
    const scenario = await openScenario(databases, { provider, tools: [spawnAgent] });
    await scenario.ask('Do it');
    const [child] = scenario.background;
    if (child === undefined) throw new Error('nothing was let go');
    const error = new GatewayError('unlucky', 'No luck at all.');
    const { heads } = await scenario.agent.subagents.onDeadLetter(child, error);
    await scenario.run(heads[0]);
    const messages = await scenario.store.ledger.messages('telegram:42', { limit: 9 });
    expect(messages[2]?.content).toContain('It could not be run: No luck at all.');
    expect(await scenario.store.lanes.deadLetters(9)).toMatchObject([
      { lane: child.lane, error: 'No luck at all.' },
    ]);
  });
});
