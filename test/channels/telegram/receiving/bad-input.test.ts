/** What no app sends, but someone may: each is received, shown or skipped, and nothing after it is lost. */
import { describe, expect, it, vi } from 'vitest';
import { toInbound } from '../../../../channels/telegram/receiving/inbound.ts';
import { NETWORKS, shownAsRich, shownOf } from '../../../corpora/networks.ts';
import { lostWords, wordsOf } from '../../../corpora/words.ts';
import { startChannel, startFake, WAIT } from '../started.ts';

const BOT = { id: '99', name: 'the_bot', commands: new Set(['stop']) };
const [TELEGRAM] = NETWORKS;
if (TELEGRAM === undefined) throw new Error('Telegram is the first network');

/** A message with these entities, as it reaches the gateway. */
function heard(text: string, entities: unknown): unknown {
  const chat = { id: 1, type: 'private', first_name: 'A' };
  const from = { id: 1, is_bot: false, first_name: 'A' };
  const message = { message_id: 5, date: 1, chat, from, text, entities };
  const inbound = toInbound({ update_id: 1, message }, BOT);
  return inbound.kind === 'message' ? inbound.message.content : inbound;
}

describe('entities that make no sense', () => {
  it.each([
    ['behind the end of the text', [{ type: 'mention', offset: 400, length: 10 }]],
    ['longer than the text', [{ type: 'bot_command', offset: 0, length: 4_000 }]],
    ['before the text', [{ type: 'bold', offset: -4, length: 2 }]],
    ['in the middle of a character', [{ type: 'bold', offset: 7, length: 1 }]],
    ['without a place', [{ type: 'bold' }]],
    ['that are no list', 'bold'],
    ['of an unknown kind', [{ type: 'sparkling', offset: 0, length: 2 }]],
  ])('leave the text as it is: %s', (_, entities) => {
    expect(heard('hello 👩‍👧 there', entities)).toBe('hello 👩‍👧 there');
  });
});

describe('a formula of 10,000 characters', () => {
  const formula = Array.from({ length: 1_700 }, (_, at) => `x_${at}^2`)
    .join(' + ')
    .slice(0, 10_000);

  it.each([`\\(${formula}\\)`, `$$${formula}$$`, `\\[${formula}\\]`])('is shown completely', async (text) => {
    const expected = wordsOf(formula);
    for (const view of await shownOf(TELEGRAM, `It is ${text} there.`))
      expect(lostWords(expected, view)).toEqual([]);
    const rich = await shownAsRich(`It is ${text} there.`);
    expect(rich === undefined ? [] : lostWords(expected, rich)).toEqual([]);
  });
});

it('shows a table of 400 columns with the words of every cell', async () => {
  const cells = (word: string): string => Array.from({ length: 400 }, (_, at) => `${word}${at}`).join(' | ');
  const text = `| ${cells('head')} |\n| ${Array(400).fill('--').join(' | ')} |\n| ${cells('cell')} |`;
  for (const view of await shownOf(TELEGRAM, text)) {
    expect(lostWords(wordsOf(cells('head')), view)).toEqual([]);
    expect(lostWords(wordsOf(cells('cell')), view)).toEqual([]);
  }
});

it('skips updates of every other kind, and receives the next message', async () => {
  const fake = await startFake();
  const { received } = await startChannel(fake.root);
  const chat = { id: 1, type: 'private', first_name: 'A' };
  for (const body of [
    { deleted_business_messages: { business_connection_id: 'b', chat, message_ids: [1, 2] } },
    { edited_message: { message_id: 77, date: 1, edit_date: 2, chat } },
    { edited_message: 'what?' },
    { message_reaction: { chat, message_id: 1 } },
    { poll: { id: '1' } },
    { something_of_next_year: { with: ['any', 'shape'] } },
    { message: { message_id: 3, date: 1, chat, from: { id: 1, is_bot: false }, new_kind: {} } },
    { callback_query: { id: '1', from: { id: 1, is_bot: false } } },
    { message: null },
    {},
  ])
    fake.update(body);
  fake.says('1', 'still here?', '1');
  await vi.waitFor(() => expect(received).toEqual(['still here?']), WAIT);
});
