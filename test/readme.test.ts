/** The README as a front page, and the container against the settings and folders it is made of. */
import { existsSync, statSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { channels } from '../channels/index.ts';
import { environmentSchemaFor } from '../src/config.ts';
import { codeBlocks, readText, relativeLinks, ROOT } from './docs/pages.ts';

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
  it('is given only settings that exist, and keeps what must be kept', () => {
    const known = Object.keys(environmentSchema.shape);
    const compose = readText('docker-compose.yml');
    const gateway = compose.slice(compose.indexOf('  gateway:'), compose.indexOf('  postgres:\n'));
    const given = [...gateway.matchAll(/^ {6}([A-Z_]+):/gm)].map(([, name]) => name ?? '');
    expect(given.length).toBeGreaterThan(3);
    expect(given.filter((name) => !known.includes(name))).toEqual([]);
    expect(compose).toContain('gateway:/data');
    expect(compose).not.toContain('\t');
    const dockerfile = readText('Dockerfile');
    for (const line of [
      'FROM node:24-slim',
      'GATEWAY_HOME=/data',
      'VOLUME /data',
      'USER node',
      'HEALTHCHECK',
    ])
      expect(dockerfile).toContain(line);
    const copied = [...dockerfile.matchAll(/^COPY ([a-z]+) \.\//gm)].map(([, name]) => name ?? '');
    expect(copied).toEqual(['src', 'channels', 'drizzle']);
    expect(copied.filter((name) => !existsSync(path.join(ROOT, name)))).toEqual([]);
  });
});
