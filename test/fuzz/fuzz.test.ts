/** What strangers send is read, or refused in words: whatever the bytes are, no parser fails in another way or hangs. */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { campaignSize, noteProgress } from '../campaign.ts';
import { Mutator } from './mutate.ts';
import { targets } from './targets.ts';

const CORPUS = path.join(import.meta.dirname, 'corpus');
const SEED = Number(process.env['FUZZ_SEED'] ?? 1);
/** Minutes for each parser instead of a number of inputs. */
const MINUTES = Number(process.env['FUZZ_MINUTES'] ?? 0);
const INPUTS = campaignSize(2_000);
/** Longest time for one input: only a parser that hangs takes as long on any machine, in milliseconds. */
const HANGS_MS = 30_000;

describe('a parser of what strangers send', () => {
  it.each(targets)(
    'reads or refuses any bytes: $name',
    { timeout: (MINUTES + 10) * 60_000 },
    async ({ name, open }) => {
      const folder = path.join(CORPUS, name);
      const corpus = readdirSync(folder).map((file) => readFileSync(path.join(folder, file)));
      expect(corpus.length).toBeGreaterThan(0);
      const mutator = new Mutator(corpus, SEED);
      const { read, close } = await open();
      const outcomes = new Set<string>();
      const until = performance.now() + MINUTES * 60_000;
      let count = 0;
      try {
        while (MINUTES > 0 ? performance.now() < until : count < INPUTS) {
          const input = mutator.next(count);
          const outcome = await limited(read(input), input);
          if (!outcomes.has(outcome)) mutator.keep(input);
          outcomes.add(outcome);
          count += 1;
          noteProgress(name, count, INPUTS);
        }
      } finally {
        await close?.();
      }
      if (MINUTES > 0) process.stderr.write(`${name}: ${count} inputs, ${outcomes.size} outcomes\n`);
      // A parser that refuses everything alike has not been reached.
      expect(outcomes.size).toBeGreaterThan(2);
    },
  );
});

/** The outcome, or an error with the input that led to it. */
async function limited(work: Promise<string>, input: Buffer): Promise<string> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error('it hangs')), HANGS_MS);
  });
  try {
    return await Promise.race([work, late]);
  } catch (error) {
    throw new Error(`base64 ${input.toString('base64').slice(0, 20_000)}`, { cause: error });
  } finally {
    clearTimeout(timer);
  }
}
