/** The very first minutes: `parley init` on a terminal, the gateway that it starts, and the page behind the link that it prints. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { startFakeOllama } from '../../fakes/ollama/ollama.ts';
import { write } from '../../channels/http/page/browser/browser.ts';
import { describePage, type Tab } from '../../channels/http/page/browser/describe-page.ts';
import { needs } from '../../runs/needs.ts';

const LAUNCH = path.join(import.meta.dirname, '../../../src/launch.js');
/** A first start creates a database. */
const START = { timeout: 60_000, interval: 50 };
const LINK = /Sign-in link \(works once, for ten minutes\): {2}(http:\S+)/;

describePage('parley init', (tab) => {
  let home = '';
  let model: Awaited<ReturnType<typeof startFakeOllama>>;
  beforeEach(async () => {
    home = path.join(await mkdtemp(path.join(tmpdir(), 'parley-first-')), 'home');
    model = await startFakeOllama();
  });
  afterEach(async () => {
    await model.close();
    await rm(path.dirname(home), { recursive: true, force: true });
  });

  it(
    'leads from its first question to the first answer on the page',
    { ...needs('script'), timeout: 120_000 },
    async () => {
      const env = { PATH: process.env['PATH'], PORT: '0', GATEWAY_HOME: home, OLLAMA_HOST: model.url };
      const command = `"${process.execPath}" "${LAUNCH}" init`;
      // Not in the clone, where `.env` may hold the tokens of a developer's own bots.
      const terminal = spawn('script', ['-qfec', command, '/dev/null'], {
        env,
        cwd: tmpdir(),
        stdio: ['pipe', 'pipe', 'inherit'],
      });
      const ended = once(terminal, 'close');
      let shown = '';
      terminal.stdout.on('data', (bytes: Buffer) => {
        shown += bytes.toString();
        const [, question] = /([^\n]*): $/.exec(shown) ?? [];
        if (question !== undefined) terminal.stdin.write(`${answerTo(question)}\n`);
      });
      let isReady = false;
      try {
        const link = await vi.waitFor(() => LINK.exec(shown)?.[1] ?? Promise.reject(new Error(shown)), START);
        isReady = true;
        expect(await readFile(path.join(home, '.env'), 'utf8')).toContain('MODEL=plain');
        await pictureOfTerminal(tab, shown.replaceAll('\r', ''));
        await tab.open(link);
        await tab.page.locator('#app').waitFor({ state: 'visible' });
        model.answer('Good morning.', { when: 'first words' });
        await write(tab.page, 'first words');
        await tab.page.locator('#transcript').getByText('Good morning.').waitFor();
        await tab.screenshot('walk-init-2-page');
      } finally {
        // Ctrl-C, as a user ends it; without a gateway nothing would receive it.
        if (isReady) terminal.stdin.write('\u0003');
        else terminal.kill('SIGKILL');
        await ended;
      }
    },
  );
});

/** No bots, on any network. */
function answerTo(question: string): string {
  if (question.startsWith('Model')) return 'plain';
  if (question.startsWith('Time zone')) return 'Europe/Berlin';
  return question.startsWith('Start it now?') ? 'yes' : '';
}

/** Saves a picture of the terminal, next to those of the page. */
async function pictureOfTerminal(tab: Tab, text: string): Promise<void> {
  const page = await tab.open('about:blank');
  await page.evaluate((shown) => {
    document.body.style.cssText = 'background: #14161a; color: #dde; font: 14px monospace';
    const screen = document.createElement('pre');
    screen.textContent = shown;
    document.body.append(screen);
  }, text);
  await tab.screenshot('walk-init-1-terminal');
}
