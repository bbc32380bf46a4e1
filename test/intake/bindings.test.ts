/** The profiles that bindings name. */
import { expect, it } from 'vitest';
import { unknownBoundProfiles } from '../../src/intake/bindings.ts';

it('a binding to a profile that does not exist is named, with those that do', () => {
  const bindings = [
    { channel: 'telegram', profile: 'default' },
    { channel: 'telegram', chat: '-5', profile: 'kids' },
  ];
  expect(unknownBoundProfiles(bindings, ['default', 'chat'])).toEqual([
    'bindings.1.profile: there is no such profile: expected one of default, chat',
  ]);
});
