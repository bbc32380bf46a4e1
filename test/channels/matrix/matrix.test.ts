/** The Matrix channel under the contract that every channel passes. */
import { BYTES_PER_CHARACTER } from '../../../channels/matrix/render.ts';
import { channelContract } from '../../contracts/channel.ts';
import { lengthOf, readHtml } from '../../fakes/matrix/html.ts';
import { MATRIX_TOKEN } from '../../fakes/matrix/homeserver.ts';
import { MatrixSetup } from '../../fakes/matrix/setup.ts';

channelContract('matrix', async () => {
  const setup = await MatrixSetup.open();
  const { server } = setup;
  const { rooms } = server;
  const [ada, bob] = [rooms.person('Ada'), rooms.person('Bob')];
  const chats = [
    { room: rooms.room(ada), person: ada },
    { room: rooms.room(bob), person: bob },
  ] as const;
  const find = (chatId: string) => chats.find(({ room }) => room.id === chatId) ?? chats[0];
  const contract = (at: 0 | 1) => ({ chatId: chats[at].room.id, senderId: chats[at].person.id });
  return {
    channel: setup.channel,
    chats: [contract(0), contract(1)],
    secret: MATRIX_TOKEN,
    says(chat, text) {
      const { room, person } = find(chat.chatId);
      server.says(room, text, person);
    },
    types(chat, text) {
      const { room, person } = find(chat.chatId);
      // Clients have their own commands that begin like that.
      if (!text.startsWith('/')) server.says(room, text, person);
    },
    screen: (chatId) => server.screen(find(chatId).room),
    files: (chatId) => server.files(find(chatId).room),
    reads(text) {
      const bytes = Buffer.byteLength(JSON.stringify(text));
      const length = text === '' ? 0 : Math.max(lengthOf(text), Math.ceil(bytes / BYTES_PER_CHARACTER));
      return { visible: readHtml(text), length };
    },
    receiving: () => server.syncing,
    acknowledged: () => server.confirmed === rooms.position,
    async redelivers(receive) {
      // A homeserver continues from where the client says: as after a crash before that was stored.
      await setup.channel.stop();
      const kept = setup.connections.records.get(`matrix:${rooms.bot.id}`);
      if (kept?.session === undefined) throw new Error('nothing was kept');
      kept.session.id = `s${rooms.position - 1}`;
      await setup.channel.start(receive);
    },
    echoes(chat, text, from) {
      const { room } = find(chat.chatId);
      if (from === 'self') server.says(room, text, rooms.bot);
      else server.says(room, text, rooms.person('Other'), { more: { msgtype: 'm.notice' } });
    },
    sendsFile(chat, name, bytes) {
      const { room, person } = find(chat.chatId);
      server.sends(room, name, bytes, person);
    },
    deletes(chat) {
      const { room, person } = find(chat.chatId);
      const message = room.events.findLast(
        ({ type, sender }) => type === 'm.room.message' && sender === person.id,
      );
      if (message !== undefined) rooms.redact(room, message.event_id, person.id);
    },
    deleted: () => setup.deleted,
    group() {
      const [creator, moderator, member] = [
        rooms.person('Creator'),
        rooms.person('Moderator'),
        rooms.person('Mia'),
      ];
      const room = rooms.created(creator, {}, { users: { [moderator.id]: 50, [member.id]: 49 } });
      for (const person of [moderator, member]) rooms.member(room, person, 'join');
      return { chatId: room.id, administrators: [creator.id, moderator.id], others: [member.id, 'nobody'] };
    },
    failsDownload: (failure) => void server.downloadFailures.push(failure),
    rateLimits: (ms) => server.limits.force(ms),
    blocks(chatId) {
      const { room, person } = find(chatId);
      rooms.member(room, rooms.bot, 'leave', person);
    },
    losesAnswer: () => void server.failures.push({ kind: 'drop', match: /\/send\// }),
    losesFileAnswer: () => void server.failures.push({ kind: 'drop', match: /\/send\// }),
    fails: (status) => void server.failures.push({ kind: 'status', status, match: /\/send\// }),
    refusesToken: () =>
      void server.failures.push({
        kind: 'refuse',
        status: 401,
        errcode: 'M_UNKNOWN_TOKEN',
        match: /\/send\//,
      }),
    close: () => setup.close(),
  };
});
