/**
 * Outgoing files, through a whole gateway: a photo and a document in each chat, in the session over HTTP, once after a
 * restart.
 */
import { createHash } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, it, vi } from 'vitest';
import { eventsUntil } from '../../channels/http/client.ts';
import { OGG, PNG } from '../../fakes/media/media-bytes.ts';
import { describeGateway, FRIENDS, type GatewayFixture, WAIT } from '../setup.ts';

const people = FRIENDS.values();
const file = { access: { telegram: { allow: FRIENDS }, discord: { dm: 'open' } } };
const call = (name: string, args: object) => ({ toolCalls: [{ name, args }] });
const send = (args: object) => call('send_file', args);

/** The folder of a session that has had a turn. */
async function folderOf(fixture: GatewayFixture, session: string): Promise<string> {
  const [row] = await fixture.sql<{ folder: string }[]>`select folder from session where key = ${session}`;
  const folder = path.join(fixture.home, 'workspace', 'sessions', row?.folder ?? '');
  await mkdir(folder, { recursive: true });
  return folder;
}

describeGateway('outgoing files', { telegram: true, discord: true, file }, (fixture) => {
  const screen = (chat: string) => fixture().telegram.screen(chat);

  it('are on screen with their captions, in order, and exactly as they were when they were sent', async () => {
    const chat = people.next().value ?? '';
    const said = { when: `table ${chat}` };
    fixture().ollama.answer(call('write_file', { path: 'sales.csv', content: 'a,b\n1,2\n' }), said);
    fixture().ollama.answer(send({ path: 'sales.csv', caption: 'The **whole** table.' }), said);
    fixture().ollama.answer(call('write_file', { path: 'sales.csv', content: 'changed later' }), said);
    fixture().ollama.answer({ text: 'There it is.' }, said);
    fixture().telegram.says(chat, `table ${chat}`, chat);
    await vi.waitFor(() => expect(screen(chat)).toContain('There it is.'), WAIT);
    await fixture().idle(`telegram:${chat}`);
    expect(screen(chat).toSorted()).toEqual(['There it is.', '[document sales.csv] The whole table.']);
    const shown = fixture()
      .telegram.messages(chat)
      .find((message) => message.file !== undefined);
    expect(shown?.file?.bytes.toString()).toBe('a,b\n1,2\n');
    const messages = await fixture().messages(`telegram:${chat}`);
    expect(messages[1]).toMatchObject({
      content: 'The **whole** table.',
      attachments: [{ name: 'sales.csv', mimeType: 'text/csv', bytes: 8 }],
    });
  });

  it('on Discord arrive with their caption in one message', async () => {
    const { channel, person } = fixture().discord.dm();
    const said = { when: `note for ${channel.id}` };
    fixture().ollama.answer(call('write_file', { path: 'note.md', content: '# Note' }), said);
    fixture().ollama.answer(send({ path: 'note.md', caption: 'Read *this*.' }), said);
    fixture().ollama.answer({ text: 'Sent it.' }, said);
    fixture().discord.says(channel, `note for ${channel.id}`, person);
    await vi.waitFor(() => expect(fixture().discord.screen(channel)).toHaveLength(3), WAIT);
    await fixture().idle(`discord:${channel.id}`);
    expect(fixture().discord.screen(channel).slice(1).toSorted()).toEqual([
      'Sent it.',
      '[file note.md] Read this.',
    ]);
  });

  it('are shown according to their content: an image as a photo, or a document on request, audio as a voice message', async () => {
    const chat = people.next().value ?? '';
    fixture().ollama.answer({ text: 'Hello.' }, { when: `hello ${chat}` });
    fixture().telegram.says(chat, `hello ${chat}`, chat);
    await vi.waitFor(() => expect(screen(chat)).toContain('Hello.'), WAIT);
    const folder = await folderOf(fixture(), `telegram:${chat}`);
    await writeFile(path.join(folder, 'chart.png'), PNG);
    await writeFile(path.join(folder, 'said.ogg'), OGG);
    const said = { when: `show ${chat}` };
    fixture().ollama.answer(
      {
        toolCalls: [
          { name: 'send_file', args: { path: 'chart.png' } },
          { name: 'send_file', args: { path: 'chart.png', as: 'document' } },
          { name: 'send_file', args: { path: 'said.ogg', as: 'voice' } },
          { name: 'send_file', args: { path: 'said.ogg', as: 'photo' } },
          { name: 'send_file', args: { path: 'missing.pdf' } },
          { name: 'send_file', args: { path: '../other/secret.txt' } },
        ],
      },
      said,
    );
    fixture().ollama.answer({ text: 'All shown.' }, said);
    fixture().telegram.says(chat, `show ${chat}`, chat);
    await vi.waitFor(() => expect(screen(chat)).toContain('All shown.'), WAIT);
    await fixture().idle(`telegram:${chat}`);
    expect(screen(chat).filter((text) => text.startsWith('['))).toEqual([
      '[photo chart.png]',
      '[document chart.png]',
      '[voice said.ogg]',
    ]);
    const { body } = await fixture().modelCall(`show ${chat}`);
    const results = body.messages.filter(({ role }) => role === 'tool').map(({ content }) => content);
    expect(results.join('\n')).toMatch(
      /said\.ogg is not a picture[\s\S]*no "missing\.pdf"[\s\S]*leads out of/,
    );
  });

  it('over HTTP are attachments of a stored message, announced by an event, with their bytes in the session', async () => {
    await fixture().post('files', 'hello');
    await fixture().idle('http:files');
    const response = await fixture().call('/v1/sessions/http:files/events');
    fixture().ollama.answer(call('write_file', { path: 'plan.txt', content: 'Plan' }), { when: 'the plan' });
    fixture().ollama.answer(send({ path: 'plan.txt' }), { when: 'the plan' });
    fixture().ollama.answer({ text: 'Done.' }, { when: 'the plan' });
    const turn = await fixture().post('files', 'the plan');
    const { events } = await eventsUntil(
      response,
      ({ type, turnId }) => type === 'turn_ended' && turnId === turn,
    );
    const sha256 = createHash('sha256').update('Plan').digest('hex');
    const attachment = { kind: 'file', name: 'plan.txt', mimeType: 'text/plain', bytes: 4, sha256 };
    expect(events).toContainEqual(
      expect.objectContaining({
        type: 'message_sent',
        content: '',
        attachments: [expect.objectContaining(attachment)],
      }),
    );
    const [, , , message] = await fixture().messages('http:files');
    expect(message).toMatchObject({ content: '', attachments: [attachment] });
    const kept = path.join(await folderOf(fixture(), 'http:files'), message?.attachments?.[0]?.file ?? '');
    expect(await readFile(kept, 'utf8')).toBe('Plan');
  });

  it('that the chat does not accept are refused before anything is sent, with the limit', async () => {
    const { channel, person } = fixture().discord.dm();
    fixture().ollama.answer({ text: 'Hello.' }, { when: `hi ${channel.id}` });
    fixture().discord.says(channel, `hi ${channel.id}`, person);
    await vi.waitFor(() => expect(fixture().discord.screen(channel)).toContain('Hello.'), WAIT);
    const folder = await folderOf(fixture(), `discord:${channel.id}`);
    await writeFile(path.join(folder, 'large.bin'), Buffer.alloc(11 * 1024 * 1024));
    fixture().ollama.answer(send({ path: 'large.bin' }), { when: `large ${channel.id}` });
    fixture().ollama.answer({ text: 'Too large, it seems.' }, { when: `large ${channel.id}` });
    fixture().discord.says(channel, `large ${channel.id}`, person);
    await vi.waitFor(() => expect(fixture().discord.screen(channel)).toContain('Too large, it seems.'), WAIT);
    const { body } = await fixture().modelCall(`large ${channel.id}`);
    expect(body.messages.find(({ role }) => role === 'tool')?.content).toContain('accepts at most 10 MB');
  });

  it('survive a restart, and are on screen once', async () => {
    const chat = people.next().value ?? '';
    const said = { when: `later ${chat}` };
    fixture().ollama.answer(call('write_file', { path: 'late.txt', content: 'late' }), said);
    fixture().ollama.answer(send({ path: 'late.txt' }), said);
    fixture().ollama.answer({ text: 'It follows.' }, said);
    // Documents of other chats were counted before this one.
    const before = fixture().telegram.count('sendDocument');
    fixture().telegram.failure({ kind: 'page', method: 'sendDocument' });
    fixture().telegram.says(chat, `later ${chat}`, chat);
    await vi.waitFor(() => expect(fixture().telegram.count('sendDocument')).toBeGreaterThan(before), WAIT);
    await fixture().restart();
    await vi.waitFor(() => expect(screen(chat)).toContain('It follows.'), WAIT);
    await fixture().idle(`telegram:${chat}`);
    expect(screen(chat).toSorted()).toEqual(['It follows.', '[document late.txt]']);
  });
});
