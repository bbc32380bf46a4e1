/** Files of a delivery: each once and in its place, and a sentence if a platform refuses one. */
import { describe, expect, it } from 'vitest';
import { ToolError } from '../../../src/protocol/errors.ts';
import type { SentMedia } from '../../../src/protocol/media.ts';
import { FILE_WAIT_MS } from '../../../src/delivery/final/send-files.ts';
import { buildDelivery } from '../setup.ts';

const file = (name: string, more: Partial<SentMedia> = {}): SentMedia => ({
  kind: 'file',
  name,
  mimeType: 'text/plain',
  bytes: 10,
  sha256: name,
  file: `outbox/${name}`,
  ...more,
});

function withFiles(...media: SentMedia[]) {
  const gateway = buildDelivery({ maxFileBytes: 1_000, dedupes: true });
  for (const { file: kept } of media) gateway.copies.set(kept, '/nowhere');
  return { gateway, media, screen: () => gateway.channel.screen('1') };
}

describe('the files of a message', () => {
  it('follow its text in order, with their captions', async () => {
    const { gateway, media, screen } = withFiles(file('a.txt', { caption: 'the **first**' }), file('b.txt'));
    const { value } = await gateway.deliver('Here they are.', { media });
    expect(value).toMatchObject({ kind: 'finished' });
    expect(screen()).toEqual(['Here they are.', '[file a.txt] the **first**', '[file b.txt]']);
    expect(gateway.parts.get('ref-1:files')).toEqual([{ id: 'm2' }, { id: 'm3' }]);
  });

  it('keep a caption that is too long, as a text after the file', async () => {
    const caption = 'word '.repeat(30).trim();
    const { gateway, media, screen } = withFiles(file('a.txt', { caption }), file('b.txt'));
    await gateway.deliver('', { media });
    expect(screen()).toEqual(['[file a.txt]', caption, '[file b.txt]']);
  });

  it.each([0, 1, 2, 3])(
    'are on screen once when the process died after %i of them were stored',
    async (stored) => {
      const { gateway, media, screen } = withFiles(file('a.txt'), file('b.txt'), file('c.txt'));
      await gateway.deliver('Text.', { media });
      const whole = screen();
      gateway.parts.set('ref-1:files', [{ id: 'm2' }, { id: 'm3' }, { id: 'm4' }].slice(0, stored));
      if (stored === 0) gateway.parts.set('ref-1', []);
      await gateway.deliver('Text.', { media });
      expect(screen()).toEqual(whole);
      expect(gateway.parts.get('ref-1:files')).toEqual([{ id: 'm2' }, { id: 'm3' }, { id: 'm4' }]);
    },
  );

  it('stay when the reply had grown to more messages than its text needs', async () => {
    const { gateway, media, screen } = withFiles(file('a.txt'));
    gateway.parts.set('ref-1', [{ id: 'x1' }, { id: 'x2' }]);
    await gateway.deliver('Text.', { media });
    await gateway.deliver('Text.', { media });
    expect(screen().filter((text) => text.startsWith('[file'))).toEqual(['[file a.txt]']);
  });

  it('that are too large, changed, or refused leave a sentence with name, reason and caption, and the rest follows', async () => {
    const { gateway, media, screen } = withFiles(
      file('large_one.bin', { bytes: 20_000_000, caption: 'All of it.' }),
      file('changed.txt'),
      file('refused.txt'),
      file('fine.txt'),
    );
    gateway.copies.set('outbox/changed.txt', new ToolError('changed', 'It has changed.'));
    gateway.channel.failure({ kind: 'edit', code: 'rejected' });
    const sendFile = gateway.channel.sendFile;
    Object.assign(gateway.channel, {
      sendFile: async (part: Parameters<NonNullable<typeof sendFile>>[0]) => {
        if (part.name === 'refused.txt') part = { ...part, bytes: 2_000 };
        return await sendFile?.(part);
      },
    });
    const { value } = await gateway.deliver('Four files.', { media });
    expect(value).toMatchObject({ kind: 'finished' });
    expect(screen()).toEqual([
      'Four files.',
      'The file large_one.bin could not be sent: it is 20 MB, and this chat accepts files of at most 1000 bytes.' +
        '\n\nAll of it.',
      'The file changed.txt could not be sent: it was changed after it was sent.',
      'The file refused.txt could not be sent: the platform refuses it.',
      '[file fine.txt]',
    ]);
    expect(gateway.dead).toEqual([]);
  });

  it('that have not arrived are waited for, then given up with a sentence', async () => {
    const { gateway, media, screen } = withFiles(file('a.txt'));
    gateway.copies.set('outbox/a.txt', new ToolError('not_found', 'There is no such file.'));
    const { value } = await gateway.deliver('', { media });
    expect(value).toMatchObject({ kind: 'waiting' });
    expect(screen()).toEqual([]);
    await gateway.deliver('', { media }, { waitedMs: FILE_WAIT_MS });
    expect(screen()).toEqual(['The file a.txt could not be sent: it is no longer there.']);
  });

  it('wait for a pause of the platform like texts, and count a lost answer', async () => {
    const { gateway, media, screen } = withFiles(file('a.txt'));
    gateway.channel.failure({ code: 'rate_limited', retryAfterMs: 5_000 });
    await gateway.deliver('', { media });
    expect(screen()).toEqual(['[file a.txt]']);
    const other = withFiles(file('b.txt'));
    other.gateway.channel.failure({ code: 'outcome_unknown', lost: true });
    const { value } = await other.gateway.deliver('', { media: other.media });
    expect(value).toMatchObject({ kind: 'retry' });
    expect(other.gateway.delivery.counts().ambiguousSends).toBe(1);
  });

  it('in a chat without files are listed as text', async () => {
    const gateway = buildDelivery();
    await gateway.deliver('Look.', { media: [file('a.txt', { caption: 'A note.' })] });
    expect(gateway.channel.screen('1')).toEqual([
      'Look.',
      'The file a.txt could not be sent: this chat does not accept files.',
      'A note.',
    ]);
  });

  it('follow a chat that has moved', async () => {
    const { gateway, media } = withFiles(file('a.txt'));
    gateway.channel.failure({ code: 'chat_moved', movedTo: '2' });
    await gateway.deliver('', { media });
    expect(gateway.channel.screen('2')).toEqual(['[file a.txt]']);
  });
});
