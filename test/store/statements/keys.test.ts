/** Keys of a device in the store: changed as a whole, and only by who knows the newest version. */
import { expect, it } from 'vitest';
import { describeStore } from '../../database.ts';

const DEVICE = 'matrix:@parley:example.org PHONE';
const bytes = (text: string): Uint8Array => new Uint8Array(Buffer.from(text));

describeStore('device keys', (databases) => {
  it('are stored together, replaced and removed, and belong to one version', async () => {
    const { keys } = await databases.open();
    expect(await keys.version(DEVICE)).toBe(0);
    expect(await keys.records(DEVICE)).toEqual({ version: 0, records: new Map() });
    const first = new Map([
      ['a', bytes('1')],
      ['["b","\u001D"]', bytes('\0\u00FF')],
    ]);
    expect(await keys.changeKeys(DEVICE, 0, first)).toBe(true);
    expect(await keys.changeKeys(`${DEVICE}2`, 0, new Map([['a', bytes('other')]]))).toBe(true);
    const second = new Map([
      ['a', undefined],
      ['c', bytes('3')],
    ]);
    expect(await keys.changeKeys(DEVICE, 1, second)).toBe(true);
    const { version, records } = await keys.records(DEVICE);
    expect(version).toBe(2);
    expect([...records].map(([key, value]) => [key, String(value)])).toEqual([
      ['["b","\u001D"]', '\0\u00FF'],
      ['c', '3'],
    ]);
  });

  it('stay unchanged by a writer that has not seen the newest version, also of two at once', async () => {
    const { keys } = await databases.open();
    const change = (text: string) => new Map([['a', bytes(text)]]);
    expect(await keys.changeKeys(DEVICE, 3, change('never'))).toBe(false);
    const raced = await Promise.all(['one', 'two'].map((text) => keys.changeKeys(DEVICE, 0, change(text))));
    expect(raced.filter(Boolean)).toHaveLength(1);
    expect(await keys.changeKeys(DEVICE, 0, change('late'))).toBe(false);
    const { version, records } = await keys.records(DEVICE);
    expect([version, String(records.get('a'))]).toEqual([1, raced[0] === true ? 'one' : 'two']);
  });
});
