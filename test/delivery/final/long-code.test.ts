/** Code of an answer that would fill too many messages: replaced by a file, or text where no file can be sent. */
import { describe, expect, it } from 'vitest';
import { MAX_CODE_FILES, MAX_CODE_MESSAGES } from '../../../src/delivery/final/long-code.ts';
import { ChannelError } from '../../../src/protocol/errors.ts';
import { buildDelivery } from '../setup.ts';

/** A block of `lines` lines of 20 characters. */
const block = (lines: number, language = 'python'): string =>
  `\`\`\`${language}\n${Array.from({ length: lines }, (_, nth) => `print(${nth})`.padEnd(19, '#')).join('\n')}\n\`\`\``;

const setUp = () => {
  const gateway = buildDelivery({ maxFileBytes: 5_000, maxLength: 100, dedupes: true });
  return { gateway, screen: () => gateway.channel.screen('1') };
};

describe('long code of an answer', () => {
  it('stays text as long as it fills three messages, and becomes a file from the fourth on', async () => {
    const { gateway, screen } = setUp();
    await gateway.deliver(block(12));
    expect(screen()).toHaveLength(MAX_CODE_MESSAGES);
    const other = setUp();
    await other.gateway.deliver(`Here:\n\n${block(13)}\n\nThat is all.`);
    expect(other.screen()).toEqual([
      'Here:\n\n_The code (13 lines) follows as the file `code.py`._\n\nThat is all.',
      '[file code.py]',
    ]);
  });

  it('is one file for each block, up to ten, named by its language', async () => {
    const { gateway, screen } = setUp();
    const languages = [
      'ts',
      'c++',
      'what is this',
      '',
      'Makefile~',
      ...Array.from({ length: 6 }, () => 'go'),
    ];
    await gateway.deliver(languages.map((language) => block(13, language)).join('\n\n'));
    const files = screen().filter((text) => text.startsWith('[file'));
    expect(files.slice(0, 6)).toEqual(
      ['code.ts', 'code-2.cpp', 'code-3.what', 'code-4.txt', 'code-5.txt', 'code-6.go'].map(
        (name) => `[file ${name}]`,
      ),
    );
    expect(files).toHaveLength(MAX_CODE_FILES);
    expect(screen().filter((text) => text.includes('print(12)'))).toHaveLength(1);
  });

  it('stays text in a chat without files, and where the file would be too large', async () => {
    const without = buildDelivery({ maxLength: 100 });
    await without.deliver(block(13));
    expect(without.channel.screen('1').length).toBeGreaterThan(MAX_CODE_MESSAGES);
    const { gateway, screen } = setUp();
    await gateway.deliver(block(300));
    expect(screen().join('')).toContain('print(299)');
    expect(screen().join('')).not.toContain('[file');
  });

  it.each(['rejected', 'blocked'] as const)(
    'is shown as text when the platform answers the file with %s',
    async (code) => {
      const { gateway, screen } = setUp();
      Object.assign(gateway.channel, {
        sendFile: async () => {
          throw new ChannelError(code, 'no files here');
        },
      });
      for (let attempt = 0; attempt < 2; attempt += 1) {
        const { value } = await gateway.deliver(`Here:\n\n${block(13)}`);
        expect(value).toMatchObject({ kind: 'finished' });
      }
      const shown = screen();
      expect(shown[0]).toContain('follows as the file');
      expect(shown.at(-1)).toContain('The file code.py could not be sent');
      expect(shown.filter((text) => text.includes('print(12)'))).toHaveLength(1);
      expect(shown.filter((text) => text.includes('print(0)'))).toHaveLength(1);
    },
  );

  it('is one file even if the process died before the file was recorded', async () => {
    const { gateway, screen } = setUp();
    await gateway.deliver(block(13));
    gateway.parts.delete('ref-1:files');
    await gateway.deliver(block(13));
    expect(screen().filter((text) => text.startsWith('[file'))).toEqual(['[file code.py]']);
  });
});
