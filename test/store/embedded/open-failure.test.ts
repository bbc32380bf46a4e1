/** What is said when the embedded database did not open, by what its programs or the system said. */
import { expect, it } from 'vitest';
import { openFailure } from '../../../src/store/embedded/programs.ts';

const ACCOUNT = { uid: 4_711, gid: 4_711 };

it.each([
  [
    'could not write to file "pg_wal/xlogtemp.9": No space left on device',
    /its disk is full\. Free some space/,
  ],
  [
    'could not bind Unix address "/h/pg/.s.PGSQL.5432": Operation not permitted; could not create any Unix-domain sockets',
    /its file system has no sockets\. Set GATEWAY_HOME to a folder on a local disk, or DATABASE_URL/,
  ],
  [
    'could not access directory "/h/pg": Permission denied',
    /user 4711, which runs it instead, may not enter \/h .*Run Parley as another user, install setpriv/,
  ],
  [
    'initdb: error: could not look up effective user ID 1234: user does not exist',
    /takes a user with a name.*none in \/etc\/passwd.*DATABASE_URL/,
  ],
  ['lock file "postmaster.pid" already exists', /in use by another Postgres .*Stop that one/],
  ['could not locate a valid checkpoint record at 0/1', /is damaged \(could not locate.*parley restore FILE/],
  ['could not open file "global/pg_filenode.map": No such file or directory', /is damaged/],
  [
    'could not map anonymous shared memory: Cannot allocate memory',
    /did not open: could not map .*Set DATABASE_URL to use a Postgres server instead/,
  ],
  ['spawn /m/postgres ENOENT', /does not run on this machine/],
])('%s', (words, sentence) => {
  expect(openFailure('/h/pg', words, { account: ACCOUNT }).message).toMatch(sentence);
});

it('is never damage while the database is being made', () => {
  const words = 'initdb: error: could not open file "/h/pg.new-1/global": Input/output error';
  expect(openFailure('/h/pg', words, { account: undefined, isNew: true }).message).not.toContain('damaged');
  expect(openFailure('/h/pg', words, { account: undefined }).message).toContain('damaged');
});

it('is the machine where libraries are missing, or the account that cannot read them', () => {
  const words = 'error while loading shared libraries: libm.so.6: cannot open shared object file';
  const { code, message } = openFailure('/h/pg', words, { account: undefined });
  expect([code, message]).toEqual([
    'embedded_unavailable',
    expect.stringMatching(/does not run on this machine .*Set DATABASE_URL/),
  ]);
  expect(openFailure('/h/pg', words, { account: ACCOUNT }).message).toContain('user 4711');
});

it('is retried only while another Postgres uses the folder', () => {
  const retryable = (words: string) => openFailure('/h/pg', words, { account: undefined }).retryable;
  expect(retryable('pre-existing shared memory block (key 1, ID 2) is still in use')).toBe(true);
  expect(retryable('could not locate a valid checkpoint record')).toBe(false);
});
