/** The catalog of log events in docs/monitoring.md matches the code. */
import { describe, expect, it } from 'vitest';
import { readSources } from '../architecture/imports.ts';
import { readText } from './pages.ts';

/** Events of these modules are transitions. Failures of side work have their own names. */
const TRANSITION = /^(message|turn|model_call|delivery|approval)_[a-z_]+$/;

/** Events with their levels, as the code logs them. */
function logged(): string[] {
  const found = readSources(['src', 'channels']).flatMap(({ text }) =>
    [...text.matchAll(/\blog\.(debug|info|warn|error)\(([^;]{0,300}?)\);/g)].flatMap(([, level, args = '']) =>
      [...args.matchAll(/'([a-z_]+)'/g)]
        .map(([, event = '']) => event)
        .filter((event) => TRANSITION.test(event))
        .map((event) => `${event} ${level}`),
    ),
  );
  return [...new Set(found)].toSorted();
}

/** The message of a log call, after its fields or alone; or a lone name. */
const SAID =
  /\blog\.(?:debug|info|warn|error|fatal)\(\s*(?:(?:\{[^;]*?\},\s*)?(?<quote>['`])(?<text>(?:(?!\k<quote>).)*)\k<quote>|(?<alone>\w+)\))/g;

describe('the catalog of log events', () => {
  it('has no sentences: details go into fields', () => {
    const said = readSources(['src', 'channels']).flatMap(({ path, text }) =>
      [...text.matchAll(SAID)].map(({ groups }) => ({
        path,
        said: groups?.['text'] ?? `(${groups?.['alone']})`,
      })),
    );
    expect(said.length).toBeGreaterThan(100);
    const wrong = said.filter((call) => !/^[a-z][a-z0-9_]*$/.test(call.said));
    expect(wrong).toEqual([]);
  });

  it('lists every transition with its level, and nothing else', () => {
    const [, table = ''] =
      /<!-- begin log events.*?-->([\s\S]*?)<!-- end log events/.exec(readText('docs/monitoring.md')) ?? [];
    const listed = [...table.matchAll(/^\| `([a-z_]+)` \| (\w+) \|/gm)].map(
      ([, event, level]) => `${event} ${level}`,
    );
    expect(listed.length).toBeGreaterThan(15);
    expect(listed.toSorted()).toEqual(logged());
  });
});
