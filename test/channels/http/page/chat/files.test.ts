/** Files on the page: chosen, pasted and dropped, shown before and after they are sent, refused with a reason. */
import type { Page } from 'playwright-core';
import { expect, it, vi } from 'vitest';
import { FILE_LIMITS } from '../../../../fakes/gateway/files.ts';
import { WAIT } from '../browser/browser.ts';
import { describePageOnFakeGateway, PHONE } from '../browser/describe-page.ts';

/** A visible image: 160 × 100 pixels, made by the browser itself. */
async function picture(page: Page): Promise<Buffer> {
  const base64 = await page.evaluate(() => {
    const canvas = document.createElement('canvas');
    [canvas.width, canvas.height] = [160, 100];
    const pen = canvas.getContext('2d');
    if (pen === null) return '';
    pen.fillStyle = '#24625d';
    pen.fillRect(0, 0, 160, 100);
    pen.fillStyle = '#e3b36b';
    pen.fillRect(20, 20, 60, 60);
    return canvas.toDataURL('image/png').split(',')[1] ?? '';
  });
  return Buffer.from(base64, 'base64');
}

/** A tenth of a second of silence. */
const SILENCE = wav(800);

function wav(samples: number): Buffer {
  const bytes = Buffer.alloc(44 + samples * 2);
  bytes.write('RIFF', 0);
  bytes.writeUInt32LE(36 + samples * 2, 4);
  bytes.write('WAVEfmt ', 8);
  bytes.writeUInt32LE(16, 16);
  bytes.writeUInt16LE(1, 20);
  bytes.writeUInt16LE(1, 22);
  bytes.writeUInt32LE(8_000, 24);
  bytes.writeUInt32LE(16_000, 28);
  bytes.writeUInt16LE(2, 32);
  bytes.writeUInt16LE(16, 34);
  bytes.write('data', 36);
  bytes.writeUInt32LE(samples * 2, 40);
  return bytes;
}

/** Chooses files with the button. */
async function choose(
  page: Page,
  ...files: { name: string; mimeType: string; buffer: Buffer }[]
): Promise<void> {
  const [chooser] = await Promise.all([
    page.waitForEvent('filechooser'),
    page.getByRole('button', { name: 'Add files' }).click(),
  ]);
  await chooser.setFiles(files);
}

/** Pastes or drops files, as a user does with mouse or keyboard. */
async function bring(page: Page, how: 'paste' | 'drop', name: string, text: string): Promise<void> {
  await page.evaluate(
    ([event, fileName, content]) => {
      const data = new DataTransfer();
      data.items.add(new File([content ?? ''], fileName ?? ''));
      const target = document.getElementById('draft');
      const init = { bubbles: true, cancelable: true };
      target?.dispatchEvent(
        event === 'paste'
          ? new ClipboardEvent('paste', { ...init, clipboardData: data })
          : new DragEvent('drop', { ...init, dataTransfer: data }),
      );
    },
    [how, name, text],
  );
}

const tray = (page: Page) => page.getByRole('list', { name: 'Files of the message' });
const send = (page: Page) => page.getByRole('button', { name: 'Send', exact: true });

describePageOnFakeGateway('files', (tab, fixture) => {
  it('are sent with a message, and shown in it, even after a reload', async () => {
    const page = await fixture.open();
    const png = await picture(page);
    await choose(
      page,
      { name: 'holiday.png', mimeType: 'image/png', buffer: png },
      { name: 'notes.txt', mimeType: 'text/plain', buffer: Buffer.from('milk') },
    );
    await tray(page).locator('.sent').nth(1).waitFor();
    await page.getByLabel('Message', { exact: true }).fill('What is this?');
    await tab.screenshot('files-tray');
    await page.keyboard.press('Enter');
    await vi.waitFor(() => expect(fixture.turns).toHaveLength(1), WAIT);
    expect(fixture.turns[0]?.message.media.map(({ kind, name }) => `${kind} ${name}`)).toEqual([
      'image holiday.png',
      'file notes.txt',
    ]);
    expect(await tray(page).isHidden()).toBe(true);
    await vi.waitFor(() => expect(fixture.api.gateway.events.listeners.size).toBe(2), WAIT);
    fixture.turns[0]?.say('A boat on the sea.');
    fixture.turns[0]?.end();
    const shown = async (): Promise<void> => {
      const image = page.getByRole('img', { name: 'holiday.png' });
      await image.waitFor();
      await vi.waitFor(
        async () => expect(await image.evaluate((node: HTMLImageElement) => node.naturalWidth)).toBe(160),
        WAIT,
      );
      await page.getByTitle('Download notes.txt').waitFor();
      await page.locator('.answer').getByText('A boat on the sea.').waitFor();
    };
    await shown();
    await tab.screenshot('files-sent');
    await page.reload();
    await shown();
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByTitle('Download notes.txt').click(),
    ]);
    expect(download.suggestedFilename()).toBe('notes.txt');
    await page.getByRole('button', { name: 'Enlarge holiday.png' }).press('Enter');
    await page.getByRole('dialog', { name: 'Picture' }).waitFor();
    await tab.screenshot('files-enlarged');
    await page.keyboard.press('Escape');
    expect(await page.getByRole('dialog', { name: 'Picture' }).isVisible()).toBe(false);
  });

  it('of an answer appear where its text refers to them, and sound can be played', async () => {
    const page = await fixture.open();
    await choose(
      page,
      { name: 'chart.png', mimeType: 'image/png', buffer: await picture(page) },
      { name: 'spoken.wav', mimeType: 'audio/wav', buffer: SILENCE },
    );
    await tray(page).locator('.sent').nth(1).waitFor();
    await send(page).click();
    await vi.waitFor(() => expect(fixture.turns).toHaveLength(1), WAIT);
    const [turn] = fixture.turns;
    const kept = turn?.message.media.map(({ kind, name = '', mimeType = '', bytes = 0, url }) => {
      return { kind, name, mimeType, bytes, sha256: '', file: url.replace('session:', '') };
    });
    const [chart, sound] = kept ?? [];
    if (turn === undefined || chart === undefined || sound === undefined) throw new Error('no files');
    await vi.waitFor(() => expect(fixture.api.gateway.events.listeners.size).toBe(2), WAIT);
    turn.say('Before.\n\n![the sales](out/my%20chart.png)\n\nAfter.');
    turn.attachments = [{ ...chart, inText: 'out/my chart.png' }, sound];
    turn.end();
    const shown = async (): Promise<void> => {
      const image = page.locator('.answer .picture-place').getByRole('img', { name: 'chart.png' });
      await image.waitFor();
      expect(await page.locator('.sent-files').getByRole('img').count()).toBe(0);
      const player = page.locator('.sent-files audio');
      await player.scrollIntoViewIfNeeded();
      await vi.waitFor(
        async () => expect(await player.evaluate((node: HTMLAudioElement) => node.src)).toMatch(/^blob:/),
        WAIT,
      );
      await player.evaluate(async (node: HTMLAudioElement) => {
        node.muted = true;
        await node.play();
      });
    };
    await shown();
    await tab.screenshot('files-in-answer');
    await page.reload();
    await shown();
  });

  it('can be pasted and dropped, removed before they are sent, and need no text', async () => {
    const page = await fixture.open(PHONE);
    await bring(page, 'paste', 'pasted.txt', 'one');
    await bring(page, 'drop', 'dropped.txt', 'two');
    await tray(page).locator('.sent').nth(1).waitFor();
    await tab.screenshot('files-phone');
    await page.getByRole('button', { name: 'Remove pasted.txt' }).press('Enter');
    await vi.waitFor(async () => expect(await tray(page).getByRole('listitem').count()).toBe(1), WAIT);
    await send(page).click();
    await vi.waitFor(() => expect(fixture.turns).toHaveLength(1), WAIT);
    const { content, media } = fixture.turns[0]!.message;
    expect([content, media.map(({ name }) => name)]).toEqual(['', ['dropped.txt']]);
    fixture.turns[0]?.end();
    await page.getByTitle('Download dropped.txt').waitFor();
    await tab.screenshot('files-phone-sent');
  });

  it('that are too large, empty or too many are refused with a reason; the others can be sent', async () => {
    const page = await fixture.open({ ...PHONE, colorScheme: 'light' });
    const { maxFileBytes, maxFilesPerMessage } = FILE_LIMITS;
    const file = (name: string, bytes: number) => ({ name, mimeType: '', buffer: Buffer.alloc(bytes) });
    await choose(
      page,
      file('huge.bin', maxFileBytes + 1),
      file('empty.bin', 0),
      file('small.bin', 9),
      file('more', 9),
    );
    await page.getByText('This file is too large: 200 kB. The limit is 200 kB.').waitFor();
    await page.getByText('This file is empty.').waitFor();
    await page
      .getByText(`A message can have at most ${maxFilesPerMessage} files; the rest were left out.`)
      .waitFor();
    await tab.screenshot('files-refused');
    expect(await send(page).isDisabled()).toBe(true);
    await page.getByRole('button', { name: 'Remove huge.bin' }).click();
    await page.getByRole('button', { name: 'Remove empty.bin' }).click();
    await send(page).click();
    await vi.waitFor(() => expect(fixture.turns).toHaveLength(1), WAIT);
    expect(fixture.turns[0]?.message.media.map(({ name }) => name)).toEqual(['small.bin']);
  });

  it('that the gateway refuses stay in the tray with its reason, and can be sent again', async () => {
    const page = await fixture.open();
    fixture.api.gateway.storeDown = true;
    await bring(page, 'drop', 'a.txt', 'x');
    await page.getByText('The database cannot be reached.').first().waitFor();
    fixture.api.gateway.storeDown = false;
    await page.getByRole('button', { name: 'Try again' }).click();
    await tray(page).locator('.sent').waitFor();
    expect(await tray(page).getByRole('alert').count()).toBe(0);
  });

  it('with scripts in them never run, whatever their names', async () => {
    const page = await fixture.open();
    const svg = '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>';
    await bring(page, 'drop', 'logo.svg', svg);
    await bring(page, 'drop', 'photo.png', `<!doctype html>${svg}`);
    await tray(page).locator('.sent').nth(1).waitFor();
    await send(page).click();
    await page.getByTitle('Download logo.svg').waitFor();
    await page.getByTitle('Download photo.png').waitFor();
    expect(await page.locator('.shown-file img').count()).toBe(0);
  });
});
