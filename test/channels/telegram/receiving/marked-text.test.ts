/** Hidden links, code and rich messages on their way in, in the shapes of the Bot API. */
import { describe, expect, it } from 'vitest';
import { toInbound } from '../../../../channels/telegram/receiving/inbound.ts';
import { markedText } from '../../../../channels/telegram/receiving/marked-text.ts';
import { readRichMessage } from '../../../../channels/telegram/receiving/rich-text.ts';
import { MAX_RICH_CHARS, toRichMessage } from '../../../../channels/telegram/rich-message.ts';
import { MAX_ADDRESS } from '../../../../src/lib/markdown/link.ts';
import { parseMarkdown } from '../../../../src/lib/markdown/markdown.ts';

const BOT = { id: '987654321', name: 'parley_test_bot', commands: new Set(['ask']) };
const ADA = { id: 42, is_bot: false, first_name: 'Ada' };
const link = (offset: number, length: number, url: string) => ({ type: 'text_link', offset, length, url });

function read(fields: object) {
  const message = {
    message_id: 7,
    date: 1_700_000_000,
    chat: { id: 42, type: 'private' },
    from: ADA,
    ...fields,
  };
  const inbound = toInbound({ update_id: 10, message }, BOT);
  if (inbound.kind !== 'message') throw new Error(JSON.stringify(inbound));
  return inbound.message;
}

const TEXT = 'Read the report here and the source here.';
const ENTITIES = [link(16, 4, 'https://a.example/report'), link(36, 4, 'https://b.example/x (1)')];
const MARKED =
  'Read the report [here](https://a.example/report) and the source [here](https://b.example/x%20%281%29).';

describe('hidden links and code on Telegram', () => {
  it('reach the model in texts, captions, quotes and selected parts', () => {
    expect(read({ text: TEXT, entities: ENTITIES }).content).toBe(MARKED);
    expect(read({ photo: [{ file_id: 'p' }], caption: TEXT, caption_entities: ENTITIES }).content).toBe(
      MARKED,
    );
    const answered = { message_id: 3, date: 1, from: ADA, text: TEXT, entities: ENTITIES };
    expect(read({ text: 'why?', reply_to_message: answered }).quoted?.text).toBe(MARKED);
    const quote = { text: 'here', position: 16, entities: [link(0, 4, 'https://a.example/report')] };
    expect(read({ text: 'why?', reply_to_message: answered, quote }).quoted?.text).toBe(
      '[here](https://a.example/report)',
    );
  });

  it('leave commands and mentions as they are', () => {
    const command = { type: 'bot_command', offset: 0, length: 20 };
    const text = '/ask@parley_test_bot see here';
    expect(read({ text, entities: [command, link(25, 4, 'https://a.example')] }).content).toBe(
      '/ask see [here](https://a.example)',
    );
  });

  it(`keep the words of an address longer than ${MAX_ADDRESS}, of one that is shown, and of overlapping ones`, () => {
    const long = `https://a.example/${'x'.repeat(MAX_ADDRESS - 18)}`;
    expect(markedText('here', [link(0, 4, long)])).toBe(`[here](${long})`);
    expect(markedText('here', [link(0, 4, `${long}x`)])).toBe('here');
    expect(markedText('https://a.example', [link(0, 17, 'https://a.example')])).toBe('https://a.example');
    expect(markedText('one two', [link(0, 7, 'https://a.example'), link(4, 3, 'https://b.example')])).toBe(
      '[one two](https://a.example)',
    );
  });

  it('fence blocks of code', () => {
    const text = 'Run x = 1 now';
    const pre = { type: 'pre', offset: 4, length: 5, language: 'python' };
    expect(markedText(text, [pre])).toBe('Run \n```python\nx = 1\n```\n now');
    expect(markedText('x = 1', [{ ...pre, offset: 0, language: 'bad language' }])).toBe('```\nx = 1\n```');
  });
});

const TABLE = [
  '## Rivers',
  'They are **long**, see [the list](https://a.example).',
  '| River | km |',
  '| --- | --- |',
  '| Nile | 6650 |',
  '- [x] read',
  '- [ ] write',
  '1. first',
  '> quoted',
  '```js',
  'let a;',
  '```',
].join('\n');

describe('a rich message on Telegram', () => {
  const rich = (markdown: string) => toRichMessage(parseMarkdown(markdown), [])?.message;

  it('is read when it is forwarded, and when it is replied to', () => {
    const blocks = rich('| River | km |\n|---|---|\n| Nile | 6650 |');
    const text = '| River | km |\n| --- | --- |\n| Nile | 6650 |';
    const forwarded = read({
      rich_message: blocks,
      forward_origin: { type: 'channel', chat: { title: 'News' } },
    });
    expect(forwarded).toMatchObject({ content: text, forwarded: true, forwardedFrom: 'News' });
    const bot = { id: 987_654_321, is_bot: true, first_name: 'Parley' };
    const reply_to_message = { message_id: 3, date: 1, from: bot, rich_message: blocks };
    expect(read({ text: 'explain row 2', reply_to_message }).quoted).toMatchObject({ by: 'bot', text });
  });

  it('is read back as it was written', () => {
    const back = readRichMessage(
      rich(TABLE.replaceAll(/\n(?=[|>`1]|- \[x)/g, '\n\n').replaceAll(/\|\n\n\|/g, '|\n|')),
    );
    for (const line of [
      '## Rivers',
      '[the list](https://a.example)',
      '| Nile | 6650 |',
      '- [x] read',
      '1. first',
      '> quoted',
    ])
      expect(back).toContain(line);
    expect(back).toContain('```js\nlet a;\n```');
  });

  it(`of an unknown form is left out, is cut after ${MAX_RICH_CHARS} characters, and never loses the message`, () => {
    for (const odd of [undefined, 7, { blocks: 'x' }, { blocks: [7, null, { type: 'new' }] }])
      expect(readRichMessage(odd)).toBeUndefined();
    expect(read({ rich_message: { blocks: 7 } }).content).toBe('[formatted page, which I cannot read]');
    const paragraph = (text: unknown) => ({ blocks: [{ type: 'paragraph', text }] });
    expect(readRichMessage(paragraph('x'.repeat(MAX_RICH_CHARS)))).toHaveLength(MAX_RICH_CHARS);
    expect(readRichMessage(paragraph('x'.repeat(MAX_RICH_CHARS + 1)))).toContain('1 characters left out');
    let deep: unknown = 'end';
    for (let level = 0; level < 10_000; level += 1) deep = { type: 'bold', text: deep };
    expect(
      readRichMessage({
        blocks: [
          { type: 'paragraph', text: deep },
          { type: 'paragraph', text: 'seen' },
        ],
      }),
    ).toBe('seen');
  });
});
