/** Details of sending to Slack: one message per nonce, limits, buttons, refusals, and what people see. */
import { wordedHealth } from '../../fakes/gateway/worded-health.ts';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { codeOf } from '../../../channels/slack/errors.ts';
import { MAX_COLUMNS, MAX_ROWS, render } from '../../../channels/slack/render.ts';
import type { Button } from '../../../src/protocol/message.ts';
import { parseMarkdown } from '../../../src/lib/markdown/markdown.ts';
import { buttonsOf } from '../../fakes/slack/blocks.ts';
import { SlackSetup } from '../../fakes/slack/setup.ts';
import { failureOf } from '../../fakes/gateway/channel-setup.ts';
import type { FakeChat, FakePerson } from '../../fakes/slack/workspace.ts';

const WAIT = { timeout: 8_000, interval: 5 };
const BUTTONS: Button[] = [
  { label: 'Approve', value: 'approve:abc', style: 'confirm' },
  { label: 'Deny', value: 'deny:abc', style: 'danger' },
];

let setup: SlackSetup;
let chat: FakeChat;
let ada: FakePerson;
beforeEach(async () => {
  setup = await SlackSetup.open();
  ({ chat, person: ada } = setup.slack.workspace.dm('Ada'));
});
afterEach(() => setup.close());

const calls = (method: string): number => setup.slack.calls.filter((one) => one === method).length;

describe('a message to Slack', () => {
  it('is found by its nonce after the process that sent it died', async () => {
    await setup.channel.send(setup.part(chat.id, 'half an ans', { nonce: 'nonce' }));
    setup.replace();
    const sent = await setup.channel.send(setup.part(chat.id, 'a whole answer', { nonce: 'nonce' }));
    expect(setup.slack.screen(chat)).toEqual(['a whole answer']);
    expect(sent.id).toBe(setup.slack.visible(chat)[0]?.ts);
  });

  it('has details below their summary, which is a heading', () => {
    const text = '<details>\n<summary>The proof</summary>\n\nfirst\n\n</details>\n\nafter';
    const { text: parts, plain } = render(parseMarkdown(text));
    expect(plain).toBe('The proof\n\nfirst\n\nafter');
    expect(parts).toContain('{"type":"text","text":"The proof","style":{"bold":true}}');
  });

  it('shows its first table as one, with marks in its cells, and further ones drawn', async () => {
    const table = '| name | price |\n|:--|--:|\n| **tea** | 2 |\n| [milk](https://m.example) | |';
    await setup.channel.send(setup.part(chat.id, `Before.\n\n${table}\n\nBetween.\n\n${table}`));
    const raw = (text: string) => ({ type: 'raw_text', text });
    const rich = (run: object) => ({
      type: 'rich_text',
      elements: [{ type: 'rich_text_section', elements: [run] }],
    });
    const [message] = setup.slack.visible(chat);
    expect(message?.blocks).toMatchObject([
      { type: 'rich_text' },
      {
        type: 'table',
        rows: [
          [raw('name'), raw('price')],
          [rich({ type: 'text', text: 'tea', style: { bold: true } }), raw('2')],
          [rich({ type: 'link', url: 'https://m.example/', text: 'milk' }), raw(' ')],
        ],
        column_settings: [
          { align: 'left', is_wrapped: true },
          { align: 'right', is_wrapped: true },
        ],
      },
      { type: 'rich_text', elements: [{ type: 'rich_text_section' }, { type: 'rich_text_preformatted' }] },
    ]);
    expect(message?.text).toContain('name | price');
  });

  it.each([
    ['columns', MAX_COLUMNS, (count: number) => [Array<string>(count).fill('c')]],
    ['rows', MAX_ROWS, (count: number) => Array.from({ length: count - 1 }, () => ['r'])],
  ])('draws a table of more %s than Slack shows', (_kind, most, rows) => {
    const kindOf = (count: number): unknown => {
      const [first = [], ...others] = rows(count);
      const lines = [first, first.map(() => '--'), ...others, ...(others.length > 0 ? [first] : [])];
      const { text } = render(parseMarkdown(lines.map((row) => `| ${row.join(' | ')} |`).join('\n')));
      return JSON.parse(text)[0].type;
    };
    expect(kindOf(most)).toBe('table');
    expect(kindOf(most + 1)).toBe('rich_text_preformatted');
  });

  it('draws a table that the workspace refuses, also in an edit', async () => {
    const part = setup.part(chat.id, 'Here:\n\n| a | b |\n|--|--|\n| 1 | **2** |', { nonce: 'n' });
    setup.slack.failures.push({ kind: 'refuse', code: 'invalid_blocks', match: /^chat\.postMessage/ });
    const sent = await setup.channel.send(part);
    const shown = (): unknown => setup.slack.visible(chat)[0]?.blocks;
    expect(shown()).toMatchObject([{ elements: [{}, { type: 'rich_text_preformatted' }] }]);
    await setup.channel.edit?.(sent, part);
    expect(shown()).toMatchObject([{ type: 'rich_text' }, { type: 'table' }]);
    setup.slack.failures.push({ kind: 'refuse', code: 'invalid_blocks', match: /^chat\.update/ });
    await setup.channel.edit?.(sent, part);
    expect(shown()).toMatchObject([{ elements: [{}, { type: 'rich_text_preformatted' }] }]);
  });

  it('is found in a thread with hundreds of answers', async () => {
    const channel = setup.slack.workspace.channel();
    const root = setup.slack.says(channel, 'the thread', ada);
    for (let n = 0; n < 230; n += 1) setup.slack.says(channel, `${n}`, ada, { threadTs: root.ts });
    const part = { ...setup.part(channel.id, 'once', { nonce: 'nonce' }), threadId: root.ts };
    await setup.channel.send(part);
    setup.replace();
    await setup.channel.send(part);
    expect(setup.slack.screen(channel)).toEqual(['once']);
  });

  it('is not looked up in a chat where this process has just sent', async () => {
    await setup.channel.send(setup.part(chat.id, 'one'));
    await setup.channel.send(setup.part(chat.id, 'two'));
    expect(calls('conversations.history')).toBe(1);
  });

  it('is sent where the history may not be read', async () => {
    setup.slack.scopes = ['chat:write'];
    await setup.channel.send(setup.part(chat.id, 'all the same'));
    expect(setup.slack.screen(chat)).toEqual(['all the same']);
  });

  it('waits, after its answer was lost, until it is known whether it was sent', async () => {
    setup.slack.failures.push({ kind: 'drop', match: /^chat\.postMessage/ });
    await setup.channel.send(setup.part(chat.id, 'familiar'));
    setup.slack.failures.push({ kind: 'drop', match: /^chat\.postMessage/ });
    setup.slack.failures.push({ kind: 'status', status: 503, match: /^conversations/ });
    setup.slack.failures.push({ kind: 'status', status: 503, match: /^conversations/ });
    const part = setup.part(chat.id, 'once', { nonce: 'nonce' });
    for (let n = 0; n < 2; n += 1)
      expect(await failureOf(setup.channel.send(part))).toMatchObject({
        code: 'unavailable',
        retryable: true,
      });
    await setup.channel.send(part);
    expect(setup.slack.screen(chat)).toEqual(['familiar', 'once']);
  });

  it('keeps its buttons through edits with buttons, and loses them with the first edit without', async () => {
    const part = (text: string, buttons: Button[]) => ({
      ...setup.part(chat.id, text, { nonce: 'n' }),
      buttons,
    });
    const seen = () => buttonsOf(setup.slack.visible(chat)[0]?.blocks).map(({ label }) => label);
    const sent = await setup.channel.send(part('May I?', BUTTONS));
    expect(seen()).toEqual(['Approve', 'Deny']);
    await setup.channel.edit?.(sent, part('May I, please?', BUTTONS));
    expect(seen()).toEqual(['Approve', 'Deny']);
    await setup.channel.edit?.(sent, part('May I, please?', []));
    expect(seen()).toEqual([]);
  });

  it('holds more buttons than one row fits', async () => {
    const buttons = Array.from({ length: 26 }, (_, n) => ({
      label: `${n} ${'x'.repeat(100)}`,
      value: `v${n}`,
    }));
    await setup.channel.send({ ...setup.part(chat.id, 'choose'), buttons });
    expect(buttonsOf(setup.slack.visible(chat)[0]?.blocks)).toHaveLength(26);
  });

  it('pings no one, whatever the model wrote', async () => {
    await setup.channel.send(setup.part(chat.id, '<!here> <@U0123ABC> @channel <b>'));
    const [message] = setup.slack.visible(chat);
    expect(message?.text).toBe('&lt;!here&gt; &lt;@U0123ABC&gt; @channel &lt;b&gt;');
    expect(JSON.stringify(message?.blocks)).not.toMatch(/"type":"(broadcast|user|usergroup|channel)"/);
  });

  it('has a text for notifications within the bytes that an edit may have', async () => {
    const sent = await setup.channel.send(setup.part(chat.id, 'short', { nonce: 'n' }));
    await setup.channel.edit?.(sent, setup.part(chat.id, '<…>'.repeat(1_300), { nonce: 'n' }));
    expect(Buffer.byteLength(setup.slack.visible(chat)[0]?.text ?? '')).toBeLessThanOrEqual(4_000);
    expect(setup.slack.screen(chat)[0]).toHaveLength(3_900);
  });

  it.each([
    ['is_archived', 'blocked', false],
    ['thread_not_found', 'place_gone', false],
    ['msg_blocks_too_long', 'rejected', false],
    ['internal_error', 'unavailable', true],
    ['ratelimited', 'rate_limited', true],
    ['never_heard_of', 'rejected', false],
  ])('that Slack refuses with %s ends as %s', async (code, expected, retryable) => {
    setup.slack.failures.push({ kind: 'refuse', code, match: /^chat\.postMessage/ });
    const failure = await failureOf(setup.channel.send(setup.part(chat.id, 'x')));
    expect(failure).toMatchObject({ code: expected, retryable });
    expect(codeOf(failure)).toBe(code);
  });

  it('names the scope that is missing', async () => {
    setup.slack.scopes = ['im:history'];
    const failure = await failureOf(setup.channel.send(setup.part(chat.id, 'x')));
    expect(failure).toMatchObject({ code: 'rejected', retryable: false });
    expect(failure.message).toContain('chat:write');
  });

  it('is not tried again before the wait that Slack named has ended', async () => {
    setup.slack.limits.force(/^chat\.postMessage/, 30_000);
    for (let n = 0; n < 3; n += 1)
      expect((await failureOf(setup.channel.send(setup.part(chat.id, `${n}`)))).code).toBe('rate_limited');
    expect(setup.slack.limits).toMatchObject({ refused: 1, early: 0 });
  });

  it('is tried again once that wait has ended, even if the clock was set back in the meantime', async () => {
    let [wall, steady] = [Date.now(), Date.now()];
    await setup.close();
    const timing = { epochNow: () => wall, monotonicMs: () => steady };
    setup = await SlackSetup.open({ now: timing.monotonicMs, timing });
    const there = setup.slack.workspace.channel();
    setup.slack.limits.force(/^chat\.postMessage/, 30_000);
    const { retryAfterMs = 0 } = await failureOf(setup.channel.send(setup.part(there.id, 'too fast')));
    wall -= 2 * 3_600_000;
    steady += retryAfterMs;
    await setup.channel.send(setup.part(there.id, 'in time'));
    expect(setup.slack.screen(there)).toEqual(['in time']);
  });

  it('goes to no address that is not Slack’s', async () => {
    for (const place of [{ chatId: '../users' }, { chatId: chat.id, threadId: 'yesterday' }])
      expect((await failureOf(setup.channel.send({ ...setup.part('D0', 'x'), ...place }))).code).toBe(
        'rejected',
      );
    expect(setup.slack.calls).toEqual([]);
  });
});

describe('a refused token', () => {
  it('is checked once, and then left alone for a while', async () => {
    await setup.close();
    setup = await SlackSetup.open({ token: 'xoxb-wrong' });
    for (let n = 0; n < 20; n += 1) {
      const failure = await failureOf(setup.channel.send(setup.part('D0123ABC', `${n}`)));
      expect(failure).toMatchObject({ code: 'unauthorized', retryable: true });
      expect(failure.message).toContain('SLACK_BOT_TOKEN');
    }
    expect(setup.slack.calls.length).toBeLessThanOrEqual(2);
  });

  it('is checked again after five seconds each time it was valid in between', async () => {
    let steady = 0;
    await setup.close();
    setup = await SlackSetup.open({ timing: { monotonicMs: () => steady } });
    const there = setup.slack.workspace.channel();
    const send = async (text: string) => await setup.channel.send(setup.part(there.id, text));
    for (let n = 0; n < 3; n += 1) {
      await send(`good ${n}`);
      for (const match of [/^chat\.postMessage/, /^auth\.test/])
        setup.slack.failures.push({ kind: 'refuse', code: 'invalid_auth', match });
      expect((await failureOf(send('refused'))).retryAfterMs).toBe(5_000);
      steady += 5_000;
    }
  });

  it('of the app is reported in the health', async () => {
    await setup.close();
    setup = await SlackSetup.open({ appToken: 'xapp-wrong' });
    void setup.start();
    await vi.waitFor(() => expect(wordedHealth(setup.channel).detail).toContain('SLACK_APP_TOKEN'), WAIT);
  });
});

describe('Markdown on Slack', () => {
  const shown = (markdown: string): unknown => JSON.parse(render(parseMarkdown(markdown)).text);
  const text = (value: string, style?: object) => ({ type: 'text', text: value, ...(style && { style }) });

  it('becomes rich text: marks, links, code', () => {
    expect(shown('a **b *c*** `d` [e](https://example.test/) *_~`')).toEqual([
      {
        type: 'rich_text_section',
        elements: [
          text('a '),
          text('b ', { bold: true }),
          text('c', { bold: true, italic: true }),
          text(' '),
          text('d', { code: true }),
          text(' '),
          { type: 'link', url: 'https://example.test/', text: 'e' },
          text(' *_~`'),
        ],
      },
    ]);
  });

  it('keeps the numbers of a list that code interrupts, and the depth of nested ones', () => {
    expect(shown('1. one\n   - deeper\n2. two\n\n   ```\n   code\n   ```\n3. three')).toMatchObject([
      { type: 'rich_text_list', style: 'ordered', indent: 0 },
      { type: 'rich_text_list', style: 'bullet', indent: 1 },
      { type: 'rich_text_list', style: 'ordered', offset: 1 },
      { type: 'rich_text_preformatted', elements: [text('code')] },
      { type: 'rich_text_list', style: 'ordered', offset: 2 },
    ]);
  });

  it('shows the true address if a text looks like another one, and links only to the web', () => {
    const [part] = shown('[https://bank.test](https://evil.test/) [x](javascript:alert(1))') as [
      { elements: object[] },
    ];
    expect(part.elements).toEqual([
      text('https://bank.test ('),
      { type: 'link', url: 'https://evil.test/' },
      text(') x'),
    ]);
  });

  it('shows an address as it is written, but the true name of a host that may look like another one', () => {
    const [part] = shown('https://de.wikipedia.test/wiki/Köln https://köln.test/ https://example.test/a') as [
      { elements: object[] },
    ];
    expect(part.elements).toEqual([
      {
        type: 'link',
        url: 'https://de.wikipedia.test/wiki/K%C3%B6ln',
        text: 'https://de.wikipedia.test/wiki/Köln',
      },
      text(' '),
      { type: 'link', url: 'https://xn--kln-sna.test/' },
      text(' '),
      { type: 'link', url: 'https://example.test/a' },
    ]);
  });

  it('counts the JSON of many marks, which Slack limits, too', () => {
    const rendered = render(parseMarkdown('**a** b\n\n'.repeat(60)));
    expect(rendered.length).toBeGreaterThan(rendered.plain.length);
  });
});
