/** Files in encrypted rooms: sealed for the homeserver, readable for the people of the room ("Sending encrypted attachments"). */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { Attachment, EncryptedAttachment } from '@matrix-org/matrix-sdk-crypto-wasm';
import { describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import type { Media } from '../../../src/protocol/media.ts';
import { ada, expectUnseen, room, setup, WAIT, useEncryptedRoom } from './encrypted-room.ts';

useEncryptedRoom();

describe('files', () => {
  it('of a person are decrypted, and refused if the homeserver changed them', async () => {
    const sealed = sealedFile(Buffer.from('the minutes of the meeting'));
    const event = setup.server.rooms.media;
    event.set('sealed', { bytes: sealed.bytes, mimeType: 'application/octet-stream', name: '' });
    const file = { ...sealed.file, url: 'mxc://fake.test/sealed' };
    await ada.says(room, {
      msgtype: 'm.file',
      body: 'minutes.txt',
      file,
      info: { mimetype: 'text/plain', size: 26 },
    });
    await vi.waitFor(
      () => expect(setup.received[0]?.media).toMatchObject([{ name: 'minutes.txt', mimeType: 'text/plain' }]),
      WAIT,
    );
    const [media] = setup.received[0]?.media ?? [];
    if (media === undefined) throw new Error('no file');
    expect(media.url).not.toContain(sealed.file.key.k);
    expect(await text(media)).toBe('the minutes of the meeting');
    event.set('sealed', { bytes: Buffer.from('something else'), mimeType: '', name: '' });
    await expect(text(media)).rejects.toMatchObject({ code: 'rejected' });
  });

  it('of the bot can be read by the people of the room alone', async () => {
    const path = join(await mkdtemp(join(tmpdir(), 'parley-')), 'plan.txt');
    await writeFile(path, 'plant leeks');
    const file = {
      kind: 'file' as const,
      name: 'plan.txt',
      mimeType: 'text/plain',
      bytes: 11,
      path,
      nonce: 'f',
    };
    const { id } = (await setup.channel.sendFile?.({ channel: 'matrix', chatId: room.id, ...file })) ?? {};
    const event = room.events.find(({ event_id }) => event_id === id);
    if (event === undefined) throw new Error('no event');
    const content = Sealed.parse(await ada.reads(room, event));
    const stored = setup.server.rooms.media.get(content.file.url.split('/').at(-1) ?? '');
    const encrypted = new EncryptedAttachment(stored?.bytes ?? Buffer.of(), JSON.stringify(content.file));
    expect(Buffer.from(Attachment.decrypt(encrypted)).toString()).toBe('plant leeks');
    expectUnseen('plant leeks', 'plan.txt');
    await rm(dirname(path), { recursive: true });
  });

  const Sealed = z.looseObject({
    filename: z.literal('plan.txt'),
    file: z.looseObject({ url: z.string(), v: z.literal('v2') }),
  });

  /** As Element seals it. */
  function sealedFile(bytes: Buffer): { bytes: Buffer; file: { key: { k: string } } } {
    const sealed = Attachment.encrypt(bytes);
    return { bytes: Buffer.from(sealed.encryptedData), file: JSON.parse(sealed.mediaEncryptionInfo ?? '') };
  }

  async function text(media: Media): Promise<string> {
    const signal = new AbortController().signal;
    const bytes = await setup.channel.download?.(media, signal);
    return bytes === undefined ? '' : String(await buffer(bytes));
  }
});
