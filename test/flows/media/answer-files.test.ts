/**
 * What an answer brings besides its text, through a whole gateway: images that it shows, and code that is too long for
 * messages.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, it, vi } from 'vitest';
import { PNG } from '../../fakes/media/media-bytes.ts';
import { describeGateway, FRIENDS, WAIT } from '../setup.ts';

const people = FRIENDS.values();
const file = { access: { telegram: { allow: FRIENDS }, discord: { dm: 'open' } } };

describeGateway('files of an answer', { telegram: true, discord: true, file }, (fixture) => {
  const screen = (chat: string) => fixture().telegram.screen(chat);
  /** Puts an image into the folder of a session that has had a turn. */
  const draw = async (session: string, name: string): Promise<void> => {
    const [row] = await fixture().sql<
      { folder: string }[]
    >`select folder from session where key = ${session}`;
    const place = path.join(fixture().home, 'workspace', 'sessions', row?.folder ?? '', name);
    await mkdir(path.dirname(place), { recursive: true });
    await writeFile(place, PNG);
  };
  /** A turn on Telegram, until its answer is delivered. */
  const ask = async (chat: string, text: string, answer: string, until: string): Promise<void> => {
    fixture().ollama.answer({ text: answer }, { when: `${text} ${chat}` });
    fixture().telegram.says(chat, `${text} ${chat}`, chat);
    await vi.waitFor(() => expect(screen(chat).join('\n')).toContain(until), WAIT);
    await fixture().idle(`telegram:${chat}`);
  };

  it('are images after the text, which are kept, in place of their Markdown', async () => {
    const chat = people.next().value ?? '';
    await ask(chat, 'hello', 'Hello.', 'Hello.');
    await draw(`telegram:${chat}`, 'out/my chart.png');
    const answer =
      'Sales:\n\n![Sales of *May*](out/my%20chart.png)\n\nSee ![the same](<out/my chart.png>), ' +
      '![a site](https://x.org/a.png) and ![nothing](gone.png).';
    await ask(chat, 'show', answer, '[photo');
    expect(screen(chat).slice(1)).toEqual([
      'Sales:\n\nSee the same, a site and nothing (gone.png is not shown: there is no such file).',
      '[photo my chart.png] Sales of May',
    ]);
    const [, , , said] = await fixture().messages(`telegram:${chat}`);
    expect(said).toMatchObject({
      content: answer,
      attachments: [{ kind: 'image', name: 'my chart.png', inText: 'out/my chart.png', bytes: PNG.length }],
    });
  });

  it('may be the whole answer', async () => {
    const chat = people.next().value ?? '';
    await ask(chat, 'hello', 'Hello.', 'Hello.');
    await draw(`telegram:${chat}`, 'cat.png');
    await ask(chat, 'only', '![](cat.png)', '[photo');
    expect(screen(chat)).toEqual(['Hello.', '[photo cat.png]']);
  });

  it('over HTTP are attachments of the answer that name their place in its text', async () => {
    await fixture().post('shown', 'hello');
    await fixture().idle('http:shown');
    await draw('http:shown', 'chart.png');
    fixture().ollama.answer({ text: 'Look: ![it](chart.png)' }, { when: 'show it here' });
    await fixture().post('shown', 'show it here');
    await fixture().idle('http:shown');
    const listed = await fixture().call('/v1/sessions/http:shown/messages');
    const { messages } = await listed.json();
    expect(messages[3]).toMatchObject({
      content: 'Look: ![it](chart.png)',
      attachments: [
        { file: expect.stringMatching(/^outbox\/[0-9a-f]{16}-chart\.png$/), inText: 'chart.png' },
      ],
    });
    const back = await fixture().call(`/v1/sessions/http:shown/files/${messages[3].attachments[0].file}`);
    expect(Buffer.from(await back.arrayBuffer())).toEqual(PNG);
  });

  it("are code that would fill more than three messages, given the platform's message length", async () => {
    const code = Array.from({ length: 700 }, (_, nth) => `print("line ${nth} of the program")`).join('\n');
    const answer = `Here:\n\n\`\`\`python\n${code}\n\`\`\`\n\nDone.`;
    const { channel, person } = fixture().discord.dm();
    fixture().ollama.answer({ text: answer }, { when: `code ${channel.id}` });
    fixture().discord.says(channel, `code ${channel.id}`, person);
    const shown = () => fixture().discord.screen(channel);
    await vi.waitFor(() => expect(shown().at(-1)).toContain('[file'), WAIT);
    await fixture().idle(`discord:${channel.id}`);
    expect(shown().slice(1)).toEqual([
      'Here:\n\nThe code (700 lines) follows as the file code.py.\n\nDone.',
      '[file code.py]',
    ]);
    const chat = people.next().value ?? '';
    await ask(chat, 'code', answer, '[document');
    expect(screen(chat)).toEqual([
      'Here:\n\nThe code (700 lines) follows as the file code.py.\n\nDone.',
      '[document code.py]',
    ]);
    const sent = fixture()
      .telegram.messages(chat)
      .find((message) => message.file !== undefined);
    expect(sent?.file?.bytes.toString()).toBe(`${code}\n`);
  });

  it('are on screen once after a restart in the middle of sending', async () => {
    const chat = people.next().value ?? '';
    await ask(chat, 'hello', 'Hello.', 'Hello.');
    await draw(`telegram:${chat}`, 'late.png');
    const before = fixture().telegram.count('sendPhoto');
    fixture().telegram.failure({ kind: 'page', method: 'sendPhoto' });
    fixture().ollama.answer({ text: 'Here: ![late](late.png)' }, { when: `late ${chat}` });
    fixture().telegram.says(chat, `late ${chat}`, chat);
    await vi.waitFor(() => expect(fixture().telegram.count('sendPhoto')).toBeGreaterThan(before), WAIT);
    await fixture().restart();
    await vi.waitFor(() => expect(screen(chat)).toContain('[photo late.png] late'), WAIT);
    await fixture().idle(`telegram:${chat}`);
    expect(screen(chat)).toEqual(['Hello.', 'Here: late', '[photo late.png] late']);
  });
});
