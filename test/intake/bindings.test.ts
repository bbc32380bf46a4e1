/** The profiles that bindings name. */
import { expect, it } from 'vitest';
import { checkBoundProfiles } from '../../src/intake/bindings.ts';

it('a binding to a profile that does not exist is named, with those that do', () => {
  const bindings = [
    { channel: 'telegram', profile: 'default' },
    { channel: 'telegram', chat: '-5', profile: 'kids' },
  ];
  const profiles = [{ id: 'default' }, { id: 'chat' }];
  expect(() => checkBoundProfiles(bindings, profiles)).toThrow(
    'config.json: bindings.1.profile: there is no such profile: expected one of default, chat.',
  );
  expect(() => checkBoundProfiles(bindings.slice(0, 1), profiles)).not.toThrow();
});
