/** The title of a session when its model is slow, busy or down: the end of the turn and the next turn never wait. */
import { expect, it, onTestFinished, vi } from 'vitest';
import { TITLE_REQUEST } from '../../../src/agent/after-turn/title-worker.ts';
import { ProviderError } from '../../../src/protocol/errors.ts';
import type { ChatRequest } from '../../../src/protocol/agent/provider.ts';
import { describeStore, type TestDatabases } from '../../database.ts';
import {
  fails,
  fallsSilent,
  says,
  ScriptedProvider,
  type ScriptStep,
} from '../../fakes/agent/scripted-provider.ts';
import { TurnScenario } from '../../fakes/agent/turn-setup.ts';

const key = 'telegram:42' as const;
const WAIT = { timeout: 10_000 };

async function openChat(databases: TestDatabases, titleMs: number, ...steps: ScriptStep[]) {
  const store = await databases.open();
  const provider = new ScriptedProvider(...steps);
  const scenario = new TurnScenario({ store, provider, limits: { titleMs }, afterTurn: { title: true } });
  onTestFinished(() => scenario.close());
  await scenario.start();
  const title = async (): Promise<string | undefined> => (await store.ledger.session(key))?.title;
  const isAsked = (): boolean => provider.requests.some(asksForTitle);
  return { store, provider, scenario, title, isAsked };
}

const asksForTitle = ({ messages }: ChatRequest): boolean => messages.at(-1)?.content === TITLE_REQUEST;

describeStore('the title of a session', (databases) => {
  it('is requested from the model that answered, with the same window and an answer of limited length', async () => {
    const { provider, scenario, title } = await openChat(databases, 10_000, says('yes'), says('Trains'));
    await scenario.ask('Are there trains?');
    await vi.waitFor(async () => expect(await title()).toBe('Trains'), WAIT);
    const [answer, request] = provider.requests;
    expect(request).toMatchObject({
      model: 'test-model',
      contextWindow: answer?.contextWindow,
      maxTokens: 40,
      think: false,
    });
    expect(request?.tools ?? []).toEqual([]);
    expect(scenario.events.at(-1)).toEqual({ type: 'session_titled', title: 'Trains' });
  });

  it('is the first words when the model takes too long, and when it fails', async () => {
    const slow = await openChat(databases, 50, says('yes'), fallsSilent('Tr'));
    await slow.scenario.ask('Are there trains?');
    await vi.waitFor(async () => expect(await slow.title()).toBe('Are there trains?'), WAIT);
    const away = await openChat(
      databases,
      10_000,
      says('yes'),
      fails(new ProviderError('unauthorized', 'The key is wrong.')),
    );
    await away.scenario.ask('Is there a bus?');
    await vi.waitFor(async () => expect(await away.title()).toBe('Is there a bus?'), WAIT);
  });

  it('is left to a later turn when the call would have to queue behind the turns of others', async () => {
    const { provider, scenario, title, isAsked } = await openChat(databases, 10_000, says('yes'), {
      ...says('never read'),
      ahead: 3,
    });
    await scenario.ask('Are there trains?');
    await vi.waitFor(() => expect(isAsked()).toBe(true), WAIT);
    provider.add(says('more'), says('Trains'));
    await scenario.ask('And buses?');
    await vi.waitFor(async () => expect(await title()).toBe('Trains'), WAIT);
    expect(scenario.types()).not.toContain('notice');
  });

  it('is never derived from a failed turn or from a message that the gateway wrote', async () => {
    const { scenario, title, provider } = await openChat(
      databases,
      10_000,
      fails(new ProviderError('bad_response', 'That was no answer.')),
    );
    await scenario.ask('Are there trains?');
    provider.add(says('Good morning.'));
    await scenario.ask('Say good morning', { channel: 'system', senderId: 'cron:1', chatId: key });
    await scenario.agent.close();
    expect([provider.requests.filter(asksForTitle), await title()]).toEqual([[], undefined]);
  });
});
