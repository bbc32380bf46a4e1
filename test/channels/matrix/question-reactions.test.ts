/** The bot's reactions to questions on Matrix: one at a time, as events that are redacted. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { MatrixSetup } from '../../fakes/matrix/setup.ts';

describe('reactions to questions on Matrix', () => {
  let setup: MatrixSetup;
  beforeEach(async () => {
    setup = await MatrixSetup.open();
  });
  afterEach(() => setup.close());

  const asked = () => {
    const { rooms } = setup.server;
    const room = rooms.room(rooms.person('Ada'), rooms.person('Bob'));
    const { event_id: messageId } = setup.server.says(room, 'why?', rooms.person('Ada'));
    const question = { channel: 'matrix', chatId: room.id, messageId, place: 'group' } as const;
    return { room, question, reactions: () => rooms.reactionsOf(room, messageId, rooms.bot.id) };
  };

  it('replace each other, and are shown in rooms of several people unless the settings say otherwise', async () => {
    expect(setup.channel.capabilities.reactions).toEqual(['group']);
    const { question, reactions } = asked();
    await setup.channel.react?.(question, 'waiting');
    expect(reactions()).toEqual(['⏳']);
    await setup.channel.react?.(question, 'failed');
    expect(reactions()).toEqual(['❌']);
  });

  it('that another node has shown are found and replaced with the last one', async () => {
    const { question, reactions } = asked();
    await setup.channel.react?.(question, 'working');
    setup.replace();
    await setup.channel.react?.(question, 'working');
    expect(reactions()).toEqual(['👀']);
    await setup.channel.react?.(question, 'done');
    expect(reactions()).toEqual(['✅']);
    await setup.channel.react?.(question, 'none');
    expect(reactions()).toEqual([]);
  });

  it('are refused permanently in a room where the bot may not write', async () => {
    const { room, question } = asked();
    room.closed = true;
    await expect(setup.channel.react?.(question, 'done')).rejects.toMatchObject({ code: 'rejected' });
  });
});
