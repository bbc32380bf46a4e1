/** The sweep that removes the folders of deleted sessions. */
import { expect, it } from 'vitest';
import { sweepFolders } from '../../src/ops/retention.ts';

it('removes all folders recorded in the store, page by page, and reports whether one is left', async () => {
  const names = Array.from({ length: 1_234 }, (_, n) => String(n).padStart(5, '0'));
  const sweep = async (stuck: string): Promise<[boolean, string[]]> => {
    const tried: string[] = [];
    const folders = {
      removedFolders: async ({ after, limit }: { after: string; limit: number }) =>
        names.filter((name) => name > after).slice(0, limit),
    };
    const remove = async (name: string) => {
      tried.push(name);
      return name !== stuck;
    };
    return [await sweepFolders(folders, remove, 1, new AbortController().signal), tried];
  };
  expect(await sweep('none')).toEqual([true, names]);
  expect(await sweep('00007')).toEqual([false, names]);
});
