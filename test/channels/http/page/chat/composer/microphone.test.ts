/** Dictation in a real browser with a pretended microphone: shown where it works, written into the field, bound to its chat. */
import type { Page } from 'playwright-core';
import { expect, it, vi } from 'vitest';
import { MAX_RECORDING_MS } from '../../../../../../channels/http/page/chat/composer/microphone.tsx';
import { chromiumPath } from '../../../../../runs/needs.ts';
import { launch, openPage, signIn, WAIT } from '../../browser/browser.ts';
import { describePageOnFakeGateway, TOKEN } from '../../browser/describe-page.ts';

describePageOnFakeGateway('the microphone', (_tab, fixture) => {
  /** Runs a test on a page whose browser has a microphone, which may be used or not. */
  async function withMicrophone(mayUse: boolean, test: (page: Page) => Promise<void>): Promise<void> {
    const { audio } = fixture.api.gateway;
    fixture.api.gateway.audio = { ...audio, canTranscribe: true };
    const switches = [
      '--use-fake-device-for-media-stream',
      ...(mayUse ? ['--use-fake-ui-for-media-stream'] : []),
    ];
    const browser = await launch(chromiumPath() ?? '', switches);
    try {
      const { page, violations } = await openPage(browser, fixture.api.url);
      await signIn(page, TOKEN);
      await test(page);
      expect(violations).toEqual([]);
    } finally {
      await browser.close();
    }
  }
  /** From now on recordings are answered once `answer` resolves; returns their sizes in bytes. */
  function transcribe(answer: Promise<string>): number[] {
    const sizes: number[] = [];
    fixture.api.gateway.audio.transcribe = async ({ chunks }) => {
      let bytes = 0;
      for await (const chunk of chunks) bytes += chunk.length;
      sizes.push(bytes);
      return { text: await answer };
    };
    return sizes;
  }
  const field = (page: Page) => page.getByLabel('Message', { exact: true });

  it('writes what was said after what is in the field', async () => {
    await withMicrophone(true, async (page) => {
      const sizes = transcribe(Promise.resolve('and bread'));
      await field(page).fill('milk');
      await page.getByRole('button', { name: 'Dictate' }).click();
      const stop = page.getByRole('button', { name: 'Stop recording' });
      await stop.waitFor();
      await stop.click();
      await vi.waitFor(async () => expect(await field(page).inputValue()).toBe('milk and bread'), WAIT);
      expect(sizes).toHaveLength(1);
      await page.getByRole('button', { name: 'Dictate' }).waitFor();
    });
  });

  it('ends a recording by itself after its longest time, and transcribes it', async () => {
    await withMicrophone(true, async (page) => {
      transcribe(Promise.resolve('a long story'));
      await page.clock.install();
      await page.getByRole('button', { name: 'Dictate' }).click();
      const stop = page.getByRole('button', { name: 'Stop recording' });
      await stop.waitFor();
      await page.clock.fastForward(MAX_RECORDING_MS - 60_000);
      expect(await stop.count()).toBe(1);
      await page.clock.fastForward(60_000);
      await vi.waitFor(async () => expect(await field(page).inputValue()).toBe('a long story'), WAIT);
    });
  });

  it('writes nothing into another chat', async () => {
    await withMicrophone(true, async (page) => {
      const answer = Promise.withResolvers<string>();
      const sizes = transcribe(answer.promise);
      await page.getByRole('button', { name: 'Dictate' }).click();
      const stop = page.getByRole('button', { name: 'Stop recording' });
      await stop.waitFor();
      await stop.click();
      await vi.waitFor(() => expect(sizes).toHaveLength(1), WAIT);
      await page.locator('#new-chat').click();
      const answered = page.waitForResponse('**/v1/audio/transcriptions');
      answer.resolve('a secret');
      await (await answered).finished();
      await page.getByRole('button', { name: 'Dictate' }).waitFor();
      expect(await field(page).inputValue()).toBe('');
    });
  });

  it('says that the browser gives none, and is not offered where nothing is transcribed', async () => {
    await withMicrophone(false, async (page) => {
      await page.getByRole('button', { name: 'Dictate' }).click();
      await page.locator('.toast', { hasText: 'The browser gives no access to a microphone.' }).waitFor();
    });
    fixture.api.gateway.audio = { ...fixture.api.gateway.audio, canTranscribe: false };
    const page = await fixture.open();
    await page.locator('[popovertarget=choices]').waitFor();
    expect(await page.locator('#dictate').count()).toBe(0);
  });
});
