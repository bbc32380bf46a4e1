/** The order of test files: a long one that starts last leaves the other workers with nothing to do. */
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

const FOLDER = fileURLToPath(new URL('..', import.meta.url));

/** Paths below `test/` from the top of the repository. Throws when one does not exist: a list nobody keeps does nothing. */
export function existingTests(names: readonly string[]): string[] {
  for (const name of names)
    if (!existsSync(FOLDER + name))
      throw new Error(
        `test/${name} does not exist: name its new place in test/runs/order.ts or test/vitest.config.ts.`,
      );
  return names.map((name) => `test/${name}`);
}

/** Files that take longest, the longest first, by the list at the end of `.ci/run`. */
const LONGEST = existingTests([
  'flows/languages/marked.test.ts',
  'flows/channels/matrix/written-commands.test.ts',
  'campaigns/campaigns.test.ts',
  'flows/plans/plan-killed.test.ts',
  'docs/extending.test.ts',
  'process.test.ts',
  'cli.test.ts',
  'browser/approvals-crash.test.ts',
  'flows/failures/poison.test.ts',
  'flows/operator/start.test.ts',
  'types.test.ts',
  'channels/http/markdown/parity.test.ts',
  'patterns/patterns.test.ts',
  'agent/tools/injection.test.ts',
  'flows/approvals/approved-is-run.test.ts',
  'browser/plans/plan-actions.test.ts',
  'store/statements/memories.test.ts',
  'bus/model.test.ts',
  'store/embedded/home.test.ts',
  'tools/files/workspace.test.ts',
  'agent/executor/plan-crash.test.ts',
  'flows/schedules.test.ts',
  'flows/approvals/approvals.test.ts',
  'flows/channels/telegram-access.test.ts',
  'flows/plans/plan-buttons.test.ts',
  'flows/plans/plans.test.ts',
  'browser/plans/plan-panel.test.ts',
  'flows/demo.test.ts',
  'flows/channels/telegram.test.ts',
  'flows/screens.test.ts',
  'channels/discord/gateway/gateway.test.ts',
  'flows/approvals/approvals-crash.test.ts',
  'flows/plans/plan-actions.test.ts',
  'delivery/text/cut.test.ts',
  'tools/files/crossings.test.ts',
]);

/**
 * Files whose proof is repetition: campaigns, processes killed at many moments, whole corpora, a copy of the project that is
 * checked. The gate runs all of them (`.ci/run`, which sets `CI`); without it only a run that names files does.
 */
const REPEATING = existingTests([
  'agent/tools/injection.test.ts',
  'browser/approvals-crash.test.ts',
  'campaigns/campaigns.test.ts',
  'corpora/growing-answers.test.ts',
  'corpora/published.test.ts',
  'docs/extending.test.ts',
  'flows/channels/matrix/killed.test.ts',
  'flows/channels/slack/killed.test.ts',
  'flows/mcp/killed.test.ts',
  'flows/media/files-killed.test.ts',
  'flows/media/speech-killed.test.ts',
  'flows/operator/webhooks-killed.test.ts',
  'flows/plans/plan-first-killed.test.ts',
  'flows/plans/plan-killed.test.ts',
  'flows/failures/poison.test.ts',
  'flows/sessions/retry-crash.test.ts',
  'flows/surfaces/killed.test.ts',
  'patterns/patterns.test.ts',
]);

/** The files that this run leaves out. */
export function leftOut(): string[] {
  const namesFiles = process.argv.some((argument) => /^test\/(?!vitest\.config)/.test(argument));
  return process.env['CI'] === undefined && !namesFiles ? REPEATING : [];
}

export class LongestFirst extends BaseSequencer {
  /** Files that run alone come first of all: among the others they would end the shared worker. */
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId, project }: TestSpecification): number => {
      const at = LONGEST.findIndex((name) => moduleId.endsWith(`/${name}`));
      if (project.name === 'alone') return -1;
      return at < 0 ? LONGEST.length : at;
    };
    return (await super.sort(files)).toSorted((a, b) => rank(a) - rank(b));
  }
}
