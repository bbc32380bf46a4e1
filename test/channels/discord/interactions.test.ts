/** Slash commands: registered once, committed and deferred in time, answered where they were asked. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { SentMessage } from '../../../src/contracts/message.ts';
import type { Receipt } from '../../../src/contracts/receive.ts';
import { ACCEPTED, DiscordHouse, failureOf } from '../../fakes/discord/setup.ts';
import { Refusal } from '../../fakes/discord/world.ts';
import type { FakeChannel, FakePerson } from '../../fakes/discord/world.ts';

const WAIT = { timeout: 5_000, interval: 5 };
const THINKING = 'Parley is thinking...';

describe('slash commands', () => {
  let house: DiscordHouse;
  let room: FakeChannel;
  let ada: FakePerson;
  let shift = 0;

  beforeEach(async () => {
    shift = 0;
    house = await DiscordHouse.open({ now: () => Date.now() + shift });
    room = house.discord.world.addChannel(0);
    ada = house.discord.person('Ada');
  });
  afterEach(async () => {
    await house.close();
  });

  const shows = async (texts: string[], viewer?: FakePerson): Promise<void> => {
    await vi.waitFor(() => expect(house.discord.screen(room, viewer)).toEqual(texts), WAIT);
  };
  const ask = async (prompt: string): Promise<SentMessage> => {
    const before = house.received.length;
    house.discord.slash(room, '/ask', { prompt }, ada);
    await vi.waitFor(() => expect(house.received.length).toBe(before + 1), WAIT);
    const placeholder = house.received[before]?.placeholder;
    if (placeholder === undefined) throw new Error('a command must bring its deferred reply');
    return placeholder;
  };
  const edit = async (sent: SentMessage, text: string): Promise<void> => {
    await house.channel.edit?.(sent, house.part(room.id, text));
  };

  it('registers its commands once and leaves an unchanged list alone', async () => {
    await house.start();
    await vi.waitFor(() => expect(house.discord.world.commandWrites).toBe(1), WAIT);
    expect(house.discord.world.commands).toMatchObject([
      { name: 'ask', options: [{ name: 'prompt', required: true }] },
      { name: 'stop' },
      { name: 'queue', options: [{ name: 'mode', description: 'Which of them', type: 3 }] },
      { name: 'help' },
    ]);
    const reads = (): number =>
      house.discord.rest.calls.filter((call) => /^GET .*commands/.test(call)).length;
    await house.channel.stop();
    await house.start();
    await vi.waitFor(() => expect(reads()).toBe(2), WAIT);
    await house.channel.stop();
    expect(house.discord.world.commandWrites).toBe(1);
  });

  it('receives though the commands cannot be registered, and tries that again', async () => {
    house.discord.fault({ kind: 'status', status: 500, match: /commands/ });
    await house.start();
    house.discord.says(room, 'hello', ada);
    await vi.waitFor(() => expect(house.contents).toEqual(['hello']), WAIT);
    expect(house.discord.world.commandWrites).toBe(0);
    await vi.waitFor(() => expect(house.discord.world.commandWrites).toBe(1), WAIT);
  });

  it('says in the log when the commands are refused for good', async () => {
    house.discord.fault({
      kind: 'refuse',
      refusal: new Refusal(403, 50_001, 'Missing Access'),
      match: /commands/,
    });
    await house.start();
    await vi.waitFor(() => expect(house.log.join('')).toContain('could not be registered'), WAIT);
  });

  it('commits first, then defers, then grows the answer in the deferred reply (DESIGN T1)', async () => {
    const { promise, resolve } = Promise.withResolvers<Receipt>();
    house.verdict = async () => await promise;
    await house.start();
    const placeholder = await ask('why is the sky blue?');
    expect(house.received[0]).toMatchObject({
      content: 'why is the sky blue?',
      chatId: room.id,
      senderId: ada.id,
      senderName: 'Ada',
      place: 'group',
      mentioned: true,
    });
    expect(house.discord.screen(room)).toEqual([]);
    resolve(ACCEPTED);
    await shows([THINKING]);
    await edit(placeholder, 'Because');
    await edit(placeholder, 'Because of **Rayleigh**.');
    expect(house.discord.screen(room)).toEqual(['Because of Rayleigh.']);
    expect(house.discord.visible(room)[0]?.history).toEqual(['', 'Because', 'Because of **Rayleigh**.']);
  });

  it('lets no edit overtake the deferral it belongs to', async () => {
    const gate = Promise.withResolvers<void>();
    house.discord.fault({ kind: 'hold', match: /callback/, until: gate.promise });
    await house.start();
    const placeholder = await ask('quick?');
    const edited = edit(placeholder, 'Very quick.');
    await vi.waitFor(() => expect(house.discord.rest.calls.join()).toContain('callback'), WAIT);
    expect(house.discord.rest.calls.join()).not.toContain('@original');
    gate.resolve();
    await edited;
    expect(house.discord.screen(room)).toEqual(['Very quick.']);
  });

  it('defers before a commit that takes too long, and still answers', async () => {
    const { promise, resolve } = Promise.withResolvers<Receipt>();
    house.verdict = async () => await promise;
    await house.start();
    const placeholder = await ask('slow store?');
    await shows([THINKING]);
    resolve(ACCEPTED);
    await edit(placeholder, 'Here I am.');
    expect(house.discord.screen(room)).toEqual(['Here I am.']);
  });

  it('says in the deferred reply when a slow commit failed after all', async () => {
    const { promise, reject } = Promise.withResolvers<Receipt>();
    house.verdict = async () => await promise;
    await house.start();
    await ask('lost?');
    await shows([THINKING]);
    reject(new Error('store gone'));
    await vi.waitFor(() => expect(house.discord.screen(room)).not.toContain(THINKING), WAIT);
    expect(house.discord.screen(room)).toEqual([
      'Your message could not be stored just now. Please send it again in a moment.',
    ]);
  });

  it.each([
    ['/status', { kind: 'handled', reply: 'All quiet.' }, 'All quiet.', true],
    ['/help', { kind: 'handled', reply: '`/ask` and more' }, '/ask and more', true],
    ['/stop', { kind: 'handled', reply: 'Stopped.' }, 'Stopped.', false],
    ['/new', { kind: 'handled' }, 'Done.', false],
    ['/status', { kind: 'refused', code: 'denied' }, 'This bot does not answer you here.', true],
    ['/ask', { kind: 'refused', code: 'queue_full', reply: 'Too much waits.' }, 'Too much waits.', true],
  ] satisfies [string, Receipt, string, boolean][])(
    'answers %s (%j) at once',
    async (command, receipt, text, onlyForAsker) => {
      house.verdict = () => Promise.resolve(receipt);
      await house.start();
      house.discord.slash(room, command, command === '/ask' ? { prompt: 'x' } : {}, ada);
      await shows([text], ada);
      expect(house.contents).toEqual([command === '/ask' ? 'x' : command]);
      expect(house.discord.screen(room)).toEqual(onlyForAsker ? [] : [text]);
    },
  );

  it('hands the argument of a command over as words behind its name', async () => {
    house.verdict = () => Promise.resolve({ kind: 'handled', reply: 'Steering.' });
    await house.start();
    house.discord.slash(room, '/queue', { mode: ' steer' }, ada);
    house.discord.slash(room, '/queue', {}, ada);
    await vi.waitFor(() => expect(house.contents).toEqual(['/queue  steer', '/queue']), WAIT);
  });

  it('gives a command repeated after a resume the same id and no second reply', async () => {
    await house.start();
    await ask('once');
    await shows([THINKING]);
    const [interaction] = house.discord.world.interactions.values();
    house.discord.gateway.dispatch('INTERACTION_CREATE', 0, () => ({
      id: interaction?.id,
      application_id: house.discord.world.applicationId,
      type: 2,
      token: interaction?.token,
      version: 1,
      channel_id: room.id,
      channel: { id: room.id, type: 0 },
      user: { id: ada.id, username: 'ada', discriminator: '0', avatar: null },
      data: {
        id: interaction?.id,
        name: 'ask',
        type: 1,
        options: [{ name: 'prompt', type: 3, value: 'once' }],
      },
    }));
    await vi.waitFor(() => expect(house.received).toHaveLength(2), WAIT);
    await house.channel.stop();
    expect(new Set(house.received.map(({ id }) => id)).size).toBe(1);
    expect(house.discord.screen(room)).toEqual([THINKING]);
    expect(house.log.join('')).not.toContain('not acknowledged');
  });

  it('goes on in the same message by the normal route after 15 minutes, for a 20 minute turn (reliability 4.5)', async () => {
    await house.start();
    const placeholder = await ask('think long');
    await shows([THINKING]);
    await edit(placeholder, 'half');
    shift = 20 * 60_000;
    await edit(placeholder, 'whole');
    expect(house.discord.screen(room)).toEqual(['whole']);
  });

  it('calls the reply gone after 15 minutes when its message is unknown, so that a normal one is sent', async () => {
    await house.start();
    const placeholder = await ask('think longer');
    await shows([THINKING]);
    shift = 15 * 60_000 + 1;
    const failure = await failureOf(house.channel.edit?.(placeholder, house.part(room.id, 'late')));
    expect(failure).toMatchObject({ code: 'message_gone', retryable: false });
  });

  it.each([
    [404, 10_015],
    [401, 50_027],
    [404, 10_008],
  ])('calls the reply gone on %i / %i, and keeps its own token', async (status, code) => {
    await house.start();
    const placeholder = await ask('gone?');
    await shows([THINKING]);
    shift = 4_000;
    house.discord.fault({ kind: 'refuse', refusal: new Refusal(status, code, 'gone'), match: /@original/ });
    const failure = await failureOf(house.channel.edit?.(placeholder, house.part(room.id, 'x')));
    expect(failure.code).toBe('message_gone');
    await house.channel.send(house.part(room.id, 'a normal message'));
    expect(house.discord.screen(room)).toEqual([THINKING, 'a normal message']);
  });

  it('waits for a deferral that another process is still making', async () => {
    const { world } = house.discord;
    const { token } = world.addInteraction(room.id, ada);
    const sent = {
      id: '@original',
      metadata: {
        interactionToken: token,
        applicationId: world.applicationId,
        createdAt: String(Date.now()),
      },
    };
    const failure = await failureOf(house.channel.edit?.(sent, house.part(room.id, 'x')));
    expect(failure).toMatchObject({ code: 'unavailable', retryable: true, retryAfterMs: 1_000 });
  });

  it('leaves a command alone that it heard of too late, and the answer comes as a message', async () => {
    house.verdict = () => {
      shift = 3_500;
      return Promise.resolve(ACCEPTED);
    };
    await house.start();
    const placeholder = await ask('too late?');
    await vi.waitFor(() => expect(house.log.join('')).toContain('not acknowledged'), WAIT);
    const failure = await failureOf(house.channel.edit?.(placeholder, house.part(room.id, 'x')));
    expect(failure.code).toBe('message_gone');
  });
});

describe('answers of the house to plain messages', () => {
  let house: DiscordHouse;
  beforeEach(async () => {
    house = await DiscordHouse.open();
  });
  afterEach(async () => {
    await house.close();
  });

  it.each([
    { kind: 'handled', reply: 'Stopped.' },
    { kind: 'refused', code: 'pairing', reply: 'Stopped.' },
  ] satisfies Receipt[])('shows the reply of %j under the message, once', async (receipt) => {
    const { channel, person } = house.discord.dm();
    house.verdict = () => Promise.resolve(receipt);
    await house.start();
    house.discord.rateLimit(20);
    house.discord.fault({ kind: 'drop', match: /^POST .*messages$/ });
    const question = house.discord.says(channel, '/stop', person);
    await vi.waitFor(() => expect(house.discord.screen(channel)).toEqual(['/stop', 'Stopped.']), WAIT);
    house.discord.deliver(question);
    await vi.waitFor(() => expect(house.received).toHaveLength(2), WAIT);
    await house.channel.stop();
    expect(house.discord.screen(channel)).toEqual(['/stop', 'Stopped.']);
  });

  it('stays silent when silence is right', async () => {
    const room = house.discord.world.addChannel(0);
    house.verdict = () => Promise.resolve({ kind: 'refused', code: 'denied' });
    await house.start();
    house.discord.says(room, 'psst', house.discord.person('Stranger'));
    await vi.waitFor(() => expect(house.received).toHaveLength(1), WAIT);
    await house.channel.stop();
    expect(house.discord.screen(room)).toEqual(['psst']);
  });
});
