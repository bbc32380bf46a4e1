/** The order of test files: a long one that starts last leaves the other workers with nothing to do. */
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

const FOLDER = fileURLToPath(new URL('..', import.meta.url));

/** Paths below `test/` from the repository root. Throws when one does not exist: an outdated list would have no effect. */
export function existingTests(names: readonly string[]): string[] {
  for (const name of names)
    if (!existsSync(FOLDER + name))
      throw new Error(
        `test/${name} does not exist: name its new place in test/runs/order.ts or test/vitest.config.ts.`,
      );
  return names.map((name) => `test/${name}`);
}

/** The slowest files, slowest first, according to the list at the end of `.ci/run`. */
const LONGEST = existingTests([
  'flows/failures/poison.test.ts',
  'docs/extending.test.ts',
  'docs/recipes.test.ts',
  'campaigns/campaigns.test.ts',
  'patterns/patterns.test.ts',
  'flows/channels/slack/killed.test.ts',
  'flows/surfaces/link.test.ts',
  'agent/tools/injection.test.ts',
  'flows/languages/marked.test.ts',
  'corpora/growing-answers.test.ts',
  'process.test.ts',
  'flows/channels/matrix/killed.test.ts',
  'flows/operator/webhooks-killed.test.ts',
  'flows/surfaces/killed.test.ts',
  'store/embedded/home.test.ts',
  'flows/media/speech-killed.test.ts',
  'channels/http/page/screens/axe-work.test.ts',
  'cli.test.ts',
  'channels/http/page/chat/long-chat.test.ts',
  'channels/http/page/plan/plan-actions.test.ts',
  'corpora/published.test.ts',
  'flows/mcp/killed.test.ts',
  'flows/schedules.test.ts',
  'flows/approvals/approved-is-run.test.ts',
  'channels/http/page/screens/axe.test.ts',
  'flows/telegram/drafts.test.ts',
  'channels/http/page/plan/plan-presses.test.ts',
  'channels/http/page/chats/chats.test.ts',
  'commands/dead-letters.test.ts',
  'flows/plans/plan-first.test.ts',
  'flows/media/files-killed.test.ts',
  'flows/operator/logs.test.ts',
  'providers/failures/through-gateway.test.ts',
  'flows/newcomer/three-steps.test.ts',
  'tools/web/web-fetch.test.ts',
  'flows/operator/backup.test.ts',
  'install/build.test.ts',
  'flows/plans/plan-first-killed.test.ts',
  'types.test.ts',
  'delivery/rate/traffic.test.ts',
]);

/**
 * Long files, which only the nightly run (`npm run test:nightly`) and a run that names files include: those that prove
 * something by repetition (campaigns, processes killed at many moments, whole corpora, simulated hours of traffic), and
 * those that go through everything there is (each command of the documentation, each screen, each text, each failure of
 * a model server, the image). By day, each kind of process, of kill and of screen has a file that is not among them.
 */
const NIGHTLY = existingTests([
  'agent/subagents/subagent-crash.test.ts',
  'agent/tools/injection.test.ts',
  'campaigns/campaigns.test.ts',
  'channels/http/page/chat/approvals/approvals-crash.test.ts',
  'channels/http/page/chat/long-chat.test.ts',
  'channels/http/page/screens/axe-dialogs.test.ts',
  'channels/http/page/screens/axe-work.test.ts',
  'channels/http/page/screens/axe.test.ts',
  'channels/http/page/screens/moments.test.ts',
  'channels/http/page/screens/touch-targets.test.ts',
  'commands/dead-letters.test.ts',
  'corpora/growing-answers.test.ts',
  'corpora/long-details.test.ts',
  'corpora/published.test.ts',
  'corpora/random-documents.test.ts',
  'delivery/rate/traffic.test.ts',
  'delivery/text/table-start.test.ts',
  'docs/extending.test.ts',
  'docs/recipes.test.ts',
  'flows/approvals/approvals-crash.test.ts',
  'flows/channels/matrix/killed.test.ts',
  'flows/failures/compiled-code.test.ts',
  'flows/failures/full-disk.test.ts',
  'flows/failures/poison.test.ts',
  'flows/languages/marked.test.ts',
  'flows/media/files-killed.test.ts',
  'flows/media/speech-killed.test.ts',
  'flows/operator/backup.test.ts',
  'flows/operator/settings/axe.test.ts',
  'flows/operator/start.test.ts',
  'flows/operator/webhooks-killed.test.ts',
  'flows/plans/plan-first-killed.test.ts',
  'flows/plans/plan-killed.test.ts',
  'flows/screens.test.ts',
  'flows/sessions/retry-crash.test.ts',
  'flows/surfaces/killed.test.ts',
  'install/image.test.ts',
  'install/package.test.ts',
  'patterns/patterns.test.ts',
  'process.test.ts',
  'providers/failures/through-gateway.test.ts',
  'store/embedded/home.test.ts',
]);

/** The files that this run leaves out. */
export function leftOut(): string[] {
  return process.env['NIGHTLY'] || namesFiles() ? [] : NIGHTLY;
}

/** True for a run of certain files or folders. */
export function namesFiles(): boolean {
  return process.argv.some((argument) => /^test\/(?!vitest\.config)/.test(argument));
}

/** Whole gateways, which mostly wait for platforms, models and browsers. */
const isFlow = /\/test\/flows\//;

export class LongestFirst extends BaseSequencer {
  /**
   * Files that run alone come first: among the others they would end the shared worker. Long files and flows, which wait
   * much of their time, are spread among those that compute: if they ran next to each other, the processors would idle.
   */
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification): number => {
      const at = LONGEST.findIndex((name) => moduleId.endsWith(`/${name}`));
      return at < 0 ? LONGEST.length : at;
    };
    const sorted = (await super.sort(files)).toSorted((a, b) => rank(a) - rank(b));
    const {
      alone = [],
      waiting = [],
      computing = [],
    } = Object.groupBy(sorted, (file) => {
      if (file.project.name === 'alone') return 'alone';
      return rank(file) < LONGEST.length || isFlow.test(file.moduleId) ? 'waiting' : 'computing';
    });
    return [...alone, ...spread(waiting, computing)];
  }
}

/** Both lists in their order, each evenly over the whole. */
function spread<T>(one: readonly T[], other: readonly T[]): T[] {
  const places = [one, other].flatMap((list) =>
    list.map((item, at) => ({ item, at: (at + 0.5) / list.length })),
  );
  return places.toSorted((a, b) => a.at - b.at).map(({ item }) => item);
}
