/** The last line of a run in which tests were skipped for want of something: "12 tests skipped: install bubblewrap". */
import type { TaskMeta } from 'vitest';
import type { Reporter, TestModule } from 'vitest/node';

export default class SkipSummary implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const line = skipLine(modules.flatMap((module) => [...module.children.allTests('skipped')]));
    if (line !== undefined) process.stdout.write(`\n${line}\n`);
  }
}

/** A test, or a group around it; the outermost group is in a module, which has no `meta` of ours. */
interface SkippedTask {
  meta(): TaskMeta;
  readonly parent?: SkippedTask | object;
}

/** How many of the tests were skipped for want of what, most first; undefined if none was. Never throws. */
export function skipLine(skipped: readonly SkippedTask[]): string | undefined {
  const counts = new Map<string, number>();
  for (const test of skipped) {
    const instruction = missingFor(test);
    if (instruction !== undefined) counts.set(instruction, (counts.get(instruction) ?? 0) + 1);
  }
  if (counts.size === 0) return undefined;
  const total = [...counts.values()].reduce((sum, count) => sum + count, 0);
  const reasons = [...counts]
    .toSorted(([, a], [, b]) => b - a)
    .map(([instruction, count]) => (counts.size === 1 ? instruction : `${instruction} (${count})`));
  return `${total} ${total === 1 ? 'test' : 'tests'} skipped: ${reasons.join(', ')}`;
}

/** The instruction of the test, or of the nearest group around it. */
function missingFor(task: SkippedTask): string | undefined {
  const { missing } = task.meta();
  if (missing !== undefined) return missing;
  return task.parent !== undefined && 'meta' in task.parent ? missingFor(task.parent) : undefined;
}
