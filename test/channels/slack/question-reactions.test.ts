/** The app's reactions to questions on Slack: one at a time, and what Slack refuses of them. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { SlackSetup } from '../../fakes/slack/setup.ts';

describe('reactions to questions on Slack', () => {
  let setup: SlackSetup;
  beforeEach(async () => {
    setup = await SlackSetup.open();
  });
  afterEach(() => setup.close());

  const asked = () => {
    const chat = setup.slack.workspace.channel();
    const message = setup.slack.says(chat, 'why?', setup.slack.workspace.person('Ada'));
    const place = { channel: 'slack', chatId: chat.id, threadId: message.ts, place: 'group' } as const;
    return { chat, message, question: { ...place, messageId: message.ts } };
  };

  it('replace each other, and are shown in channels unless the settings say otherwise', async () => {
    expect(setup.channel.capabilities.reactions).toEqual(['group']);
    const { message, question } = asked();
    await setup.channel.react?.(question, 'waiting');
    expect(message.reactions).toEqual(['hourglass_flowing_sand']);
    await setup.channel.react?.(question, 'failed');
    expect(message.reactions).toEqual(['x']);
  });

  it('that another node has shown are replaced with the last one, and shown there once', async () => {
    const { message, question } = asked();
    await setup.channel.react?.(question, 'working');
    setup.replace();
    await setup.channel.react?.(question, 'working');
    expect(message.reactions).toEqual(['eyes']);
    await setup.channel.react?.(question, 'done');
    expect(message.reactions).toEqual(['white_check_mark']);
    await setup.channel.react?.(question, 'none');
    expect(message.reactions).toEqual([]);
  });

  it('skip a question that its writer has deleted', async () => {
    const { chat, question } = asked();
    chat.messages = [];
    await expect(setup.channel.react?.(question, 'done')).resolves.toBeUndefined();
  });

  it('are refused permanently without the scope, which the refusal names', async () => {
    setup.slack.scopes = setup.slack.scopes.filter((scope) => scope !== 'reactions:write');
    const { question } = asked();
    await expect(setup.channel.react?.(question, 'done')).rejects.toMatchObject({
      code: 'rejected',
      message: expect.stringContaining('reactions:write'),
    });
  });

  it('have their own limit: reaching it delays no message', () => {
    const { rates } = setup.channel.capabilities;
    const place = { channel: 'slack', chatId: 'C0123ABC456' };
    expect(rates.ofReactions?.(place).key).not.toBe(rates.of(place, undefined).key);
    expect(rates.ofReactions?.(place)).toEqual(
      rates.ofReactions?.({ channel: 'slack', chatId: 'C0123ABC457' }),
    );
  });
});
