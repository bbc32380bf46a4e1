/** Which mails count as authentic: what the receiving server has written above them, and nothing that came with them. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { forgeryOf, readResults } from '../../../plugins/email/authentication.ts';

const ID = 'mx.google.com';
const gmail =
  'mx.google.com; dkim=pass header.i=@example.org header.s=s1 header.b="ab;c"; spf=pass (google.com: domain of ada@example.org designates 192.0.2.1 as permitted sender) smtp.mailfrom=ada@example.org; dmarc=pass (p=REJECT sp=REJECT dis=NONE) header.from=example.org';
const isAuthentic = (...headers: string[]): boolean => forgeryOf(headers, [ID], 'example.org') === undefined;

describe('a header', () => {
  it('is read with its methods, results and properties', () => {
    expect(readResults(gmail)).toEqual({
      authservId: ID,
      verdicts: [
        {
          method: 'dkim',
          result: 'pass',
          properties: { 'header.i': '@example.org', 'header.s': 's1', 'header.b': 'ab;c' },
        },
        { method: 'spf', result: 'pass', properties: { 'smtp.mailfrom': 'ada@example.org' } },
        { method: 'dmarc', result: 'pass', properties: { 'header.from': 'example.org' } },
      ],
    });
    expect(readResults('example.com 1; none')).toMatchObject({ authservId: 'example.com' });
    expect(readResults('a; dkim/1 = pass header.d = example.org')?.verdicts[0]).toMatchObject({
      method: 'dkim',
      properties: { 'header.d': 'example.org' },
    });
  });

  it('that leaves a comment or a quotation open says nothing', () => {
    expect(readResults('mx.google.com; dmarc=pass header.from=example.org (')).toBeUndefined();
    expect(readResults('mx.google.com; dmarc=pass "header.from=example.org')).toBeUndefined();
  });

  it('is read in whatever form it comes, and no text in a comment or in quotes becomes a verdict', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        readResults(text);
        const inside = text.replaceAll(/[()\\]/g, '').replaceAll('"', '');
        const commented = `${ID}; spf=fail (${inside} dmarc=pass header.from=example.org) smtp.mailfrom=x@evil.example`;
        const quoted = `${ID}; spf=fail reason="${inside}; dmarc=pass header.from=example.org"`;
        expect(isAuthentic(commented)).toBe(false);
        expect(isAuthentic(quoted)).toBe(false);
      }),
    );
  });
});

describe('a mail', () => {
  it.each([
    ['DMARC passed for its domain', gmail],
    ['DKIM of its domain passed, without DMARC', `${ID}; dkim=pass header.d=example.org`],
    ['SPF of its domain passed, without DMARC', `${ID}; spf=pass smtp.mailfrom=bounce@example.org`],
    [
      'one of several signatures is of its domain',
      `${ID}; dkim=pass header.d=mailer.example; dkim=pass header.d=example.org`,
    ],
  ])('is authentic when %s', (_, header) => {
    expect(isAuthentic(header)).toBe(true);
  });

  it('of a subdomain is authentic with a signature of the domain above, and not the other way round', () => {
    const header = `${ID}; dkim=pass header.d=example.org`;
    expect(forgeryOf([header], [ID], 'mail.example.org')).toBeUndefined();
    expect(forgeryOf([`${ID}; dkim=pass header.d=mail.example.org`], [ID], 'example.org')).toBeDefined();
    expect(forgeryOf([`${ID}; dkim=pass header.d=org`], [ID], 'example.org')).toBeDefined();
    expect(forgeryOf([header], [ID], 'evilexample.org')).toBeDefined();
  });

  it.each([
    ['it has no such header'],
    ['the header is of another server', gmail.replace(ID, 'mx.evil.example')],
    [
      'DMARC failed, whatever else passed',
      `${ID}; dmarc=fail header.from=example.org; dkim=pass header.d=example.org`,
    ],
    ['DMARC passed for another domain', `${ID}; dmarc=pass header.from=evil.example`],
    [
      'the signature is of another domain',
      `${ID}; dkim=pass header.d=evil.example; spf=pass smtp.mailfrom=x@evil.example`,
    ],
    [
      'the signature is broken',
      `${ID}; dkim=fail header.d=example.org; spf=softfail smtp.mailfrom=ada@example.org`,
    ],
    [
      'the server could not tell',
      `${ID}; dmarc=none header.from=example.org; spf=neutral smtp.mailfrom=ada@example.org`,
    ],
    [
      'only the sender says so, below what the server says',
      `${ID}; spf=fail smtp.mailfrom=x@evil.example`,
      gmail,
    ],
  ])('is not authentic when %s', (_, ...headers) => {
    expect(isAuthentic(...headers)).toBe(false);
  });
});
