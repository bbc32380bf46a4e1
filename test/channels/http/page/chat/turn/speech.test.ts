/** Spoken answers on the page: a player below the answer, even after a reload. */
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type GatewayFixture, openGatewayFixture, OWNER } from '../../../../../flows/setup.ts';
import { type FakeSpeech, startFakeSpeech } from '../../../../../fakes/media/speech.ts';
import { write } from '../../browser/browser.ts';
import { describePage } from '../../browser/describe-page.ts';

describePage('a spoken answer', (tab) => {
  let speech: FakeSpeech;
  let gateway: GatewayFixture;
  beforeAll(async () => {
    speech = await startFakeSpeech();
    const furnish = async (home: string): Promise<void> => {
      const file = path.join(home, 'config.json');
      await writeFile(file, JSON.stringify({ speech: { baseUrl: speech.url } }), { mode: 0o600 });
    };
    gateway = await openGatewayFixture({ furnish });
  });
  afterAll(async () => {
    await gateway.close();
    await speech.close();
  });

  it('can be played below its text', async () => {
    await tab.open(`${gateway.gateway.url}/#http:spoken`, { token: OWNER });
    await write(tab.page, '/voice on');
    await tab.page.getByText('also spoken').first().waitFor();
    gateway.ollama.answer({ text: 'Good morning!' }, { when: 'greet me' });
    await write(tab.page, 'greet me');
    const player = tab.page.getByLabel('Play answer.ogg');
    await player.waitFor();
    await tab.screenshot('spoken');
    await tab.page.reload();
    await player.waitFor();
    expect(await player.count()).toBe(1);
  });
});
