/** The language of a person: their choice, the setting, what their platform reports, English; and `/language`. */
import { describe, expect, it } from 'vitest';
import type { CommandCall } from '../../src/protocol/command.ts';
import { createPersonLanguages, KEPT_MS, languageCommand } from '../../src/intake/languages.ts';
import { describeStore, type TestStore } from '../database.ts';
import { builtInLanguages } from '../fakes/gateway/languages.ts';

const ADA = 'telegram:42';

function peopleOf(store: Pick<TestStore, 'chatSettings'>, setting = 'auto') {
  const clock = { now: 0 };
  const people = createPersonLanguages({
    languages: builtInLanguages,
    setting: () => setting,
    chatSettings: store.chatSettings,
    ownerOf: (session) => Promise.resolve(session === 'http:web' ? ADA : undefined),
    monotonicNow: () => clock.now,
  });
  const command = languageCommand(people);
  const call = async (args: string, wanted?: string): Promise<string> => {
    const say = people.say({ language: await people.languageOf(ADA, wanted) });
    const rest = { session: ADA, address: ADA, senderId: '42', memoryOwner: ADA, owner: false } as const;
    const use: CommandCall = { ...rest, userId: ADA, args, say };
    return await command.run(use);
  };
  return { ...people, clock, call, command };
}

describeStore('the language of a person', (databases) => {
  it('is that of their platform, even if nothing reports it later', async () => {
    const store = await databases.open();
    const people = peopleOf(store);
    expect(await people.languageOf(ADA, 'de-AT')).toBe('de');
    expect(await people.languageOf(ADA)).toBe('en');
    await people.notePlatform(ADA, 'de-AT');
    expect(await people.languageOf(ADA)).toBe('de');
    expect(await people.languageOf(ADA, 'en-GB')).toBe('en');
    expect(await peopleOf(store).languageOf(ADA)).toBe('de');
    expect(await people.languageOf('telegram:43')).toBe('en');
  });

  it('is read, in a session over HTTP, from the person it belongs to', async () => {
    const store = await databases.open();
    const people = peopleOf(store);
    await people.notePlatform(ADA, 'de-AT');
    expect([await people.languageOf('http:web'), await people.languageOf('http:other')]).toEqual([
      'de',
      'en',
    ]);
  });

  it('is for a stranger the setting, else what their browser sends', async () => {
    const store = await databases.open();
    const strangers = ['auto', 'de', 'nl'].map((setting) => peopleOf(store, setting).ofStranger('de-AT, en'));
    expect(strangers).toEqual(['de', 'de', 'en']);
    expect(peopleOf(store).ofStranger()).toBe('en');
  });

  it('is that of the setting, if one is set', async () => {
    const store = await databases.open();
    expect(await peopleOf(store, 'de').languageOf(ADA, 'en-GB')).toBe('de');
    expect(await peopleOf(store, 'nl').languageOf(ADA, 'de')).toBe('en');
  });

  it('is the one they chose, before all others, and soon on every node', async () => {
    const store = await databases.open();
    const here = peopleOf(store, 'en');
    const there = peopleOf(store, 'en');
    expect(await there.languageOf(ADA, 'en')).toBe('en');
    await here.choose(ADA, 'de');
    expect([await here.languageOf(ADA, 'en'), await there.languageOf(ADA, 'en')]).toEqual(['de', 'en']);
    there.clock.now = KEPT_MS;
    expect(await there.languageOf(ADA, 'en')).toBe('de');
    await here.choose(ADA, undefined);
    expect(await here.languageOf(ADA, 'en')).toBe('en');
  });

  it('is shown and chosen with /language, by its code or its name in either language', async () => {
    const store = await databases.open();
    const { call } = peopleOf(store);
    expect(await call('', 'de')).toContain('Ich spreche Deutsch mit dir (de), weil deine App');
    expect(await call('')).toContain('Languages: en (English), de (Deutsch).');
    for (const name of ['de', 'Deutsch', 'german', 'DE-at'])
      expect(await call(name)).toBe('Von jetzt an spreche ich Deutsch mit dir.');
    expect(await call('')).toContain('Ich spreche Deutsch mit dir (de).');
    expect(await call('Englisch')).toBe('From now on I speak English to you.');
    expect(await call('auto', 'de')).toBe('From now on I follow the language of your app; that is English.');
    await expect(call('klingon')).rejects.toMatchObject({ code: 'unknown_language' });
  });
});

describe('/language', () => {
  it('suggests the available languages', async () => {
    const { command } = peopleOf({
      chatSettings: { chatSetting: async () => undefined, setChatSetting: async () => undefined },
    });
    const call = { args: 'd' } as CommandCall;
    expect(await command.suggest?.(call)).toEqual(['de']);
  });
});
