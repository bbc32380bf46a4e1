/**
 * Slash commands and buttons on Slack: committed before they are acknowledged, acknowledged in time, answered to their
 * user.
 */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { MAX_WAITING_ACTS } from '../../../channels/slack/receiving.ts';
import { StoreError } from '../../../src/protocol/errors.ts';
import type { Receipt } from '../../../src/protocol/receive.ts';
import { SlackSetup } from '../../fakes/slack/setup.ts';
import { ACCEPTED } from '../../fakes/gateway/channel-setup.ts';
import type { FakeChat, FakePerson } from '../../fakes/slack/workspace.ts';

const WAIT = { timeout: 8_000, interval: 5 };

let setup: SlackSetup;
let channel: FakeChat;
let ada: FakePerson;
beforeEach(async () => {
  setup = await SlackSetup.open();
  channel = setup.slack.workspace.channel();
  ada = setup.slack.workspace.person('Ada');
  await setup.start();
});
afterEach(() => setup.close());

const answerOf = (id: string) =>
  vi.waitFor(() => {
    expect(setup.slack.answers.has(id)).toBe(true);
    return setup.slack.answers.get(id);
  }, WAIT);

describe('/parley', () => {
  it.each([
    ['stop', '/stop'],
    ['/new', '/new'],
    ['queue later', '/queue later'],
    ['new ideas for my garden', 'new ideas for my garden'],
    ['what is <https://example.test|that>?', 'what is that (https://example.test)?'],
    ['', '/help'],
  ])('with "%s" is "%s"', async (text, content) => {
    await answerOf(setup.slack.commands(channel, text, ada));
    expect(setup.received).toMatchObject([
      { content, senderId: ada.id, chatId: channel.id, mentioned: true },
    ]);
  });

  it('is answered immediately, and only to that person; everyone sees that an answer was stopped', async () => {
    setup.verdict = () => Promise.resolve({ kind: 'handled', reply: 'Nothing is **running**.' });
    expect(await answerOf(setup.slack.commands(channel, 'help', ada))).toMatchObject({
      response_type: 'ephemeral',
      text: 'Nothing is running.',
    });
    expect(await answerOf(setup.slack.commands(channel, 'stop', ada))).toMatchObject({
      response_type: 'in_channel',
    });
  });

  it('shows everyone the question that will be answered', async () => {
    expect(await answerOf(setup.slack.commands(channel, 'why?', ada))).toEqual({
      response_type: 'in_channel',
    });
  });

  it('is acknowledged in time when the commit takes long, and reports if it fails', async () => {
    const { promise, resolve } = Promise.withResolvers<Receipt>();
    setup.verdict = () => promise;
    expect(await answerOf(setup.slack.commands(channel, 'why?', ada))).toBeUndefined();
    resolve({ kind: 'handled', reply: 'It is full here.' });
    await vi.waitFor(
      () =>
        expect(setup.slack.workspace.ephemerals).toMatchObject([{ user: ada.id, text: 'It is full here.' }]),
      WAIT,
    );
  });

  it(`waits for the store with at most ${MAX_WAITING_ACTS} others; of further ones Slack says that they failed`, async () => {
    const { promise, resolve } = Promise.withResolvers<Receipt>();
    setup.verdict = () => promise;
    for (let n = 0; n < MAX_WAITING_ACTS; n += 1) setup.slack.commands(channel, `why ${n}?`, ada);
    const extra = setup.slack.commands(channel, 'and I?', ada);
    await vi.waitFor(() => expect(setup.slack.answers.size).toBe(MAX_WAITING_ACTS), WAIT);
    expect(setup.slack.answers.has(extra)).toBe(false);
    expect(setup.received).toHaveLength(MAX_WAITING_ACTS);
    resolve(ACCEPTED);
    const later = async () => {
      await answerOf(setup.slack.commands(channel, 'and now?', ada));
      expect(setup.contents).toContain('and now?');
    };
    await vi.waitFor(later, WAIT);
  });

  it('reports that it could not be stored', async () => {
    setup.verdict = () => Promise.reject(new StoreError('unavailable', 'away', { retryable: true }));
    const answer = await answerOf(setup.slack.commands(channel, 'why?', ada));
    expect(answer?.['text']).toContain('could not be saved');
  });
});

describe('a button', () => {
  const asked = async (threadId?: string) => {
    const buttons = [{ label: 'Approve', value: 'approve:1', style: 'confirm' as const }];
    await setup.channel.send({ ...setup.part(channel.id, 'May I?'), ...(threadId && { threadId }), buttons });
    const [message] = setup.slack.visible(channel);
    if (message === undefined) throw new Error('nothing was shown');
    return message;
  };

  it('is committed before it is acknowledged, and answered to the person alone', async () => {
    const root = setup.slack.says(channel, 'the thread', ada);
    await vi.waitFor(() => expect(setup.received).toHaveLength(1), WAIT);
    const message = await asked(root.ts);
    const { promise, resolve } = Promise.withResolvers<Receipt>();
    setup.verdict = () => promise;
    const id = setup.slack.presses(channel, message, 'Approve', ada);
    await vi.waitFor(() => expect(setup.received).toHaveLength(2), WAIT);
    expect(setup.slack.answers.has(id)).toBe(false);
    resolve({ kind: 'handled', reply: 'Approved.' });
    await answerOf(id);
    expect(setup.received[1]).toMatchObject({
      button: 'approve:1',
      buttonUnder: { id: message.ts },
      threadId: root.ts,
      senderId: ada.id,
      content: '',
    });
    await vi.waitFor(
      () =>
        expect(setup.slack.workspace.ephemerals).toMatchObject([
          { user: ada.id, text: 'Approved.', threadTs: root.ts },
        ]),
      WAIT,
    );
  });

  it('that is passed on to the agent is only acknowledged', async () => {
    const message = await asked();
    setup.verdict = () => Promise.resolve(ACCEPTED);
    await answerOf(setup.slack.presses(channel, message, 'Approve', ada));
    expect(setup.slack.workspace.ephemerals).toEqual([]);
  });
});
