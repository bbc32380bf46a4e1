/** External file names: whatever they contain, they become one plain name. */
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { MAX_FILE_NAME_BYTES, safeFileName } from '../../src/lib/file-name.ts';

it.each([
  ['holiday photo.PNG', 'holiday photo.PNG'],
  ['Übersicht – März.pdf', 'Übersicht – März.pdf'],
  ['../../etc/passwd', 'passwd'],
  ['C:\\Users\\me\\report.docx', 'report.docx'],
  ['.bashrc', 'bashrc'],
  ['a\nb\tc\0.txt', 'a b c.txt'],
  // Shown as "gpj.exe", it would look like a picture.
  ['photo\u202Egpj.exe', 'photogpj.exe'],
  ['what?.txt', 'what_.txt'],
  ['trailing. . ', 'trailing'],
  ['..', 'file'],
  ['folder/', 'file'],
  ['\ud800', 'file'],
  ['', 'file'],
])('turns %j into %j', (given, name) => {
  expect(safeFileName(given)).toBe(name);
});

it('shortens a long name before its extension, between whole characters', () => {
  expect(safeFileName('a'.repeat(MAX_FILE_NAME_BYTES))).toHaveLength(MAX_FILE_NAME_BYTES);
  expect(safeFileName(`${'a'.repeat(MAX_FILE_NAME_BYTES)}.pdf`)).toBe(
    `${'a'.repeat(MAX_FILE_NAME_BYTES - 4)}.pdf`,
  );
  const emoji = safeFileName(`${'😀'.repeat(60)}.png`);
  expect(emoji).toBe(`${'😀'.repeat(29)}.png`);
});

it('returns a plain name for any text, and the same name when applied again', () => {
  const unit = fc.constantFrom(
    'a',
    '.',
    ' ',
    '/',
    '\\',
    '\0',
    '\n',
    '\u202e',
    '\ud800',
    'é',
    '😀',
    ':',
    '\u0301',
  );
  fc.assert(
    fc.property(fc.string({ unit, maxLength: 200 }), (given) => {
      const name = safeFileName(given);
      expect(name).toMatch(/^[^\p{C}/\\:. ]([^\p{C}/\\:]*[^\p{C}/\\:. ])?$/u);
      expect(Buffer.byteLength(name)).toBeLessThanOrEqual(MAX_FILE_NAME_BYTES);
      expect(safeFileName(name)).toBe(name);
    }),
  );
});
