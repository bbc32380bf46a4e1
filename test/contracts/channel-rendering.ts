/** The part of the channel contract about rendering: pure, accepted by the platform, and counted as it counts. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseMarkdown } from '../../src/lib/markdown/markdown.ts';
import type { ChannelHarness } from './channel-harness.ts';
import { markdownish } from './hostile-texts.ts';

/** Runs the part over the harness of each test. */
export function renderingContract(harness: () => ChannelHarness): void {
  describe('rendering', () => {
    it('is pure, accepted by the platform, and counts the way the platform does', () => {
      fc.assert(
        fc.property(markdownish, (text) => {
          const doc = parseMarkdown(text);
          const before = JSON.stringify(doc);
          const rendered = harness().channel.render(doc);
          expect(harness().channel.render(doc)).toEqual(rendered);
          expect(JSON.stringify(doc)).toBe(before);
          expect(harness().reads(rendered.text).length).toBe(rendered.length);
        }),
        { numRuns: 300 },
      );
    });
  });
}
