/** The order of test files: a long one that starts last leaves the other workers with nothing to do. */
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Files that take longest, the longest first; names below `test/`. */
const LONGEST = [
  'flows/crash.test.ts',
  'docs/extending.test.ts',
  'process.test.ts',
  'flows/plans/plan-killed.test.ts',
  'cli.test.ts',
  'flows/approvals-crash.test.ts',
  'browser/approvals-crash.test.ts',
  'flows/channels/telegram-access.test.ts',
  'flows/openai.test.ts',
  'flows/schedules.test.ts',
  'agent/executor/plan-crash.test.ts',
  'store/tables/memories.test.ts',
  'tools/files/crossings.test.ts',
  'tools/files/workspace.test.ts',
];

export class LongestFirst extends BaseSequencer {
  /** Files that run alone come first of all: among the others they would end the shared worker. */
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId, project }: TestSpecification): number => {
      const at = LONGEST.findIndex((name) => moduleId.endsWith(`/test/${name}`));
      if (project.name === 'alone') return -1;
      return at < 0 ? LONGEST.length : at;
    };
    return (await super.sort(files)).toSorted((a, b) => rank(a) - rank(b));
  }
}
