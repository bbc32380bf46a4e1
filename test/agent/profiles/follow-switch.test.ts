/** `switch_profile` in the middle of a turn: what the next iteration uses. */
import { expect, it } from 'vitest';
import { z } from 'zod';
import { GatewayError } from '../../../src/protocol/errors.ts';
import type { Ledger } from '../../../src/protocol/store/ledger.ts';
import { defaultProfile } from '../../../src/agent/profiles/built-in.ts';
import type { Profile } from '../../../src/protocol/agent/profile.ts';
import { defineTool, type Tool } from '../../../src/protocol/agent/tool.ts';
import { listDir } from '../../../src/tools/files/list-dir.ts';
import { readFile } from '../../fakes/tool-options.ts';
import { createSwitchProfile } from '../../../src/tools/switch-profile.ts';
import { describeStore, type TestDatabases } from '../../database.ts';
import { asks, says, ScriptedProvider } from '../../fakes/agent/scripted-provider.ts';
import { LEASE_MS, openScenario, TurnScenario } from '../../fakes/agent/turn-setup.ts';

const coder: Profile = {
  ...defaultProfile('You are Parley.'),
  id: 'coder',
  systemPrompt: 'You write code.',
  enabledTools: ['read_file'],
  model: 'big',
  thinkEnabled: false,
  iterationBudgetEnabled: false,
};
const toCoder = asks([{ name: 'switch_profile', args: { profile: 'coder' } }]);

/** The tools of a gateway with two profiles and the given owners. */
function toolsOf(
  owners: readonly string[],
  ledger: () => Pick<Ledger, 'updateSession'>,
  check = async (): Promise<void> => undefined,
): Tool[] {
  const switching = createSwitchProfile({
    profiles: () => [defaultProfile(), coder],
    isOwner: async (userId) => owners.includes(userId),
    check,
    setProfile: (session, profileId) => ledger().updateSession(session, { profileId }),
  });
  return [listDir, readFile, switching];
}

describeStore('a profile switched during a turn', (databases: TestDatabases) => {
  const openGateway = async (
    provider: ScriptedProvider,
    owners: readonly string[],
    check?: () => Promise<void>,
  ): Promise<TurnScenario> => {
    const tools = toolsOf(owners, () => scenario.store.ledger, check);
    const enabledTools = ['list_dir', 'switch_profile'];
    const scenario = await openScenario(databases, {
      provider,
      tools,
      others: [coder],
      profile: { enabledTools },
      model: 'small',
    });
    return scenario;
  };

  it('gives the next iteration of the same turn its tools, prompt, model and flags, and stays (N-55, N-71)', async () => {
    const provider = new ScriptedProvider(toCoder, says('Switched.'), says('Still.'));
    const scenario = await openGateway(provider, ['telegram:42']);
    const { turn } = await scenario.ask('Become a coder');
    expect(turn?.final?.content).toBe('Switched.');
    const [before, after] = provider.requests;
    expect(before?.tools?.map(({ name }) => name)).toEqual(['list_dir', 'switch_profile']);
    expect(before).toMatchObject({ model: 'small', think: true });
    expect(after?.tools?.map(({ name }) => name)).toEqual(['read_file']);
    expect(after).toMatchObject({ model: 'big', think: false });
    expect(after?.messages[0]?.content).toContain('You write code.');
    const notes = after?.messages.slice(1).filter(({ role }) => role === 'system');
    expect(notes?.map(({ content }) => content)).toEqual([expect.stringMatching(/^It is [^\n]+$/)]);
    expect(scenario.events).toContainEqual({ type: 'profile_switched', profileId: 'coder' });
    expect((await scenario.store.ledger.session('telegram:42'))?.profileId).toBe('coder');
    await scenario.ask('And now?');
    expect(provider.requests[2]).toMatchObject({ model: 'big' });
    expect(scenario.finishes[0]?.usage.map(({ model }) => model)).toEqual(['small', 'big']);
  });

  it('keeps the model that the message itself asked for', async () => {
    const provider = new ScriptedProvider(toCoder, says('ok'));
    const scenario = await openGateway(provider, ['telegram:42']);
    await scenario.ask('Become a coder', {}, { model: 'chosen' });
    expect(provider.requests.map(({ model }) => model)).toEqual(['chosen', 'chosen']);
  });

  it('is refused to users who are not owners, and the turn continues unchanged', async () => {
    const provider = new ScriptedProvider(toCoder, says('Sorry.'));
    const scenario = await openGateway(provider, ['telegram:1']);
    await scenario.ask('Become a coder');
    const result = provider.requests[1]?.messages.find(({ role }) => role === 'tool');
    expect(result?.content).toContain('Only an owner');
    expect(provider.requests[1]?.tools).toEqual(provider.requests[0]?.tools);
    expect((await scenario.store.ledger.session('telegram:42'))?.profileId).toBe('default');
  });

  it('is refused when no model could answer, with a text that names what is missing (S-43)', async () => {
    const provider = new ScriptedProvider(toCoder, says('It has no key.'));
    const missing = new GatewayError('unavailable', 'The profile "coder" cannot answer: set OPENAI_API_KEY.');
    const scenario = await openGateway(provider, ['telegram:42'], () => Promise.reject(missing));
    await scenario.ask('Become a coder');
    const result = provider.requests[1]?.messages.find(({ role }) => role === 'tool');
    expect(result?.content).toContain('set OPENAI_API_KEY');
    expect(provider.requests[1]).toMatchObject({ model: 'small' });
    expect((await scenario.store.ledger.session('telegram:42'))?.profileId).toBe('default');
  });

  it('reports an unknown outcome for a removed tool whose call had started before the process died', async () => {
    const store = await databases.open();
    const deed = defineTool({
      name: 'deed',
      description: 'Does something that must not be done twice.',
      parameters: z.strictObject({}),
      effect: 'unsafe',
      risk: () => 'safe',
      results: 'operator',
      reach: () => 'outside',
      execute: () => Promise.reject(new Error('is not reached')),
    });
    const dying = new TurnScenario({
      store,
      provider: new ScriptedProvider(asks([{ name: 'deed', args: {} }])),
      tools: [deed],
      around: (ledger) => ({
        ...ledger,
        toolIntent: async (...given) => {
          await ledger.toolIntent(...given);
          throw new Error('the process dies here');
        },
      }),
    });
    await dying.start('home');
    const { head } = await dying.say('Do it');
    await expect(dying.run(head)).rejects.toThrow('dies here');
    const provider = new ScriptedProvider(says('I do not know.'));
    const living = new TurnScenario({ store, provider, tools: [deed], profile: { enabledTools: [] } });
    living.node = await store.lanes.register('home', LEASE_MS);
    await living.run(await living.sweep());
    const told = provider.requests[0]?.messages.find(({ role }) => role === 'tool');
    expect(told?.content).toContain('Outcome unknown');
    await living.close();
    await dying.close();
  });

  it('stays in effect for the rest of the turn when the process died right after it', async () => {
    const provider = new ScriptedProvider(toCoder);
    const store = await databases.open();
    const tools = toolsOf(['telegram:42'], () => store.ledger);
    const profile = { enabledTools: ['switch_profile'] };
    const others = [coder];
    const dying = new TurnScenario({
      store,
      provider,
      tools,
      others,
      profile,
      around: (ledger) => ({
        ...ledger,
        toolResult: async (...given) => {
          await ledger.toolResult(...given);
          throw new Error('the process dies here');
        },
      }),
    });
    await dying.start('home');
    const { turnId, head } = await dying.say('Become a coder', {}, { profileId: 'default' });
    await expect(dying.run(head)).rejects.toThrow('dies here');
    const next = new ScriptedProvider(says('Still a coder.'));
    const living = new TurnScenario({ store, provider: next, tools, others, profile });
    living.node = await store.lanes.register('home', LEASE_MS);
    await living.run(await living.sweep());
    expect(next.requests[0]).toMatchObject({ model: 'big', tools: [{ name: 'read_file' }] });
    expect((await store.ledger.turn(turnId))?.final?.content).toBe('Still a coder.');
    await living.close();
    await dying.close();
  });
});
