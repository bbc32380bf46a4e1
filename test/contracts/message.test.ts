/** Chat addresses: the characters that separate ids may occur in the ids themselves. */
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { addressOf, parseAddress } from '../../src/protocol/message.ts';

it('returns every chat and thread, whatever their ids contain', () => {
  const id = fc.oneof(fc.string({ minLength: 1 }), fc.stringMatching(/^[!$][=:3ADa-z]{1,12}$/));
  fc.assert(
    fc.property(id, fc.option(id, { nil: undefined }), (chatId, threadId) => {
      const place = { channel: 'matrix', chatId, ...(threadId !== undefined && { threadId }) };
      expect(parseAddress(addressOf(place))).toEqual(place);
    }),
  );
});

it('leaves ids without a colon or an equals sign as they are', () => {
  expect(addressOf({ channel: 'telegram', chatId: '-100', threadId: '7' })).toBe('telegram:-100:7');
  expect(addressOf({ channel: 'matrix', chatId: '!garden:example.org', threadId: '$first' })).toBe(
    'matrix:!garden=3Aexample.org:$first',
  );
});
