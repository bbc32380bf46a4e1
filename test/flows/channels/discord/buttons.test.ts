/** Buttons under answers on Discord, and what they share with commands: stop, ask again, approve permanently. */
import { expect, it, vi } from 'vitest';
import { riskyTools } from '../../../fakes/agent/risky-tools.ts';
import type { FakeChannel, FakeMessage, FakePerson } from '../../../fakes/discord/platform.ts';
import { describeGateway, WAIT } from '../../setup.ts';

const ran: string[] = [];

describeGateway('Discord, by buttons', { discord: true, tools: riskyTools(ran) }, (fixture) => {
  const friend = async (): Promise<{ channel: FakeChannel; person: FakePerson }> => {
    const { channel, person } = fixture().discord.dm();
    await fixture().store.access.addGrant('discord', 'dm', person.id);
    return { channel, person };
  };
  const ofBot = (channel: FakeChannel, viewer?: FakePerson): FakeMessage[] =>
    fixture()
      .discord.visible(channel, viewer)
      .filter(({ author }) => author.bot === true);
  const labels = (message: FakeMessage | undefined): string[] =>
    message?.buttons.map(({ label }) => label) ?? [];
  const told = (channel: FakeChannel, person: FakePerson): string =>
    ofBot(channel, person)
      .filter(({ onlyFor }) => onlyFor === person.id)
      .map(({ content }) => content)
      .join('\n');

  it('a growing answer has Stop, which ends it, and a finished one has Regenerate in its place', async () => {
    const { discord, ollama } = fixture();
    const { channel, person } = await friend();
    ollama.answer({ text: 'word '.repeat(4_000), perSecond: 30 }, { when: 'at length' });
    discord.says(channel, 'at length', person);
    const call = await fixture().modelCall('at length');
    await vi.waitFor(() => expect(labels(ofBot(channel)[0])).toEqual(['Stop']), WAIT);
    discord.press(channel, 'Stop', person);
    expect((await call.closed).by).toBe('client');
    await vi.waitFor(() => expect(ofBot(channel)[0]?.content).toContain('(stopped)'), WAIT);
    await vi.waitFor(() => expect(labels(ofBot(channel)[0])).toEqual(['Regenerate']), WAIT);
    await vi.waitFor(() => expect(told(channel, person)).toContain('Stopped.'), WAIT);
  });

  it('only the last message of a long answer has a button', async () => {
    const { discord, ollama } = fixture();
    const { channel, person } = await friend();
    ollama.answer({ text: 'word '.repeat(1_000), perSecond: 600 }, { when: 'two messages' });
    discord.says(channel, 'two messages', person);
    await vi.waitFor(() => expect(ofBot(channel).length).toBeGreaterThan(2), WAIT);
    await vi.waitFor(() => expect(labels(ofBot(channel).at(-1))).toEqual(['Regenerate']), WAIT);
    await vi.waitFor(() => expect(ofBot(channel).slice(0, -1).flatMap(labels)).toEqual([]), WAIT);
  });

  it('Regenerate asks the question again, once; under an older answer it explains what it cannot do', async () => {
    const { discord, ollama } = fixture();
    const { channel, person } = await friend();
    ollama.answer({ text: 'first try' }, { when: 'a riddle' });
    discord.says(channel, 'a riddle', person);
    await vi.waitFor(() => expect(labels(ofBot(channel)[0])).toEqual(['Regenerate']), WAIT);
    const [first] = ofBot(channel);
    const again = first?.buttons[0]?.customId;
    ollama.answer({ text: 'second try' }, { when: 'a riddle' });
    discord.press(channel, 'Regenerate', person);
    discord.press(channel, 'Regenerate', person, undefined, first);
    await vi.waitFor(() => expect(discord.screen(channel)).toContain('second try'), WAIT);
    await fixture().idle(`discord:${channel.id}`);
    expect(ofBot(channel).map(({ content }) => content)).toEqual(['first try', 'second try']);
    await vi.waitFor(() => expect(told(channel, person)).toContain('Asked again.'), WAIT);
    // It has lost its button; a client that has not seen that yet still sends it.
    await vi.waitFor(() => expect(labels(first)).toEqual([]), WAIT);
    discord.press(channel, '', person, again, first);
    await vi.waitFor(() => expect(told(channel, person)).toContain('Only the newest answer'), WAIT);
    expect(ofBot(channel)).toHaveLength(2);
  });

  it('only the newest answer has Regenerate, even after a restart, and however they were asked', async () => {
    const { discord } = fixture();
    const { channel, person } = await friend();
    discord.says(channel, 'one', person);
    await vi.waitFor(() => expect(labels(ofBot(channel)[0])).toEqual(['Regenerate']), WAIT);
    await fixture().idle(`discord:${channel.id}`);
    await fixture().restart();
    discord.slash(channel, 'ask', { prompt: 'two' }, person);
    await vi.waitFor(() => expect(ofBot(channel).map(labels)).toEqual([[], ['Regenerate']]), WAIT);
    discord.says(channel, 'three', person);
    await vi.waitFor(() => expect(ofBot(channel).map(labels)).toEqual([[], [], ['Regenerate']]), WAIT);
    expect(discord.screen(channel)).toEqual(
      expect.arrayContaining(['echo: one', 'echo: two', 'echo: three']),
    );
  });

  it('/retry answers the last question again', async () => {
    const { discord, ollama } = fixture();
    const { channel, person } = await friend();
    ollama.answer({ text: 'one way' }, { when: 'another riddle' });
    discord.says(channel, 'another riddle', person);
    await vi.waitFor(() => expect(discord.screen(channel)).toContain('one way'), WAIT);
    await fixture().idle(`discord:${channel.id}`);
    ollama.answer({ text: 'another way' }, { when: 'another riddle' });
    discord.slash(channel, 'retry', {}, person);
    await vi.waitFor(() => expect(discord.screen(channel)).toContain('another way'), WAIT);
    const read = await fixture().messages(`discord:${channel.id}`);
    expect(read.filter(({ role }) => role === 'user').map(({ content }) => content)).toEqual([
      'another riddle',
    ]);
  });

  it('a stranger who presses changes nothing, and neither does a button carried to another chat', async () => {
    const { discord, ollama } = fixture();
    const { channel, person } = await friend();
    const { channel: elsewhere, person: other } = await friend();
    ollama.answer({ text: 'word '.repeat(4_000), perSecond: 30 }, { when: 'mine alone' });
    discord.says(channel, 'mine alone', person);
    const call = await fixture().modelCall('mine alone');
    await vi.waitFor(() => expect(labels(ofBot(channel)[0])).toEqual(['Stop']), WAIT);
    const value = ofBot(channel)[0]?.buttons[0]?.customId ?? '';
    const eve = discord.person('Eve');
    discord.press(channel, 'Stop', eve);
    await vi.waitFor(() => expect(told(channel, eve)).not.toBe(''), WAIT);
    discord.says(elsewhere, 'hello', other);
    await vi.waitFor(() => expect(discord.screen(elsewhere)).toContain('echo: hello'), WAIT);
    discord.press(elsewhere, 'none', other, value);
    await vi.waitFor(() => expect(told(elsewhere, other)).toContain('belongs to another chat'), WAIT);
    const shown = ofBot(channel)[0]?.history.length ?? 0;
    await vi.waitFor(() => expect(ofBot(channel)[0]?.history.length).toBeGreaterThan(shown), WAIT);
    discord.press(channel, 'Stop', person);
    expect((await call.closed).by).toBe('client');
    const [answer] = ofBot(channel);
    discord.press(channel, 'none', person, value, answer);
    await vi.waitFor(() => expect(told(channel, person)).toContain('already ended'), WAIT);
  });

  it('Always allow this exact call here runs the same call without a question from then on, but no other call', async () => {
    const { discord, ollama } = fixture();
    const { channel, person } = await friend();
    const calls = (said: string, word: string): void =>
      ollama.answer({ toolCalls: [{ name: 'wipe', args: { word } }] }, { when: said });
    calls('first', 'disk d');
    discord.says(channel, 'first', person);
    await vi.waitFor(
      () =>
        expect(labels(ofBot(channel).at(-1))).toEqual([
          'Approve',
          'Edit',
          'Deny',
          'Always allow this exact call here',
        ]),
      WAIT,
    );
    discord.press(channel, 'Always allow this exact call here', person);
    await vi.waitFor(() => expect(discord.screen(channel)).toContain('echo: first'), WAIT);
    calls('second', 'disk d');
    discord.says(channel, 'second', person);
    await vi.waitFor(() => expect(discord.screen(channel)).toContain('echo: second'), WAIT);
    expect(ran).toEqual(['wipe disk d', 'wipe disk d']);
    calls('third', 'disk e');
    discord.says(channel, 'third', person);
    await vi.waitFor(() => expect(discord.screen(channel).join()).toContain('disk e'), WAIT);
    discord.slash(channel, 'deny', {}, person);
    await vi.waitFor(() => expect(discord.screen(channel)).toContain('echo: third'), WAIT);
    expect(ran).toHaveLength(2);
  });
});
