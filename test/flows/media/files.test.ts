/** Files that people send: what the model gets of them, and what the person reads when one cannot be used. */
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { expect, it, vi } from 'vitest';
import { docx, pdf, photo, zipBomb } from '../../fakes/files/documents.ts';
import type { Params } from '../../fakes/telegram/refusal.ts';
import { describeGateway, FRIENDS, WAIT } from '../setup.ts';

const people = FRIENDS.values();
const models = [
  { name: 'seeing:latest', contextLength: 32_768, capabilities: ['completion', 'tools', 'vision'] as const },
  { name: 'blind:latest', contextLength: 32_768, capabilities: ['completion', 'tools'] as const },
];

describeGateway('files that people send', { telegram: true, model: { models } }, (fixture) => {
  /** Sends something from a new chat; returns the session and the last message that the model got. */
  const send = async (
    fields: (files: ReturnType<typeof fixture>['telegram']['files']) => Params,
    caption: string,
    more: { person?: string; model?: string } = {},
  ) => {
    const { telegram } = fixture();
    const person = more.person ?? people.next().value!;
    const session = `telegram:${person}`;
    if (more.model !== undefined) {
      telegram.says(person, `hello from ${person}`, person);
      await fixture().modelCall(`hello from ${person}`);
      await fixture().idle(session);
      const change = { method: 'PATCH', json: { model: more.model } };
      expect((await fixture().call(`/v1/sessions/${session}`, change)).status).toBe(200);
    }
    telegram.sends(person, { ...fields(telegram.files), caption }, person);
    const { body } = await fixture().modelCall(caption);
    await fixture().idle(session);
    const heard = body.messages.findLast(({ role, content }) => role === 'user' && content.includes(caption));
    return { person, session, heard: heard!, screen: () => telegram.screen(person) };
  };
  const sentBy = async (session: string) =>
    (await fixture().messages(session)).findLast(({ role }) => role === 'user')?.attachments;

  it('shows a photo to a vision model: small, upright, without its metadata', async () => {
    const bytes = await photo(2_400, 1_800);
    const { session, heard } = await send((files) => files.photo(bytes), 'what plant is this?');
    expect(heard.images).toHaveLength(1);
    const seen = Buffer.from(heard.images![0]!, 'base64');
    expect(seen.subarray(0, 3).toString('hex')).toBe('ffd8ff');
    expect(seen.includes('SECRET-PLACE')).toBe(false);
    expect(bytes.includes('SECRET-PLACE')).toBe(true);
    expect(heard.content).toContain('1176 × 1568 pixels');
    expect(await sentBy(session)).toMatchObject([
      {
        kind: 'image',
        mimeType: 'image/jpeg',
        bytes: bytes.length,
        file: expect.stringMatching(/^inbox\/1-/),
      },
    ]);
  });

  it('shows the photo again with the next question', async () => {
    const bytes = await photo(300, 200);
    const { person } = await send((files) => files.photo(bytes), 'look at this one');
    fixture().telegram.says(person, 'and what colour was it?', person);
    const { body } = await fixture().modelCall('and what colour was it?');
    expect(body.messages.filter(({ images }) => images !== undefined)).toHaveLength(1);
  });

  it('tells a model without vision what was sent', async () => {
    const bytes = await photo(300, 200);
    const { heard } = await send((files) => files.photo(bytes), 'can you see it?', { model: 'blind' });
    expect(heard.images).toBeUndefined();
    expect(heard.content).toMatch(/image\/jpeg.*You cannot see pictures/s);
  });

  it('answers a message that is only a file', async () => {
    const person = people.next().value!;
    const { telegram } = fixture();
    telegram.sends(
      person,
      telegram.files.document({ bytes: Buffer.from('buy milk\n'), name: 'list.txt' }),
      person,
    );
    await vi.waitFor(() => expect(telegram.screen(person).at(-1)).toContain('buy milk'), WAIT);
    expect(telegram.screen(person).join('\n')).not.toContain('only read text');
  });

  it('passes a PDF to the model between marks, and the rest of it on request', async () => {
    const pages = Array.from({ length: 90 }, (_, index) => `Line ${index} ${'of the report '.repeat(20)}`);
    const bytes = pdf([...pages, 'The total is 4711 euros']);
    fixture().ollama.answer(
      { toolCalls: [{ name: 'read_file', args: { path: 'inbox/1-report.pdf', offset: 6_000 } }] },
      { when: 'sum up the report' },
    );
    const { heard } = await send(
      (files) => files.document({ bytes, name: 'report.pdf' }),
      'sum up the report',
    );
    expect(heard.content).toMatch(
      /\[[0-9a-f]{16}: text of others, from an attached file.*\[page 1 of 91\]\nLine 0/s,
    );
    expect(heard.content).toContain('read_file continues with "offset": 6000');
    const results = fixture().ollama.calls.flatMap(({ body }) =>
      body.messages.filter(({ role }) => role === 'tool'),
    );
    expect(results.some(({ content }) => content.includes('4711'))).toBe(true);
  });

  it('explains for each file why it cannot be used, and continues with the text', async () => {
    const bomb = zipBomb(200);
    const { screen, heard } = await send(
      (files) => files.document({ bytes: bomb, name: 'bomb.docx' }),
      'the bomb',
    );
    expect(heard.content).toContain('unpacks to more than 50 MB');
    expect(screen().join('\n')).toMatch(/bomb\.docx.*unpacks to more than 50 MB/);
    const empty = await send(
      (files) => files.document({ bytes: Buffer.alloc(0), name: 'none.txt' }),
      'the empty one',
    );
    expect(empty.screen().join('\n')).toMatch(/none\.txt.*it is empty/);
    const huge = { bytes: Buffer.from('x'), size: 21 * 1_000_000, name: 'film.mkv' };
    const large = await send((files) => files.document(huge), 'the large one');
    expect(large.screen().join('\n')).toMatch(/film\.mkv.*larger than 20 MB.*media\.maxFileMb/);
    const mute = await send((files) => files.voice(Buffer.from('OggS\0\x02recording'), 3), 'the recording');
    expect(mute.screen().join('\n')).toMatch(/transcription\.baseUrl in config\.json/);
  });

  it('reads an SVG as source, and a hostile name as a plain one', async () => {
    const svg = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>');
    const name = '../../\u202egnp.txt\u0000/..\\evil\u202e.svg';
    const { heard, session } = await send((files) => files.document({ bytes: svg, name }), 'the drawing');
    expect(heard.images).toBeUndefined();
    expect(heard.content).toContain('<script>alert(1)</script>');
    const [attachment] = (await sentBy(session)) ?? [];
    expect(attachment).toMatchObject({
      mimeType: 'image/svg+xml',
      file: 'inbox/1-evil.svg',
      name: 'evil.svg',
    });
  });

  it('taints a session that has read a file, but not what the person typed', async () => {
    const { session } = await send(
      (files) => files.document({ bytes: docx(['Hi']), name: 'a.docx' }),
      'a letter',
    );
    const [row] = await fixture().sql`select sources from session where key = ${session}`;
    expect(row?.['sources']).toEqual(['local']);
  });

  it('deletes the files with their session', async () => {
    const { session } = await send(
      (files) => files.document({ bytes: Buffer.from('x'), name: 'x.txt' }),
      'to forget',
    );
    const [row] = await fixture().sql`select folder from session where key = ${session}`;
    const folder = path.join(fixture().home, 'workspace', 'sessions', String(row?.['folder']));
    expect(await readdir(path.join(folder, 'inbox'))).toEqual(['1-x.txt']);
    await fixture().call(`/v1/sessions/${session}`, { method: 'DELETE' });
    await expect(readdir(folder)).rejects.toThrow('ENOENT');
    expect(await fixture().sql`select * from kept_file where folder = ${String(row?.['folder'])}`).toEqual(
      [],
    );
  });
});
