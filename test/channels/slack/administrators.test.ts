/** Who has the rights of an administrator in a chat on Slack. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { failureOf } from '../../fakes/gateway/channel-setup.ts';
import { SlackSetup } from '../../fakes/slack/setup.ts';
import type { FakeChat, FakePerson } from '../../fakes/slack/workspace.ts';

let setup: SlackSetup;
let chat: FakeChat;
let ada: FakePerson;
beforeEach(async () => {
  setup = await SlackSetup.open();
  chat = setup.slack.workspace.channel();
  ada = setup.slack.workspace.person('Ada');
});
afterEach(() => setup.close());

const isAdmin = async (person = ada): Promise<boolean | undefined> =>
  await setup.channel.isAdmin?.({ channel: 'slack', chatId: chat.id, threadId: '1.000001' }, person.id);

describe('the administrators of a Slack channel', () => {
  it('are those of the workspace, which takes one call', async () => {
    ada.role = 'admin';
    expect(await isAdmin()).toBe(true);
    ada.role = 'owner';
    expect(await isAdmin()).toBe(true);
    expect(setup.slack.calls.filter((call) => call === 'conversations.info')).toEqual([]);
    ada.role = 'guest';
    expect(await isAdmin()).toBe(false);
  });

  it.each([
    ['a public channel', 'channels:read', () => setup.slack.workspace.channel()],
    [
      'a private channel',
      'groups:read',
      () => Object.assign(setup.slack.workspace.channel(), { isPrivate: true }),
    ],
    ['a group message', 'mpim:read', () => setup.slack.workspace.group()],
  ])('are also who created %s, and without the scope %s nobody knows', async (_, scope, open) => {
    chat = open();
    chat.creator = ada.id;
    expect(await isAdmin()).toBe(true);
    expect(await isAdmin(setup.slack.workspace.person('Bob'))).toBe(false);
    setup.slack.scopes = setup.slack.scopes.filter((one) => one !== scope);
    const failure = await failureOf(isAdmin());
    expect(failure).toMatchObject({ code: 'rejected', retryable: false });
    expect(failure.message).toContain(`The bot lacks the scope ${scope} on Slack`);
  });

  it('are not people of another workspace, bots, or people who have left', async () => {
    chat.creator = ada.id;
    for (const change of [
      { teamId: 'T0OTHER', role: 'owner' as const },
      { botId: 'B0BOT' },
      { isDeleted: true },
    ]) {
      const before = { ...ada };
      Object.assign(ada, change);
      expect({ change, isAdmin: await isAdmin() }).toEqual({ change, isAdmin: false });
      for (const key of Object.keys(change)) Reflect.deleteProperty(ada, key);
      Object.assign(ada, before);
    }
    expect(await isAdmin()).toBe(true);
  });

  it('are unknown while Slack does not answer', async () => {
    setup.slack.failures.push({ kind: 'status', status: 503, match: /^users\.info$/ });
    expect(await failureOf(isAdmin())).toMatchObject({ code: 'unavailable', retryable: true });
  });
});
