/** What the bot shows in rooms: each message once, in its thread, as large as an event may be, within the homeserver's limits. */
import * as fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { MAX_LENGTH } from '../../../channels/matrix/content.ts';
import { render } from '../../../channels/matrix/render.ts';
import { parseMarkdown } from '../../../src/lib/markdown/markdown.ts';
import { readHtml } from '../../fakes/matrix/html.ts';
import type { FakeRoom } from '../../fakes/matrix/rooms.ts';
import { failureOf } from '../../fakes/gateway/channel-setup.ts';
import { MatrixSetup } from '../../fakes/matrix/setup.ts';

let setup: MatrixSetup;
let room: FakeRoom;
beforeEach(async () => {
  setup = await MatrixSetup.open();
  room = setup.server.rooms.room(setup.server.rooms.person('Ada'));
});
afterEach(() => setup.close());

describe('a message', () => {
  it('that another process sent before it died is shown once, with the current text', async () => {
    const first = await setup.channel.send(setup.part(room.id, 'half', { nonce: 'same' }));
    setup.replace();
    const second = await setup.channel.send(setup.part(room.id, 'half, and whole', { nonce: 'same' }));
    expect(second.id).toBe(first.id);
    expect(setup.server.screen(room)).toEqual(['half, and whole']);
    setup.replace();
    await setup.channel.send(setup.part(room.id, 'half, and whole', { nonce: 'same' }));
    expect(setup.server.visible(room)).toMatchObject([{ text: 'half, and whole', edits: 1 }]);
  });

  it('that another process sent before it died stays a reply, and gets the current text', async () => {
    const { rooms } = setup.server;
    const root = setup.server.says(room, 'root', rooms.person('Ada'));
    for (const place of [{ replyTo: root.event_id }, { threadId: root.event_id, replyTo: root.event_id }]) {
      const more = { ...place, nonce: 'same' };
      const first = await setup.channel.send(setup.part(room.id, 'half', more));
      const before = setup.server.visible(room).find(({ id }) => id === first.id);
      setup.replace();
      const second = await setup.channel.send(setup.part(room.id, 'half, and whole', more));
      const after = setup.server.visible(room).find(({ id }) => id === second.id);
      expect([second.id, after?.text]).toEqual([first.id, 'half, and whole']);
      expect(after?.thread).toBe(before?.thread);
    }
  });

  it('that was deleted can be sent again', async () => {
    const part = setup.part(room.id, 'on and off', { nonce: 'same' });
    const first = await setup.channel.send(part);
    await setup.channel.delete?.(first, part);
    expect(setup.server.screen(room)).toEqual([]);
    const second = await setup.channel.send(part);
    expect(second.id).not.toBe(first.id);
    expect(setup.server.screen(room)).toEqual(['on and off']);
  });

  it('that someone deleted accepts no edit: its text is sent again', async () => {
    const part = setup.part(room.id, 'half');
    const sent = await setup.channel.send(part);
    setup.server.rooms.redact(room, sent.id, setup.server.rooms.bot.id);
    const edit = setup.channel.edit?.(sent, setup.part(room.id, 'half, and whole'));
    expect(await failureOf(edit)).toMatchObject({ code: 'message_gone' });
  });

  it('is in its thread, as a reply if it is one, and else after the message before it', async () => {
    const { rooms } = setup.server;
    const root = setup.server.says(room, 'root', rooms.person('Ada'));
    const place = { threadId: root.event_id };
    const first = await setup.channel.send(
      setup.part(room.id, 'first', { ...place, replyTo: root.event_id }),
    );
    await setup.channel.send(setup.part(room.id, 'second', { ...place, after: first }));
    await setup.channel.send(setup.part(room.id, 'beside', { replyTo: root.event_id }));
    const thread = { rel_type: 'm.thread', event_id: root.event_id };
    expect(setup.server.visible(room).map(({ content }) => content['m.relates_to'])).toEqual([
      { ...thread, 'm.in_reply_to': { event_id: root.event_id }, is_falling_back: false },
      { ...thread, 'm.in_reply_to': { event_id: first.id }, is_falling_back: true },
      { 'm.in_reply_to': { event_id: root.event_id } },
    ]);
  });

  it('pings no one, whatever it says', async () => {
    await setup.channel.send(setup.part(room.id, '@room and @ada:fake.test:8448'));
    expect(setup.server.visible(room)[0]?.content['m.mentions']).toEqual({});
  });

  it('fits an event as an edit, too, whatever it holds', async () => {
    const sent = await setup.channel.send(setup.part(room.id, 'short'));
    for (const unit of ['y', '潮', '🌊', '"', '\\', '<', '**b** ', '- x\n', '| a | b |\n|--|--|\n']) {
      let text = unit;
      while (render(parseMarkdown(text + text)).length <= MAX_LENGTH && text.length < MAX_LENGTH * 4)
        text += text;
      await setup.channel.edit?.(sent, setup.part(room.id, text));
      expect(setup.server.screen(room)[0]?.length).toBeGreaterThan(0);
    }
    await setup.channel.edit?.(sent, setup.part(room.id, '潮'.repeat(MAX_LENGTH)));
    expect(setup.server.screen(room)).toEqual(['潮'.repeat(MAX_LENGTH)]);
  });

  it('goes only to valid rooms', async () => {
    for (const chatId of ['general', '@ada:fake.test', '!a b:fake.test'])
      expect(await failureOf(setup.channel.send(setup.part(chatId, 'x')))).toMatchObject({
        code: 'rejected',
      });
    const wrong = setup.part(room.id, 'x', { threadId: 'thread' });
    expect(await failureOf(setup.channel.send(wrong))).toMatchObject({ code: 'rejected' });
    expect(setup.server.calls).toEqual([]);
  });
});

describe('the homeserver', () => {
  it('is not called again before the wait it requested has ended', async () => {
    setup.server.limits.force(60_000);
    await failureOf(setup.channel.send(setup.part(room.id, 'one')));
    const error = await failureOf(setup.channel.send(setup.part(room.id, 'two')));
    expect(error).toMatchObject({ code: 'rate_limited', local: true, global: true });
    expect(setup.server.limits).toMatchObject({ refused: 1, early: 0 });
  });

  it('is called again once the wait has ended, even if the clock was set back in the meantime', async () => {
    let [wall, steady] = [Date.now(), 0];
    await setup.close();
    setup = await MatrixSetup.open({ timing: { epochNow: () => wall, monotonicMs: () => steady } });
    room = setup.server.rooms.room(setup.server.rooms.person('Ada'));
    setup.server.failures.push({ kind: 'refuse', status: 429, errcode: 'M_LIMIT_EXCEEDED', match: /send/ });
    const { retryAfterMs = 0 } = await failureOf(setup.channel.send(setup.part(room.id, 'too fast')));
    wall -= 2 * 3_600_000;
    steady += retryAfterMs;
    await setup.channel.send(setup.part(room.id, 'in time'));
    expect(setup.server.screen(room)).toEqual(['in time']);
  });

  it('is asked whether the token is valid, and then not again right away', async () => {
    setup.server.failures.push(
      { kind: 'refuse', status: 401, errcode: 'M_UNKNOWN_TOKEN', match: /\/send\// },
      { kind: 'refuse', status: 401, errcode: 'M_UNKNOWN_TOKEN', match: /whoami/ },
    );
    for (let n = 0; n < 2; n += 1) {
      const error = await failureOf(setup.channel.send(setup.part(room.id, 'x')));
      expect(error).toMatchObject({ code: 'unauthorized', retryable: true });
      expect(error.message).toContain('MATRIX_TOKEN');
    }
    expect(setup.server.calls.filter((call) => !call.includes('/state/'))).toHaveLength(2);
  });

  it('shows that the bot is typing', async () => {
    await setup.channel.typing?.({ channel: 'matrix', chatId: room.id });
    expect(setup.server.typed).toEqual([room.id]);
  });
});

describe('Markdown', () => {
  const html = (text: string): string => render(parseMarkdown(text)).text;

  it.each([
    ['one line', 'one line'],
    ['a\nb', 'a<br>b'],
    ['a\n\nb', '<p>a</p><p>b</p>'],
    ['# Tide *tables*', '<h1>Tide <em>tables</em></h1>'],
    ['3. c\n4. d', '<ol start="3"><li>c</li><li>d</li></ol>'],
    ['- [x] done\n  - deeper', '<ul><li>☑ done<ul><li>deeper</li></ul></li></ul>'],
    ['```ts\na < b\n```', '<pre><code class="language-ts">a &lt; b</code></pre>'],
    [
      '| a |\n|--|\n| `b` |',
      '<table><thead><tr><th>a</th></tr></thead><tbody><tr><td><code>b</code></td></tr></tbody></table>',
    ],
    ['[x](https://a.test/?b=1&c="2")', '<a href="https://a.test/?b=1&amp;c=&quot;2&quot;">x</a>'],
    ['[x](javascript:alert(1))', 'x'],
    [
      '[https://good.test](https://bad.test)',
      'https://good.test (<a href="https://bad.test">https://bad.test</a>)',
    ],
    ['> said', '<blockquote>said</blockquote>'],
  ])('%j becomes %s', (text, expected) => {
    expect(html(text)).toBe(expected);
  });

  it('keeps the words of any text in the plain text, too', () => {
    const word = fc.stringMatching(/^[a-z]{1,8}$/);
    fc.assert(
      fc.property(
        fc.array(word, { minLength: 1, maxLength: 8 }),
        fc.constantFrom('- ', '> ', '# ', '1. ', ''),
        (words, mark) => {
          const body = render(parseMarkdown(words.map((one) => `${mark}**${one}**`).join('\n\n')));
          for (const one of words)
            expect(`${readHtml(body.text)} / ${body.plain}`.split(one).length).toBeGreaterThan(2);
        },
      ),
    );
  });
});
