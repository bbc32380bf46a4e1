/** Codes that link chats: long enough, readable, and the same however they are typed. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { hashLinkCode, newLinkCode } from '../../../src/intake/surfaces/links.ts';

describe('the codes', () => {
  it('have 50 bits, are never repeated, and use every character in every position', () => {
    const codes = Array.from({ length: 5_000 }, newLinkCode);
    expect(new Set(codes).size).toBe(codes.length);
    for (const code of codes) expect(code).toMatch(/^[0-9A-HJKMNP-TV-Z]{5}-[0-9A-HJKMNP-TV-Z]{5}$/);
    for (const at of [0, 1, 2, 3, 4, 6, 7, 8, 9, 10])
      expect(new Set(codes.map((code) => code.charAt(at))).size).toBe(32);
  });

  it('are the same in any case, with blanks and dashes anywhere, and with letters that look like digits', () => {
    const looks: Record<string, string[]> = { '0': ['0', 'o', 'O'], '1': ['1', 'i', 'I', 'l', 'L'] };
    const typed = fc.array(
      fc.record({ pick: fc.nat(), lower: fc.boolean(), gap: fc.constantFrom('', ' ', '-', ' - ') }),
      {
        minLength: 10,
        maxLength: 10,
      },
    );
    fc.assert(
      fc.property(typed, (ways) => {
        const code = newLinkCode();
        const characters = code.replace('-', '').split('');
        const text = characters.map((character, at) => {
          const { pick = 0, lower = false, gap = '' } = ways[at] ?? {};
          const forms = looks[character] ?? [lower ? character.toLowerCase() : character];
          return `${forms[pick % forms.length] ?? character}${gap}`;
        });
        expect(hashLinkCode(text.join(''))).toBe(hashLinkCode(code));
      }),
    );
  });

  it('differ wherever the text differs, and no other text is a code', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 30, unit: 'binary' }), (text) => {
        const isCode = /^[0-9a-hj-km-np-tv-zilo]{10}$/i.test(text.replaceAll(/[\s-]/g, ''));
        expect(hashLinkCode(text) !== undefined).toBe(isCode);
      }),
    );
    expect(hashLinkCode('00000-00000')).not.toBe(hashLinkCode('00000-00001'));
  });
});
