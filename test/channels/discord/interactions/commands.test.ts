/** The gateway's commands in the form Discord accepts: whatever the list contains, the registration is not refused. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { checkCommand } from '../../../fakes/discord/interactions/command-form.ts';
import { toDiscordCommands } from '../../../../channels/discord/interactions/commands.ts';
import { builtInLanguages } from '../../../fakes/gateway/languages.ts';

describe('slash commands made from the list of the gateway', () => {
  it('begin with /ask, keep the order, and name an option after its argument', () => {
    const argument = { name: 'on or off', description: 'One of the modes', required: true };
    const made = toDiscordCommands(
      [
        { name: 'stop', description: 'End the running answer' },
        { name: 'think', description: 'Think aloud', argument },
      ],
      builtInLanguages,
    );
    expect(made.map(({ name }) => name)).toEqual([
      'ask',
      'stop',
      'think',
      'Ask about this',
      'Summarize from here',
    ]);
    expect(made[2]?.options).toEqual([
      { type: 3, name: 'on-or-off', description: 'One of the modes', required: true },
    ]);
  });

  it('stay within the limits of Discord, whatever the list contains', () => {
    const text = fc.string({ unit: 'binary', minLength: 1, maxLength: 140 });
    const listing = fc.record({
      name: fc.oneof(text, fc.stringMatching(/^[a-z]{1,40}$/)),
      description: text,
      argument: fc.option(fc.record({ name: text, description: text, required: fc.boolean() }), {
        nil: undefined,
      }),
    });
    fc.assert(
      fc.property(fc.array(listing, { maxLength: 120 }), (list) => {
        const made = toDiscordCommands(list, builtInLanguages);
        expect(made.filter(({ description }) => description !== '').length).toBeLessThanOrEqual(100);
        for (const command of made) expect(() => checkCommand({ ...command }, [0, 1])).not.toThrow();
        for (const { name, description, options } of made.filter(({ description }) => description !== '')) {
          expect(name).toMatch(/^[-_a-z0-9]{1,32}$/);
          expect(description.length).toBeLessThanOrEqual(100);
          for (const option of options) {
            expect(option.name).toMatch(/^[-_\p{Ll}\p{N}]{1,32}$/u);
            expect(option.description.length).toBeLessThanOrEqual(100);
          }
        }
      }),
    );
  });
});
