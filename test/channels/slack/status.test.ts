/** What people see while the app works, group messages, and the limits on stored names, messages and threads. */
import pino from 'pino';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { MAX_ASKED, MAX_NAMES, People } from '../../../channels/slack/people.ts';
import { type Fields, MAX_NONCES, Sending } from '../../../channels/slack/sending.ts';
import { MAX_SHOWN, Status } from '../../../channels/slack/status.ts';
import type { SlackApi } from '../../../channels/slack/web-api.ts';
import { builtInLanguages } from '../../fakes/gateway/languages.ts';
import { SlackSetup } from '../../fakes/slack/setup.ts';

const WAIT = { timeout: 5_000, interval: 5 };
const log = pino({ level: 'silent' });

describe('in a thread', () => {
  let setup: SlackSetup;
  beforeEach(async () => {
    setup = await SlackSetup.open();
  });
  afterEach(() => setup.close());

  const thread = () => {
    const chat = setup.slack.workspace.channel();
    const { ts } = setup.slack.says(chat, 'a question', setup.slack.workspace.person('Ada'));
    return { chat, ts, place: { channel: 'slack', chatId: chat.id, threadId: ts } };
  };

  it('the app is typing until its message arrives', async () => {
    const { chat, ts, place } = thread();
    await setup.channel.typing?.(place);
    expect(chat.statuses.get(ts)).toBe('is typing…');
    await setup.channel.send({ ...setup.part(chat.id, 'an answer'), threadId: ts });
    expect(chat.statuses.size).toBe(0);
  });

  it('the app is typing in the language of the person who wrote there last', async () => {
    await setup.start();
    const chat = setup.slack.workspace.channel();
    const ben = setup.slack.workspace.person('Ben');
    ben.locale = 'de-DE';
    const { ts } = setup.slack.says(chat, `<@${setup.slack.workspace.bot.userId}> eine Frage`, ben);
    const place = { channel: 'slack', chatId: chat.id, threadId: ts };
    await vi.waitFor(() => expect(setup.received).toHaveLength(1), WAIT);
    await setup.channel.typing?.(place);
    expect(chat.statuses.get(ts)).toBe('schreibt …');
  });

  it('the app stops typing once its message was edited, which Slack itself does not notice', async () => {
    const { chat, ts, place } = thread();
    const part = { ...setup.part(chat.id, 'an answer'), threadId: ts };
    const sent = await setup.channel.send(part);
    await setup.channel.typing?.(place);
    await setup.channel.edit?.(sent, part);
    expect(chat.statuses.size).toBe(0);
    const { length } = setup.slack.calls;
    await setup.channel.edit?.(sent, part);
    expect(setup.slack.calls.slice(length)).toEqual(['chat.update']);
  });

  it('its edit is shown even if Slack does not remove the typing', async () => {
    const { chat, ts, place } = thread();
    const part = { ...setup.part(chat.id, 'an answer'), threadId: ts };
    const sent = await setup.channel.send(part);
    await setup.channel.typing?.(place);
    setup.slack.failures.push({ kind: 'refuse', code: 'internal_error', match: /setStatus/ });
    await setup.channel.edit?.(sent, { ...setup.part(chat.id, 'a better one'), threadId: ts });
    expect(setup.slack.screen(chat)).toEqual(['a better one']);
    expect(setup.log.join()).toContain('slack_status_stays');
  });

  it('nothing is requested from Slack outside of threads', async () => {
    const { chat } = setup.slack.workspace.dm('Ada');
    await setup.channel.typing?.({ channel: 'slack', chatId: chat.id });
    expect(setup.slack.calls).toEqual([]);
  });
});

it('reads group messages as those of a group, and answers there in threads', async () => {
  const setup = await SlackSetup.open();
  try {
    const { workspace } = setup.slack;
    const chat = workspace.group();
    await setup.start();
    const { ts } = setup.slack.says(chat, `<@${workspace.bot.userId}> all of us`, workspace.person('Ada'));
    await vi.waitFor(() => expect(setup.received).toHaveLength(1), WAIT);
    const message = { content: 'all of us', place: 'group', mentioned: true, threadId: ts };
    expect(setup.received[0]).toMatchObject(message);
  } finally {
    await setup.close();
  }
});

it('answers what was missed before what arrives in one packet with the beginning of a connection', async () => {
  const setup = await SlackSetup.open();
  try {
    const { slack } = setup;
    const { chat, person } = slack.workspace.dm('Ada');
    await setup.start();
    slack.says(chat, 'first', person);
    await vi.waitFor(() => expect(setup.contents).toEqual(['first']), WAIT);
    await setup.channel.stop();
    setup.connections.chats = [{ address: `slack:${chat.id}`, changedAt: Date.now() }];
    slack.says(chat, 'missed', person);
    slack.socketMode.welcomed = () => void slack.says(chat, 'newest', person);
    setup.replace();
    await setup.start();
    await vi.waitFor(
      () => expect(new Set(setup.contents)).toEqual(new Set(['first', 'missed', 'newest'])),
      WAIT,
    );
    expect([...new Set(setup.contents)]).toEqual(['first', 'missed', 'newest']);
  } finally {
    await setup.close();
  }
});

describe('stored data is bounded', () => {
  /** An API that answers every call alike, and counts them. */
  const counting = () => {
    const calls: string[] = [];
    const call = (method: string): Promise<unknown> => {
      calls.push(method);
      return Promise.resolve({ ts: '1721609600.123456', messages: [], user: { name: 'ada' } });
    };
    return { calls, api: { call } as unknown as SlackApi };
  };

  it('for names: a maximum in total, and a maximum for one message', async () => {
    const { calls, api } = counting();
    const people = new People(api, log, () => 0);
    const ids = Array.from({ length: MAX_NAMES + 1 }, (_, n) => `U${n}00`);
    for (let at = 0; at < ids.length; at += MAX_ASKED) await people.names(ids.slice(at, at + MAX_ASKED));
    calls.length = 0;
    await people.names([ids.at(-1) ?? '']);
    expect(calls).toHaveLength(0);
    await people.names([ids[0] ?? '']);
    expect(calls).toHaveLength(1);
    const many = Array.from({ length: MAX_ASKED + 1 }, (_, n) => `W${n}00`);
    expect((await people.names(many)).size).toBe(MAX_ASKED);
  });

  it('for messages by their nonce', async () => {
    const { calls, api } = counting();
    const sending = new Sending(api, log, () => 0);
    const place = { channel: 'slack', chatId: 'D0123ABC456' };
    const fields: Fields = { text: 'x', blocks: [], unfurl_links: false, unfurl_media: false };
    for (let n = 0; n <= MAX_NONCES; n += 1) await sending.post(place, fields, `nonce ${n}`);
    const calledFor = async (nonce: string): Promise<string[]> => {
      calls.length = 0;
      await sending.post(place, fields, nonce);
      return [...calls];
    };
    expect(await calledFor(`nonce ${MAX_NONCES}`)).toEqual(['chat.update']);
    expect(await calledFor('nonce 0')).toEqual(['chat.postMessage']);
  });

  it('for threads in which the app is typing', async () => {
    const { calls, api } = counting();
    const status = new Status(api, log, () => 0, builtInLanguages);
    const place = (n: number) => ({ channel: 'slack', chatId: 'C0123ABC456', threadId: `${n}.000000` });
    for (let n = 0; n <= MAX_SHOWN; n += 1) await status.show(place(n));
    calls.length = 0;
    await status.edited(place(0));
    expect(calls).toEqual([]);
    await status.edited(place(1));
    expect(calls).toHaveLength(1);
  });
});
