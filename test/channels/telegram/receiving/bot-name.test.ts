/** The bot's name at the start of a text is how people address it, and no part of what the model reads. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { toInbound } from '../../../../channels/telegram/receiving/inbound.ts';

const BOT = { id: '987654321', name: 'parley_test_bot', commands: new Set(['stop']) };
const ADA = { id: 42, is_bot: false, first_name: 'Ada' };
const GROUP = { id: -1_001_234_567_890, type: 'supergroup' };

const mention = (name: string) => [{ type: 'mention', offset: 0, length: name.length }];
const written = (text: string, entities: object[], chat: object = GROUP) => ({
  message_id: 7,
  date: 1_700_000_000,
  chat,
  from: ADA,
  text,
  entities,
});

/** The same text as each kind of update carries it. */
const WAYS: Record<string, (text: string, entities: object[]) => object> = {
  'in a group': (text, entities) => ({ message: written(text, entities) }),
  'in private': (text, entities) => ({ message: written(text, entities, { id: 42, type: 'private' }) }),
  'as an edit': (text, entities) => ({ edited_message: written(text, entities) }),
  'as a guest': (text, entities) => ({ guest_message: { ...written(text, entities), guest_query_id: 'q' } }),
  'below a picture': (text, entities) => {
    const { text: caption, entities: caption_entities, ...rest } = written(text, entities);
    return { message: { ...rest, caption, caption_entities, photo: [{ file_id: 'f' }] } };
  },
  inline: (query) => ({ inline_query: { id: 'q', from: ADA, query } }),
  'as a chosen result': (query) => ({ chosen_inline_result: { from: ADA, query, inline_message_id: 'AA' } }),
};

function contentOf(update: object): string {
  const inbound = toInbound({ update_id: 10, ...update }, BOT);
  if (inbound.kind !== 'message' && inbound.kind !== 'inline') throw new Error(JSON.stringify(inbound));
  return inbound.message.content;
}

/** What is left of a name and the punctuation after it: anything that is no such punctuation, command or name. */
const question = fc.string({ minLength: 1, unit: 'grapheme' }).filter((text) => /^[^\s,:/@]/.test(text));

describe.each(Object.entries(WAYS))('%s', (_way, updateOf) => {
  it('the name is taken off, however it is written, and the rest stays as it is', () => {
    const name = fc.constantFrom('@parley_test_bot', '@Parley_Test_Bot');
    const mark = fc.constantFrom(' ', ', ', ': ', '\n', ',');
    fc.assert(
      fc.property(name, mark, question, (called, between, text) => {
        expect(contentOf(updateOf(`${called}${between}${text}`, mention(called)))).toBe(text);
      }),
    );
  });

  it.each(['hello @parley_test_bot', '@parley_test_bot2 hello', '@parley_test_bot', '@ada hello'])(
    '%s stays as it is',
    (text) => expect(contentOf(updateOf(text, mention(text.split(' ')[0] ?? '')))).toBe(text),
  );
});

it('takes off the name of the account, which a person without a user name would be given, too', () => {
  const entities = [{ type: 'text_mention', offset: 0, length: 6, user: { ...ADA, id: 987_654_321 } }];
  expect(contentOf({ message: written('Parley, what is this', entities) })).toBe('what is this');
});

it('reads a command behind the name as one', () => {
  for (const text of ['@parley_test_bot /stop', '@parley_test_bot /stop@parley_test_bot'])
    expect(contentOf({ message: written(text, mention('@parley_test_bot')) })).toBe('/stop');
});
