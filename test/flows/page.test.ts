/**
 * The page in a real browser against a whole gateway: live tokens, thinking, tools, stop, reload, and a restart of the
 * gateway.
 */
import { createHmac } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, it, vi } from 'vitest';
import { write } from '../channels/http/page/browser/browser.ts';
import { describePage, PHONE } from '../channels/http/page/browser/describe-page.ts';
import { type GatewayFixture, openGatewayFixture, OWNER, WAIT } from './setup.ts';

const words = (count: number): string => Array.from({ length: count }, (_, n) => `word${n}`).join(' ');

const SECRET = 'a-secret-of-the-sender-0123456789';

describePage('the page of a gateway', (tab) => {
  let fixture: GatewayFixture;
  beforeAll(async () => {
    fixture = await openGatewayFixture({
      env: { HOOK_SECRET: SECRET },
      file: {
        hooks: {
          nightly: {
            secretEnv: 'HOOK_SECRET',
            kind: 'github',
            to: 'http:ops',
            text: 'The job {{job}} has failed.',
          },
        },
      },
    });
  });
  afterAll(() => fixture.close());
  beforeEach(() => tab.open(fixture.gateway.url, { token: OWNER }));

  const shown = (): Promise<string[]> => tab.page.locator('.message-text, .md').allInnerTexts();
  const ended = (turns = 1): Promise<void> =>
    vi.waitFor(async () => expect(await tab.page.locator('.turn-foot time').count()).toBe(turns), WAIT);

  it('grows token by token, thinking folded and tools as cards, and is complete after a reload', async () => {
    const look1 = {
      thinking: 'I should look first.',
      text: 'Let me look.',
      toolCalls: [{ name: 'list_dir', args: { path: '.' } }],
    };
    fixture.ollama.answer(look1, { when: 'what files' });
    fixture.ollama.answer(
      { text: `There are **none**. ${words(30)}`, perSecond: 25 },
      { when: 'what files' },
    );
    await write(tab.page, 'what files are here?');
    await tab.page.locator('.tool').getByText('list_dir').waitFor();
    await tab.page.locator('.md', { hasText: 'word5' }).waitFor();
    await tab.screenshot('growing');
    expect((await shown()).join(' ')).not.toContain('word29');
    await ended();
    const thinking = tab.page.locator('details.thinking').first();
    expect(await thinking.getByText('I should look first.').isVisible()).toBe(false);
    await tab.page.locator('.tool').getByText('done', { exact: true }).waitFor();
    await tab.screenshot('done');
    const before = await shown();
    const [session] = (await (await fixture.call('/v1/sessions')).json()).sessions;
    const stored = (await fixture.messages(session.key)).at(-1)?.content ?? '';
    expect(oneLine(before.slice(1).join(' '))).toBe(oneLine(stored.replaceAll('*', '')));
    await tab.page.reload();
    await tab.page.locator('.md', { hasText: 'word29' }).waitFor();
    expect(oneLine((await shown()).join(' '))).toBe(oneLine(before.join(' ')));
    await tab.page.locator('.tool').getByText('done', { exact: true }).waitFor();
    await tab.page.locator('.tool summary').click();
    await tab.page.locator('.tool pre', { hasText: '"path": "."' }).waitFor();
    await thinking.locator('summary').click();
    await thinking.getByText('I should look first.').waitFor();
    await tab.screenshot('reloaded');
  });

  it('stops an answer, and reports it (N-58)', async () => {
    fixture.ollama.answer({ text: words(2_000), perSecond: 25 }, { when: 'a long story' });
    await tab.page.getByRole('button', { name: 'New chat' }).click();
    await write(tab.page, 'a long story');
    await tab.page.locator('.md', { hasText: 'word3' }).waitFor();
    await tab.page.getByRole('button', { name: 'Stop the answer' }).click();
    await tab.page.locator('.md em', { hasText: '(stopped)' }).waitFor();
    await tab.screenshot('stopped');
    const { by } = await (await fixture.modelCall('a long story')).closed;
    expect(by).toBe('client');
  });

  it('shows that what waited behind a stopped answer was dropped, also after a reload, and counts it no more', async () => {
    fixture.ollama.answer({ text: 'one', hold: true }, { when: 'the one that runs' });
    fixture.ollama.answer({ text: 'four', hold: true }, { when: 'after the stop' });
    await tab.page.getByRole('button', { name: 'New chat' }).click();
    for (const text of ['the one that runs', 'second in line', 'third in line']) await write(tab.page, text);
    await tab.page.getByText('Waiting: 2 messages are ahead of this one.').waitFor();
    await tab.page.getByRole('button', { name: 'Stop the answer' }).click();
    const dropped = tab.page.getByText('Dropped: this message was not answered.');
    await expect.poll(() => dropped.count(), WAIT).toBe(2);
    const key = decodeURIComponent(new URL(tab.page.url()).hash.slice(1));
    const leftOut = (await fixture.messages(key)).filter((message) => message.leftOut);
    expect(leftOut.map(({ content }) => content)).toEqual(['second in line', 'third in line']);
    await write(tab.page, 'after the stop');
    const call = await fixture.modelCall('after the stop');
    expect(await tab.page.getByText('Waiting:').count()).toBe(0);
    await tab.page.reload();
    await expect.poll(() => dropped.count(), WAIT).toBe(2);
    call.release();
    await tab.page.locator('.md', { hasText: 'four' }).waitFor();
  });

  it('shows what a webhook leaves in a chat: as unread in the list, live in the open chat, and after a reload', async () => {
    const call = async (job: string): Promise<void> => {
      const body = JSON.stringify({ job });
      const signature = createHmac('sha256', SECRET).update(body).digest('hex');
      const headers = { 'x-hub-signature-256': `sha256=${signature}`, 'content-type': 'application/json' };
      const { status } = await fetch(`${fixture.gateway.url}/v1/hooks/nightly`, {
        method: 'POST',
        headers,
        body,
      });
      expect(status).toBe(202);
    };
    await tab.page.getByRole('button', { name: 'New chat' }).click();
    await call('backup');
    const row = tab.page.locator('.session', { hasText: 'The job backup has failed.' });
    await row.locator('.mark.new').waitFor();
    await row.click();
    await tab.page.locator('.md', { hasText: 'The job backup has failed.' }).waitFor();
    await call('index');
    await tab.page.locator('.md', { hasText: 'The job index has failed.' }).waitFor();
    await row.locator('.mark.new').waitFor({ state: 'detached' });
    await tab.screenshot('webhook');
    await tab.page.reload();
    await tab.page.locator('.md', { hasText: 'The job index has failed.' }).waitFor();
    expect(await shown()).toEqual(['The job backup has failed.', 'The job index has failed.']);
  });

  it('loses nothing when the gateway restarts in the middle of an answer', async () => {
    const answer = { text: words(60), perSecond: 20 };
    fixture.ollama.answer(answer, { when: 'survive', times: 2 });
    await tab.page.getByRole('button', { name: 'New chat' }).click();
    await write(tab.page, 'survive this');
    await tab.page.locator('.md', { hasText: 'word5' }).waitFor();
    await fixture.restart();
    await tab.page.locator('.md', { hasText: 'word59' }).waitFor({ timeout: 20_000 });
    await ended();
    await tab.screenshot('restarted');
    expect(await shown()).toEqual(['survive this', words(60)]);
  });

  it('is usable on a phone, in dark mode', async () => {
    await tab.open(fixture.gateway.url, { ...PHONE, token: OWNER });
    fixture.ollama.answer(
      '# Hello\n\nA `phone` with **bold** words and\n\n```js\nconst long = "a line of code that is longer than the screen is wide";\n```',
      { when: 'phone' },
    );
    await tab.page.getByRole('button', { name: 'Show the list of chats' }).click();
    await tab.page.getByRole('button', { name: 'New chat' }).click();
    await write(tab.page, 'hello phone');
    await ended();
    await tab.screenshot('phone');
    const wider = await tab.page.evaluate(() => document.documentElement.scrollWidth > window.innerWidth);
    expect(wider).toBe(false);
  });
});

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim();
}
