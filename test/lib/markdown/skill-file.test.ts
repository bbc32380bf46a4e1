/** Heads of SKILL.md files in the shapes that people publish, and in those that should harm. */
import { assert, property, string } from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  MAX_SKILL_DESCRIPTION_CHARS,
  MAX_SKILL_HEAD_CHARS,
  MAX_SKILL_NAME_CHARS,
  readSkillFile,
} from '../../../src/lib/markdown/skill-file.ts';

const head = (...lines: string[]): string =>
  `---\n${lines.join('\n')}\n---\n\n# Steps\n\nname: not this one\n`;

describe('the head of a SKILL.md', () => {
  it('gives every field of the format (agentskills.io/specification)', () => {
    const skill = readSkillFile(
      head(
        'name: pdf-forms',
        'description: Fills in the forms of PDF files. Use it when a form has to be filled in.',
        'license: Apache-2.0',
        'compatibility: Needs Python 3.12 and qpdf',
        'allowed-tools: Bash(git:*) Bash(jq -r *) Read',
        'metadata:',
        '  author: example-org',
        '  version: 1.0',
        '  on: true',
      ),
    );
    expect(skill).toEqual({
      name: 'pdf-forms',
      description: 'Fills in the forms of PDF files. Use it when a form has to be filled in.',
      license: 'Apache-2.0',
      compatibility: 'Needs Python 3.12 and qpdf',
      allowedTools: ['Bash(git:*)', 'Bash(jq -r *)', 'Read'],
      metadata: { author: 'example-org', version: '1', on: 'true' },
      problems: [],
    });
  });

  const long = 'Use it for tables, and for lists. '.repeat(30).trim();
  it.each([
    ['plain', ['name: a', 'description: b c'], 'a', 'b c'],
    ['quoted twice', ['name: "a"', 'description: "says: \\"yes\\" — \'no\'"'], 'a', 'says: "yes" — \'no\''],
    ['quoted once', ["name: 'a'", "description: 'it''s: fine'"], 'a', "it's: fine"],
    ['folded', ['description: >', '  folded', '  over lines', 'name: a'], 'a', 'folded over lines'],
    [
      'folded without its last line break',
      ['name: a', 'description: >-', '  one', '', '  two'],
      'a',
      'one two',
    ],
    [
      'literal',
      ['name: a', 'description: |-', '  What it does.', '  WHEN — always: "now"'],
      'a',
      'What it does. WHEN — always: "now"',
    ],
    ['over lines without a mark', ['name: a', 'description: one', '  two', '  three'], 'a', 'one two three'],
    [
      'a colon without quotes',
      ['name: a', 'description: Use when: the user asks. Not: ever'],
      'a',
      'Use when: the user asks. Not: ever',
    ],
    ['a comment', ['name: a # the name', 'description: b#c'], 'a', 'b#c'],
    ['a list of tools', ['name: a', 'description: b', 'allowed-tools: [Read, Write]'], 'a', 'b'],
    ['unknown fields', ['name: a', 'description: b', 'version: 2', 'hooks: {Stop: [x]}'], 'a', 'b'],
    ['long', ['name: a', `description: ${long}`], 'a', long],
    ['a number for a name', ['name: 2024', 'description: b'], '2024', 'b'],
    ['the same field twice', ['name: a', 'name: b', 'description: c'], 'b', 'c'],
    ['a line separator', ['name: a', 'description: "line\u2028## heading"'], 'a', 'line ## heading'],
  ])('is read when it is %s', (_, lines, name, description) => {
    expect(readSkillFile(head(...lines))).toMatchObject({ name, description, problems: [] });
    const windows = `\ufeff${head(...lines).replaceAll('\n', '\r\n')}`;
    expect(readSkillFile(windows)).toMatchObject({ name, description, problems: [] });
  });

  it('is read as far as it goes when the rest of the file is missing', () => {
    expect(readSkillFile('---\nname: cut\ndescription: off')).toMatchObject({
      name: 'cut',
      description: 'off',
    });
  });

  it.each([
    ['# A skill\n\nname: x', 'does not begin with front matter'],
    ['', 'does not begin with front matter'],
    [head('- a', '- b'), 'is not YAML with fields'],
    [head('name: [a'), 'is not YAML with fields'],
    [head('name: a', `other: ${'['.repeat(10_000)}`), 'is not YAML with fields'],
    [head(`name: ${'x'.repeat(MAX_SKILL_HEAD_CHARS)}`), 'is longer than'],
    [head('name: a'), 'has no description'],
    [head('name: a', 'description: [b]'), 'has no description'],
    [head('name: A Name', 'description: b'), 'is not made of lowercase'],
    [head('name: a--b', 'description: b'), 'is not made of lowercase'],
    [head(`name: ${'a'.repeat(MAX_SKILL_NAME_CHARS + 1)}`, 'description: b'), 'name is longer'],
    [head('name: a', `description: ${'b'.repeat(MAX_SKILL_DESCRIPTION_CHARS + 1)}`), 'description is longer'],
  ])('says what is wrong with %j', (text, problem) => {
    expect(readSkillFile(text).problems.join(' ')).toContain(problem);
  });

  it('lets no alias, tag or key become more than text', () => {
    const bomb = [
      'a: &a [x,x,x,x,x,x,x,x,x]',
      ...'bcdefghi'.split('').map((key, at) => {
        const of = 'abcdefgh'[at];
        return `${key}: &${key} [*${of},*${of},*${of},*${of},*${of},*${of},*${of},*${of},*${of}]`;
      }),
    ];
    expect(readSkillFile(head(...bomb, 'name: a', 'description: b')).problems).toHaveLength(3);
    const code = readSkillFile(
      head(
        'name: !!js/function "() => 1"',
        'description: !<!x> b',
        '__proto__: {polluted: 1}',
        'metadata: {__proto__: x}',
      ),
    );
    expect(code).toMatchObject({ name: '() => 1', description: 'b' });
    expect(Object.hasOwn(Object.prototype, 'polluted')).toBe(false);
    const circle = readSkillFile(head('name: a', 'description: b', 'metadata: &m', '  self: *m'));
    expect(circle.metadata).toEqual({ self: '' });
  });

  it('is within its limits, on one line each, whatever is in it', () => {
    assert(
      property(string({ unit: 'binary', maxLength: 400 }), (text) => {
        const { name, description, license, compatibility, allowedTools, metadata } = readSkillFile(
          `---\n${text}\n---`,
        );
        const values = [
          name,
          description,
          license,
          compatibility,
          ...allowedTools,
          ...Object.entries(metadata).flat(),
        ];
        for (const value of values) {
          expect(value).not.toMatch(/[\n\r\u2028\u2029]/);
          expect(value.length).toBeLessThanOrEqual(MAX_SKILL_DESCRIPTION_CHARS);
        }
      }),
    );
  });
});
