/** What of a mail the model reads: the person's own words, from plain text or HTML. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { textOfHtml } from '../../../plugins/email/html-text.ts';
import { ownText } from '../../../plugins/email/quoting.ts';

describe('quoted history and signatures', () => {
  it.each([
    [
      'Gmail',
      'Yes.\n\nOn Mon, Nov 30, 2026 at 4:10 PM Parley <parley@example.org> wrote:\n\n> Shall I?\n> Really?',
    ],
    [
      'Gmail on two lines',
      'Yes.\n\nOn Mon, Nov 30, 2026 at 4:10 PM A Very Long Name Indeed\n<parley@example.org> wrote:\n\n> Shall I?',
    ],
    ['Thunderbird in German', 'Yes.\n\nAm 30.11.26 um 16:10 schrieb Parley:\n> Shall I?\n>\n> -- \n> Parley'],
    ['Apple Mail in French', 'Yes.\n\nLe 30 nov. 2026 à 16:10, Parley a écrit :\n\n> Shall I?'],
    [
      'Outlook',
      'Yes.\n\n________________________________\nFrom: Parley <parley@example.org>\nSent: Monday, November 30, 2026\nTo: Ada\nSubject: Re: x\n\nShall I?',
    ],
    [
      'Outlook in German',
      'Yes.\n\nVon: Parley <parley@example.org>\nGesendet: Montag\nAn: Ada\nBetreff: x\n\nShall I?',
    ],
    ['an old Outlook', 'Yes.\n\n-----Original Message-----\nFrom: Parley\n\nShall I?'],
    ['quotes alone', 'Yes.\n\n> Shall I?'],
    ['a signature', 'Yes.\n\n-- \nAda\nEngines Ltd.'],
    ['a signature above the quotes', 'Yes.\n\n-- \nAda\n\nOn Monday, Parley wrote:\n> Shall I?'],
    ['a phone', 'Yes.\n\nSent from my iPhone'],
    ['lines that end as on Windows', 'Yes.\r\n\r\nOn Monday, Parley wrote:\r\n> Shall I?\r\n'],
  ])('are cut as %s writes them', (_, text) => {
    expect(ownText(text)).toBe('Yes.');
  });

  it('stay where the person has written between or below them, and where a mail was forwarded', () => {
    const between = 'On Monday, Parley wrote:\n> One?\nYes.\n> Two?\nNo.';
    expect(ownText(between)).toBe(between);
    const below = '> Shall I?\n\nYes, do.';
    expect(ownText(below)).toBe(below);
    const forwarded =
      'See below.\n\n---------- Forwarded message ---------\nFrom: Bob <bob@example.org>\nDate: Monday\n\nHello';
    expect(ownText(forwarded)).toContain('Hello');
    expect(ownText('> only a quote')).toBe('> only a quote');
  });

  it('never leave nothing of a mail that says something', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.constantFrom('> ', 'On Monday, x wrote:', '-- ', 'word', '', '\r', 'From: a', 'Sent: b', '____'),
        ),
        (lines) => {
          const text = lines.join('\n');
          expect(ownText(text) === '').toBe(text.trim() === '');
        },
      ),
    );
  });
});

describe('HTML', () => {
  it('becomes lines, items, links with their targets, and quotes', () => {
    const html =
      '<html><head><title>no</title><style>p{}</style></head><body><p>Dear&nbsp;Parley,</p><ul><li>one<li>two</ul>' +
      '<p>see <a href="https://example.org/a">this</a> and <a href="javascript:x">that</a><br>bye</p>' +
      '<blockquote>old<blockquote>older</blockquote></blockquote><table><tr><td>a<td>b</tr></table></body></html>';
    expect(textOfHtml(html)).toBe(
      'Dear Parley,\n- one\n- two\nsee this (https://example.org/a) and that\nbye\n> old\n> > older\n a b'.replace(
        '\n a b',
        '\na b',
      ),
    );
  });

  it('shows nothing that its sender has hidden', () => {
    const hidden = [
      '<span style="display:none">secret</span>',
      '<div hidden>secret</div>',
      '<p style="font-size:0px">secret<b>secret</b></p>',
      '<script>secret</script><noscript>secret</noscript><template>secret</template>',
      '<!-- secret --><div style="visibility: hidden"><img alt="secret"><br>secret</div>',
    ];
    expect(textOfHtml(`${hidden.join('')}<p>seen</p>`)).toBe('seen');
  });

  it('of any form is read in a time that grows with its length', () => {
    fc.assert(fc.property(fc.string({ unit: 'binary' }), (html) => void textOfHtml(html)));
    const started = performance.now();
    for (const piece of ['<div>', '<blockquote>', '</div>', '<a href="x">', '<p style="x">y', '&amp;'])
      textOfHtml(piece.repeat(200_000));
    expect(performance.now() - started).toBeLessThan(20_000);
  });
});
