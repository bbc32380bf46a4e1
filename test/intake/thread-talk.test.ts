/** What the intake knows of threads: when it asks the platform for them, and what a platform that does not answer changes. */
import { expect, it } from 'vitest';
import type { Capabilities, Channel, EarlierMessage } from '../../src/protocol/channel.ts';
import { channelUnavailable } from '../../src/protocol/errors.ts';
import type { InboundMessage } from '../../src/protocol/message.ts';
import { MAX_THREADS, ThreadTalk } from '../../src/intake/thread-talk.ts';
import { describeStore, silentLog, type TestStore } from '../database.ts';
import { partial } from '../fakes/partial.ts';
import { inbound } from '../store/requests.ts';

const ADDRESS = 'slack:C1:100';
const earlier = (id: string, senderId: string, content = id): EarlierMessage => ({
  id,
  senderId,
  senderName: senderId,
  content,
  media: [],
  isOwn: senderId === 'bot',
});

function threadsOf(store: TestStore, thread: () => Promise<EarlierMessage[]>, followUps = true) {
  const read: (string | undefined)[] = [];
  const before: Channel['before'] = async (_place, messageId) => {
    read.push(messageId);
    return await thread();
  };
  const channel = partial<Channel>({ before, capabilities: partial<Capabilities>({ followUps }) });
  const channels = new Map([['slack', channel]]);
  const threads = new ThreadTalk({
    channels,
    ledger: store.ledger,
    store,
    log: silentLog,
    monotonicNow: () => 0,
  });
  return { threads, read };
}

const says = (senderId: string, messageId: string, more: Partial<InboundMessage> = {}): InboundMessage => ({
  ...inbound(messageId),
  channel: 'slack',
  chatId: 'C1',
  threadId: '100',
  place: 'group',
  senderId,
  messageId,
  ...more,
});

async function kept(store: TestStore): Promise<string[]> {
  const rows = await store.sql<{ text: string }[]>`
    select sender_name || ': ' || content as text from observed order by id`;
  return rows.map(({ text }) => text);
}

describeStore('a thread of a group', (databases) => {
  const asked = async (store: TestStore): Promise<void> => {
    const message = says('ada', '100');
    await store.ledger.accept({ message, address: ADDRESS, entry: 'runStream' });
  };

  it('is read once, whole for a new conversation; one that begins with the question is not', async () => {
    const store = await databases.open();
    const said = [earlier('100', 'bob'), earlier('101', 'bot', 'mine'), earlier('102', 'eve', '')];
    const { threads, read } = threadsOf(store, async () => said);
    await threads.enter(says('ada', '103'));
    await threads.enter(says('ada', '104'));
    await threads.enter(says('ada', '200', { threadId: '200' }));
    expect(read).toEqual(['103']);
    expect(await kept(store)).toEqual(['bob: 100', 'you: mine']);
  });

  it('is not continued by what was written before the question, when the platform delivers that again', async () => {
    const store = await databases.open();
    const { threads } = threadsOf(store, async () => []);
    await asked(store);
    await threads.enter(says('ada', '104', { timestamp: 4_000 }));
    expect(await threads.isFollowUp(says('ada', '103', { timestamp: 3_000 }))).toBe(false);
    // Nor does it make another one the last who wrote.
    expect(await threads.isFollowUp(says('bob', '102', { timestamp: 2_000 }))).toBe(false);
    expect(await threads.isFollowUp(says('ada', '105', { timestamp: 5_000 }))).toBe(true);
    expect(await threads.isFollowUp(says('bob', '106', { timestamp: 6_000 }))).toBe(false);
    expect(await threads.isFollowUp(says('ada', '107', { timestamp: 7_000 }))).toBe(false);
  });

  it('is read again after others wrote there, from the last answer on', async () => {
    const store = await databases.open();
    const { threads, read } = threadsOf(store, async () => [
      earlier('100', 'ada'),
      earlier('101', 'bot'),
      earlier('102', 'eve'),
    ]);
    await asked(store);
    await threads.enter(says('ada', '100'));
    expect(await threads.isFollowUp(says('eve', '102'))).toBe(false);
    expect(await threads.isFollowUp(says('ada', '103'))).toBe(false);
    await threads.enter(says('ada', '104'));
    expect(read).toEqual(['104']);
    expect(await kept(store)).toEqual(['eve: 102']);
  });

  it('is kept without the questions that wait for their own answers, when another process goes on', async () => {
    const store = await databases.open();
    await asked(store);
    const waiting = says('bob', '102');
    await store.ledger.accept({ message: waiting, address: ADDRESS, entry: 'runStream' });
    const said = [earlier('100', 'ada'), earlier('101', 'bot'), earlier('102', 'bob'), earlier('103', 'eve')];
    const { threads } = threadsOf(store, async () => said);
    await threads.enter(says('cara', '104'));
    expect(await kept(store)).toEqual(['eve: 103']);
  });

  it.each<[string, EarlierMessage[], boolean]>([
    ['the asker alone has', [earlier('100', 'ada'), earlier('101', 'bot'), earlier('102', 'ada')], true],
    ['someone else has', [earlier('100', 'ada'), earlier('101', 'bot'), earlier('102', 'eve')], false],
    ['someone else has asked, and the asker', [earlier('100', 'eve'), earlier('101', 'bot')], false],
    ['the bot has not answered, and the asker', [earlier('100', 'ada')], false],
    ['the bot began it, and no one', [earlier('100', 'bot')], false],
  ])('that this process has not followed goes on if %s written since: %#', async (_, said, follows) => {
    const store = await databases.open();
    await asked(store);
    const { threads, read } = threadsOf(store, async () => said);
    expect(await threads.isFollowUp(says('ada', '103'))).toBe(follows);
    expect(read).toEqual(['103']);
  });

  it('is not asked for where the bot was never asked, or follow-ups are off; bots never follow up', async () => {
    const store = await databases.open();
    const quiet = threadsOf(store, async () => [earlier('100', 'ada'), earlier('101', 'bot')]);
    expect(await quiet.threads.isFollowUp(says('ada', '103'))).toBe(false);
    await asked(store);
    const off = threadsOf(store, async () => [], false);
    await off.threads.enter(says('ada', '100'));
    expect(await off.threads.isFollowUp(says('ada', '101', { isEdit: true }))).toBe(false);
    expect(await off.threads.isFollowUp(says('ada', '101'))).toBe(false);
    const on = threadsOf(store, async () => []);
    await on.threads.enter(says('ci', '100', { fromBot: true }));
    expect(await on.threads.isFollowUp(says('ci', '101', { fromBot: true }))).toBe(false);
    expect([...quiet.read, ...off.read, ...on.read]).toEqual([]);
  });

  it('begins with a message that follows up nothing, and is read once the bot is asked in it', async () => {
    const store = await databases.open();
    const { threads, read } = threadsOf(store, async () => [earlier('100', 'bob')]);
    expect(await threads.isFollowUp(says('bob', '100'))).toBe(false);
    expect(read).toEqual([]);
    await threads.enter(says('ada', '101'));
    expect(await kept(store)).toEqual(['bob: 100']);
  });

  it('that cannot be read costs the question nothing, and is asked for again', async () => {
    const store = await databases.open();
    let fails = true;
    const { threads, read } = threadsOf(store, async () => {
      if (fails) throw channelUnavailable('Slack does not answer.');
      return [earlier('100', 'bob')];
    });
    await threads.enter(says('ada', '103'));
    expect(await kept(store)).toEqual([]);
    fails = false;
    await threads.enter(says('ada', '104'));
    expect(read).toEqual(['103', '104']);
    expect(await kept(store)).toEqual(['bob: 100']);
  });

  it(`is forgotten after ${MAX_THREADS} others, and then read again`, async () => {
    const store = await databases.open();
    const { threads, read } = threadsOf(store, async () => []);
    const begin = (n: number) => threads.enter(says('ada', `${n}`, { threadId: `${n}` }));
    await begin(1);
    for (let n = 2; n <= MAX_THREADS; n += 1) await begin(n);
    await threads.enter(says('ada', 'x', { threadId: '1' }));
    expect(read).toEqual([]);
    await begin(MAX_THREADS + 1);
    await begin(MAX_THREADS + 2);
    await threads.enter(says('ada', 'y', { threadId: '2' }));
    expect(read).toEqual(['y']);
  });
});
