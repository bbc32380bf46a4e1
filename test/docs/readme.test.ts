/** The README as a front page, and the container against the settings and folders it is made of. */
import { existsSync, statSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { channels } from '../../channels/index.ts';
import { environmentSchemaFor } from '../../src/config-schema.ts';
import { codeBlocks, readText, relativeLinks, ROOT } from './pages.ts';

const environmentSchema = environmentSchemaFor(channels);

const MAX_README_LINES = 130;
const MAX_IMAGE_BYTES = 300_000;

describe('the README', () => {
  const readme = readText('README.md');

  it(`has at most ${MAX_README_LINES} lines`, () => {
    expect(readme.split('\n').length - 1).toBeLessThanOrEqual(MAX_README_LINES);
  });

  it('shows images that are PNG files of at most 300 kB', () => {
    const images = relativeLinks('README.md').filter((link) => link.startsWith('docs/images/'));
    expect(images.length).toBeGreaterThan(1);
    for (const image of images) {
      expect(image).toMatch(/\.png$/);
      expect(statSync(path.join(ROOT, image)).size, `${image} is small`).toBeLessThanOrEqual(MAX_IMAGE_BYTES);
    }
  });

  it('starts with the two commands', () => {
    const [first] = codeBlocks('README.md').filter(({ language }) => language === 'sh');
    expect(first?.text).toContain('\nnpm ci && npm start\n');
  });
});

describe('the container', () => {
  it('receives only settings that exist, and persists what must persist', () => {
    const known = Object.keys(environmentSchema.shape);
    const compose = readText('docker-compose.yml');
    const gateway = compose.slice(compose.indexOf('  gateway:'), compose.indexOf('  postgres:\n'));
    const given = [...gateway.matchAll(/^ {6}([A-Z_]+):/gm)].map(([, name]) => name ?? '');
    expect(given).toEqual(expect.arrayContaining(['DATABASE_URL', 'DATABASE_PASSWORD', 'OLLAMA_HOST']));
    expect(given.filter((name) => !known.includes(name))).toEqual([]);
    expect(compose).toContain('gateway:/data');
    expect(compose).not.toContain('\t');
    const dockerfile = readText('Dockerfile');
    for (const line of [
      'FROM ${NODE_IMAGE}\n',
      'GATEWAY_HOME=/data',
      'VOLUME /data',
      'USER node',
      'HEALTHCHECK',
      ' bubblewrap ',
      'PARLEY_COMMAND="docker compose exec gateway parley"',
      'ln -s /app/src/launch.js /usr/local/bin/parley',
    ])
      expect(dockerfile).toContain(line);
    // The program in sharp that reads images is an optional package for each platform.
    expect(dockerfile).not.toContain('--omit=optional');
    const copied = [...dockerfile.matchAll(/^COPY ([a-z]+) \.\//gm)].map(([, name]) => name ?? '');
    expect(copied).toEqual(['src', 'channels', 'plugins', 'drizzle']);
    expect(copied.filter((name) => !existsSync(path.join(ROOT, name)))).toEqual([]);
  });

  it('pins every image by version and digest, and lets it be replaced', () => {
    const compose = readText('docker-compose.yml');
    const images = [...compose.matchAll(/(?:image|NODE_IMAGE): (.*)$/gm)].map(([, image]) => image ?? '');
    expect(images).toHaveLength(3);
    for (const image of images)
      expect(image).toMatch(/^\$\{[A-Z]+_IMAGE:-[a-z/]+:\d+(\.\d+)+(-[a-z0-9]+)*@sha256:[0-9a-f]{64}\}$/);
    const from = [...readText('Dockerfile').matchAll(/^FROM (.*)$/gm)].map(([, image]) => image);
    expect(from).toEqual(['${NODE_IMAGE} AS build', '${NODE_IMAGE}']);
    const node = /^ARG NODE_IMAGE=(.*)$/m.exec(readText('Dockerfile'))?.[1];
    expect(images[0]).toBe(`\${NODE_IMAGE:-${node}}`);
  });

  it('has no default password, no rights it does not need, and keeps its secrets out of images and the repository', () => {
    const compose = readText('docker-compose.yml');
    const uses = [...compose.matchAll(/\$\{POSTGRES_PASSWORD([^}]*)\}/g)].map(
      ([, otherwise]) => otherwise ?? '',
    );
    expect(uses).toHaveLength(2);
    for (const otherwise of uses) expect(otherwise).toMatch(/^:\?/);
    const services = compose
      .slice(compose.indexOf('services:'), compose.indexOf('\nvolumes:'))
      .split(/\n {2}(?=[a-z]+:\n)/);
    const hardened = services.slice(1);
    expect(hardened).toHaveLength(3);
    for (const service of hardened) {
      expect(service).toContain('\n    cap_drop: [ALL]\n');
      expect(service).toContain('\n    security_opt: ["no-new-privileges:true"]\n');
    }
    expect(hardened.filter((service) => service.includes('\n    read_only: true\n'))).toHaveLength(2);
    for (const service of hardened) {
      expect(service).toContain('\n    init: true\n');
      expect(service).toMatch(/\n {4}logging: [&*]logging\n/);
    }
    expect(compose).toContain('options: { max-size: 10m, max-file: "5" }');
    // The models of Ollama need whatever the machine has.
    expect(
      hardened.filter((service) => /\n {4}mem_limit: \$\{[A-Z]+_MEMORY:-\dg\}\n/.test(service)),
    ).toHaveLength(2);
    for (const file of ['.gitignore', '.dockerignore']) expect(readText(file).split('\n')).toContain('.env');
  });
});
