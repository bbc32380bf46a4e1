/** The text of a webhook. */
import { assert, jsonValue, property, string } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { hookText, MAX_HOOK_TEXT } from '../../src/intake/hooks.ts';

const PAYLOAD = { repo: { name: 'parley' }, commits: [{ by: 'ann' }], count: 3, none: null, ok: true };

describe('the text of a webhook', () => {
  it('has the fields of the body, including lists and objects, and nothing for fields that are missing', () => {
    const template =
      '{{repo.name}} {{ count }} {{commits.0.by}} {{ok}} [{{none}}{{repo.nothing}}{{a.b}}] {{repo}}';
    expect(hookText(template, PAYLOAD)).toBe('parley 3 ann true [] {"name":"parley"}');
  });

  it('is the whole body without a template, and loses its middle beyond its limit', () => {
    expect(JSON.parse(hookText(undefined, PAYLOAD))).toEqual(PAYLOAD);
    const long = hookText(undefined, 'x'.repeat(MAX_HOOK_TEXT * 2));
    expect(long.length).toBeLessThanOrEqual(MAX_HOOK_TEXT);
    expect(hookText('{{a}}'.repeat(100), { a: 'y'.repeat(100_000) }).length).toBeLessThanOrEqual(
      MAX_HOOK_TEXT,
    );
  });

  it('reads only the fields of the body: no prototype, no template inside a value', () => {
    expect(hookText('{{constructor.name}}{{__proto__}}{{toString}}', PAYLOAD)).toBe('');
    expect(hookText('{{a}}', { a: '{{b}}', b: 'secret' })).toBe('{{b}}');
    assert(
      property(string(), jsonValue(), (template, payload) => {
        expect(hookText(template, payload).length).toBeLessThanOrEqual(MAX_HOOK_TEXT);
      }),
    );
  });
});
