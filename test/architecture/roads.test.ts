/** The roads of docs/architecture.md: each is exactly what the call stacks of a real run show, and no longer than it may become. */
import { expect, it, vi } from 'vitest';
import { describeStore } from '../database.ts';
import { readText } from '../docs/pages.ts';
import { says } from '../fakes/agent/scripted-provider.ts';
import { ANALYSIS, planningScenario } from '../fakes/gateway/planned-turn.ts';
import { describeGateway, FRIENDS, WAIT } from '../flows/setup.ts';
import { type Hop, type Place, traceRoad } from './trace-road.ts';

/** The functions that the page lists below a heading, numbered from 1. */
function listedRoad(heading: string): Hop[] {
  const [, section = ''] = readText('docs/architecture.md').split(`### ${heading}\n`);
  const [text = ''] = section.split(/^#+ /m);
  const steps = [...text.matchAll(/^(\d+)\. `([#\w]+)` in `([^`]+)` /gm)];
  expect(steps.map(([, number]) => Number(number))).toEqual(steps.map((_, index) => index + 1));
  return steps.map(([, , name, file]): Hop => `${name} in ${file}`);
}

/** Where the model is asked. */
const CALL: readonly Place[] = [
  { file: 'src/providers/router.ts', code: 'const chunks = provider.streamChat(' },
  { file: 'src/providers/chat.ts', code: 'await server.acquire(' },
];
const text = Array.from({ length: 60 }, (_, at) => `word${at} `);
const file = { access: { telegram: { allow: FRIENDS } } };

describeGateway('the road of a message', { telegram: true, file }, (fixture) => {
  it('leads from an update of Telegram to its first edit through at most 36 functions', async () => {
    const { ollama, telegram } = fixture();
    const [chat = ''] = FRIENDS;
    ollama.answer({ text, perSecond: 20, failure: { kind: 'hang', after: 59 } }, { when: 'tell me' });
    const places: Place[] = [
      { file: 'src/store/database/batches.ts', code: 'queue.push(' },
      { file: 'src/store/turns/accept.ts', code: 'const [first] = calls' },
      { file: 'src/bus/attempt.ts', code: 'whyExhausted(head, deps.handler);' },
      ...CALL,
      {
        file: 'src/bus/event-bus.ts',
        code: 'if (this.#dispatching)',
        through: 'streamAnswer in src/agent/model/model-call.ts',
      },
      { file: 'src/delivery/rate/scheduler.ts', code: 'this.#enqueue(this.#queue(target), edit)' },
      { file: 'src/delivery/rate/scheduler.ts', code: 'this.#showEdit(queue, edit, record)' },
      { file: 'channels/telegram/sending.ts', code: 'await this.#hidden.edit(' },
    ];
    const road = await traceRoad(places, async () => {
      telegram.says(chat, 'tell me', chat);
      await vi.waitFor(() => expect(telegram.count('editMessageText')).toBeGreaterThan(0), WAIT);
    });
    (await fixture().modelCall('tell me')).release();
    await fixture().idle(`telegram:${chat}`);
    // The loop around the first one waits for updates.
    expect(road.slice(1)).toEqual(listedRoad('From an update to its first edit'));
    expect(road.slice(1).length).toBeLessThanOrEqual(36);
  });

  it('leads from a completion over HTTP to its first byte through at most 24 functions', async () => {
    fixture().ollama.answer({ text }, { when: 'complete me' });
    const write = { file: 'channels/http/event-stream.ts', code: 'this.#pending += frames' };
    const road = await traceRoad([...CALL, write], async () => {
      const messages = [{ role: 'user', content: 'complete me' }];
      const response = await fixture().call('/v1/chat/completions', { json: { messages, stream: true } });
      expect(await response.text()).toContain('word59');
    });
    expect(road).toEqual(listedRoad('From a completion over HTTP to its first byte'));
    expect(road.length).toBeLessThanOrEqual(24);
  });
});

describeStore('the road of a plan', (databases) => {
  it('leads from a failed step to its correction through at most 12 functions', async () => {
    const answers = [
      ANALYSIS,
      'Steps\n1. [TOOL: list_dir] Look around',
      'No call.',
      '{"action":"modify","reason":"another way","command":{"self":true}}',
      'Looked.',
      'Done.',
    ];
    const { scenario } = await planningScenario(
      databases,
      { planningEnabled: true },
      ...answers.map((answer) => says(answer)),
    );
    const executor = 'src/agent/plans/plan-executor.ts';
    const places: Place[] = [
      { file: executor, code: 'const outcome = await this.#outcomeOf(' },
      { file: 'src/agent/plans/correction.ts', code: 'const reply = await call(' },
      {
        file: 'src/agent/model/model-call.ts',
        code: 'meterCall(request, 0)',
        through: `#correctStep in ${executor}`,
      },
      { file: 'src/agent/plans/correction.ts', code: 'reply.safeParse(' },
      { file: executor, code: 'switch (correction.action) {' },
      {
        file: 'src/agent/plans/run-plan.ts',
        code: 'await ledger.planFact(',
        through: `#applyCorrection in ${executor}`,
      },
    ];
    const road = await traceRoad(places, async () => {
      await scenario.ask('Do it', {}, { mode: 'agentic' });
    });
    const steps = road.slice(road.indexOf(`#advance in ${executor}`));
    expect(steps).toEqual(listedRoad('From a failed step to its correction'));
    expect(steps.length).toBeLessThanOrEqual(12);
  });
});
