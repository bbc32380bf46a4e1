/** Commands on Discord beyond their text: suggestions, the menu of a message, and forms. */
import { expect, it, vi } from 'vitest';
import { riskyTools } from '../../../fakes/agent/risky-tools.ts';
import { chooses, fillsIn, onMessage, types } from '../../../fakes/discord/acts.ts';
import type {
  FakeChannel,
  FakeInteraction,
  FakeMessage,
  FakePerson,
} from '../../../fakes/discord/platform.ts';
import { lastUserText } from '../../../fakes/model/spoken-text.ts';
import { describeGateway, WAIT } from '../../setup.ts';

const ran: string[] = [];

describeGateway('Discord, by commands and forms', { discord: true, tools: riskyTools(ran) }, (fixture) => {
  const friend = async (owner = false): Promise<{ channel: FakeChannel; person: FakePerson }> => {
    const { channel, person } = fixture().discord.dm();
    await fixture().store.access.addGrant('discord', 'dm', person.id);
    if (owner) await fixture().store.access.addGrant('discord', 'owner', person.id);
    return { channel, person };
  };
  const room = async (): Promise<{ channel: FakeChannel; person: FakePerson }> => {
    const channel = fixture().discord.platform.addChannel(0);
    await fixture().store.access.addGrant('discord', 'group', channel.id);
    return { channel, person: fixture().discord.person('Bo') };
  };
  const screen = (channel: FakeChannel, viewer?: FakePerson): string =>
    fixture().discord.screen(channel, viewer).join('\n');
  const ofBot = (channel: FakeChannel): FakeMessage[] =>
    fixture()
      .discord.visible(channel)
      .filter(({ author }) => author.bot === true);
  const shown = async (id: string): Promise<FakeInteraction> =>
    await vi.waitFor(() => {
      const found = [...fixture().discord.platform.interactions.values()].find((one) => one.id === id);
      if (found?.modal === undefined) throw new Error('no form is shown yet');
      return found;
    }, WAIT);
  const readByModel = (tag: string): string =>
    fixture()
      .ollama.calls.map(({ body }) => lastUserText(body))
      .find((text) => text.includes(tag)) ?? '';

  it('are described in German, too, have choices, and those for owners are hidden from members at first', async () => {
    const { platform } = fixture().discord;
    await vi.waitFor(() => expect(platform.commands.length).toBeGreaterThan(3), WAIT);
    const named = (name: string): unknown =>
      platform.commands.find((one) => 'name' in one && one.name === name);
    expect(named('ask')).toMatchObject({ name_localizations: { de: 'frage' } });
    expect(named('trust')).toMatchObject({ default_member_permissions: '32' });
    expect(named('queue')).toMatchObject({ options: [{ choices: [{ name: 'queue' }, {}, {}, {}] }] });
    expect(named('profile')).toMatchObject({ options: [{ autocomplete: true }] });
    expect(named('Ask about this')).toMatchObject({ type: 3, name_localizations: { de: 'Darüber fragen' } });
    const undescribed = platform.commands.filter(
      (one) => 'description' in one && one.description !== '' && !('description_localizations' in one),
    );
    expect(undescribed).toEqual([]);
  });

  it('suggest models, profiles and what /schedule can do to an owner who is typing, and nothing to a stranger, who gets no pairing code that way', async () => {
    const { discord } = fixture();
    const { channel, person } = await friend(true);
    const model = types(discord, channel, 'model', { name: 'name', value: 'def' }, person);
    const profile = types(discord, channel, 'profile', { name: 'id', value: '' }, person);
    const schedule = types(discord, channel, 'schedule', { name: 'what', value: 'li' }, person);
    await vi.waitFor(() => expect(schedule.choices).toEqual(['list']), WAIT);
    await vi.waitFor(() => expect(model.choices).toEqual(['default']), WAIT);
    await vi.waitFor(() => expect(profile.choices?.length).toBeGreaterThan(0), WAIT);
    const { channel: closed, person: eve } = discord.dm('Eve');
    const refused = types(discord, closed, 'profile', { name: 'id', value: '' }, eve);
    await vi.waitFor(() => expect(refused.choices).toEqual([]), WAIT);
    expect(await fixture().store.access.pairings()).toEqual([]);
  });

  it('"Ask about this" asks for the question in a form, and the model reads both', async () => {
    const { discord } = fixture();
    const { channel, person } = await room();
    const target = discord.says(channel, 'The ship sails at noon.', discord.person('Cy'));
    const { id } = onMessage(discord, target, 'Ask about this', person);
    fillsIn(discord, await shown(id), { question: 'when does it sail?' });
    await vi.waitFor(() => expect(screen(channel)).toContain('when does it sail?'), WAIT);
    await vi.waitFor(
      () => expect(readByModel('when does it sail?')).toContain('The ship sails at noon.'),
      WAIT,
    );
    expect(readByModel('when does it sail?')).toContain('Cy');
  });

  it('"Ask about this" takes files with the question', async () => {
    const { discord } = fixture();
    const { channel, person } = await room();
    const target = discord.says(channel, 'Compare the plan with the file.', discord.person('Cy'));
    const { id } = onMessage(discord, target, 'Ask about this', person);
    const form = await shown(id);
    expect(form.modal?.files).toMatchObject({ label: 'Files, if you like', most: 10 });
    const file = { id: '90001', filename: 'plan.txt', content_type: 'text/plain', size: 4 };
    fillsIn(discord, form, { question: 'do they match?' }, [
      { ...file, url: 'https://cdn.example/plan.txt' },
    ]);
    await vi.waitFor(() => expect(readByModel('do they match?')).toContain('plan.txt'), WAIT);
  });

  it('"Summarize from here" gives the model what was said from that message on', async () => {
    const { discord } = fixture();
    const { channel, person } = await room();
    discord.says(channel, 'before it', discord.person('Cy'));
    const target = discord.says(channel, 'the beginning', discord.person('Cy'));
    discord.says(channel, 'the middle', discord.person('Di'));
    onMessage(discord, target, 'Summarize from here', person);
    await vi.waitFor(
      () => expect(readByModel('Summarize this conversation')).toContain('Di: the middle'),
      WAIT,
    );
    expect(readByModel('Summarize this conversation')).toContain('Cy: the beginning');
    expect(readByModel('Summarize this conversation')).not.toContain('before it');
    await vi.waitFor(() => expect(ofBot(channel)[0]?.content).toContain('echo'), WAIT);
  });

  it('a message command that cannot read the channel says which permissions it needs', async () => {
    const { discord } = fixture();
    const { channel, person } = await room();
    const target = discord.says(channel, 'secret', discord.person('Cy'));
    channel.unreadable = true;
    onMessage(discord, target, 'Summarize from here', person);
    await vi.waitFor(() => expect(screen(channel, person)).toContain('Read Message History'), WAIT);
  });

  it('Deny asks for a reason in a form; nothing is decided before that, and a second form changes nothing', async () => {
    const { discord, ollama } = fixture();
    const { channel, person } = await friend();
    ollama.answer({ toolCalls: [{ name: 'wipe', args: { word: 'disk f' } }] }, { when: 'wipe it' });
    discord.says(channel, 'wipe it', person);
    await vi.waitFor(() => expect(screen(channel)).toContain('May I do this'), WAIT);
    const form = await shown(discord.press(channel, 'Deny', person));
    expect(form.modal?.fields).toMatchObject([{ name: 'reason', required: false }]);
    expect(await fixture().store.approvals.pendingApprovals({ limit: 9 })).toHaveLength(1);
    fillsIn(discord, form, { reason: 'use a copy' });
    await vi.waitFor(() => expect(screen(channel)).toContain('echo: wipe it'), WAIT);
    const second = fillsIn(discord, form, { reason: 'twice' });
    await vi.waitFor(() => expect(second.answered).toBe(true), WAIT);
    await vi.waitFor(() => expect(screen(channel, person)).toContain('Denied: it will not run'), WAIT);
    expect(screen(channel)).toContain('use a copy');
    expect(screen(channel)).not.toContain('twice');
    expect(ran).toEqual([]);
  });

  it('Edit under a request shows its arguments in a form; the call runs with what is submitted, once, and wrong JSON changes nothing', async () => {
    const { discord, ollama } = fixture();
    const { channel, person } = await friend();
    ollama.answer({ toolCalls: [{ name: 'wipe', args: { word: 'disk g', count: 2 } }] }, { when: 'wipe g' });
    discord.says(channel, 'wipe g', person);
    await vi.waitFor(() => expect(screen(channel)).toContain('May I do this'), WAIT);
    const form = await shown(discord.press(channel, 'Edit', person));
    expect(form.modal?.title).toBe('Approve with changes: wipe');
    expect(form.modal?.fields.map(({ label, value }) => [label, value])).toEqual([
      ['word', 'disk g'],
      ['count', '2'],
    ]);
    fillsIn(discord, form, { 'argument-0': 'disk h', 'argument-1': 'two' });
    await vi.waitFor(() => expect(screen(channel, person)).toContain('Nothing was decided'), WAIT);
    expect(screen(channel, person)).toContain('word: disk h\ncount: two');
    expect(await fixture().store.approvals.pendingApprovals({ limit: 9 })).toHaveLength(1);
    fillsIn(discord, form, { 'argument-0': 'disk h', 'argument-1': '3' });
    await vi.waitFor(() => expect(screen(channel)).toContain('echo: wipe g'), WAIT);
    fillsIn(discord, form, { 'argument-0': 'disk i' });
    await vi.waitFor(() => expect(screen(channel, person)).toContain('already approved'), WAIT);
    expect(screen(channel)).toMatch(/Changed before it was approved:[^]*disk h/);
    expect(ran).toEqual(['wipe disk h']);
    ran.length = 0;
  });

  it('Edit under a plan shows its steps in a form; what is submitted is the plan, and an outdated form changes nothing', async () => {
    const { discord, ollama } = fixture();
    const { channel, person } = await friend();
    const tag = 'the fence';
    ollama.answer('Three things.\nREFLECT: no', { when: tag });
    ollama.answer(`Steps\n1. [SELF] Wash\n2. [SELF] Dry\n3. [SELF] Paint`, { when: tag });
    discord.says(channel, `/plan do ${tag}`, person);
    await vi.waitFor(() => expect(screen(channel)).toContain('3. Paint'), WAIT);
    const form = await shown(discord.press(channel, 'Edit', person));
    expect(form.modal?.fields[0]?.value).toBe('1: Wash\n2: Dry\n3: Paint');
    fillsIn(discord, form, { steps: '3: Paint it blue\n1: Wash\nAdmire' });
    const card = /1\. Paint it blue[^]*2\. Wash[^]*3\. Admire/;
    await vi.waitFor(() => expect(screen(channel)).toMatch(card), WAIT);
    fillsIn(discord, form, { steps: '1: Nothing' });
    await vi.waitFor(() => expect(screen(channel, person)).toContain('has changed since'), WAIT);
    expect(screen(channel)).toMatch(card);
  });

  it('/mode and /model without an argument show a menu, and the selection takes effect', async () => {
    const { discord } = fixture();
    const { channel, person } = await friend(true);
    const menu = (): string[] | undefined => discord.visible(channel, person).at(-1)?.select?.values;
    discord.slash(channel, 'mode', {}, person);
    await vi.waitFor(() => expect(menu()).toEqual(['planner', 'teacher', 'agentic']), WAIT);
    chooses(discord, channel, 'teacher', person);
    await vi.waitFor(() => expect(menu()).toBeUndefined(), WAIT);
    const session = await fixture().store.ledger.session(`discord:${channel.id}`);
    expect(session?.mode).toBe('teacher');
    discord.slash(channel, 'model', {}, person);
    await vi.waitFor(() => expect(menu()?.length).toBeGreaterThan(1), WAIT);
  });
});
