/** The screen about the log: its newest lines. */
import { h } from '../dom.js';
import { choice, form, labelled, moment, section, table } from './parts.js';
import { say } from '../texts.js';

/** @typedef {{ time: number, level: string, message: string, fields: string }} Line */

/** The lowest level that is shown; kept while the page is open. */
let level = 'info';

/** @type {import('./parts.js').Screen} */
export async function logScreen(host) {
  /** @type {{ lines: Line[] }} */
  const { lines } = await host.ask('GET', `/v1/log?level=${level}`);
  const levels = choice(
    {
      debug: say('page.set.level_debug'),
      info: say('page.set.level_info'),
      warn: say('page.set.level_warn'),
      error: say('page.set.level_error'),
    },
    level,
  );
  const show = () => {
    level = levels.value;
    void host.act(async () => undefined);
  };
  const cells = lines
    .toReversed()
    .map((line) => [moment(line.time), line.level, line.message, h('code', {}, line.fields)]);
  const found =
    lines.length === 0
      ? h('p', { class: 'quiet' }, say('page.set.log_none'))
      : table(
          say('page.set.log_lines'),
          [say('page.set.time'), say('page.set.level'), say('page.set.event'), say('page.set.fields')],
          cells,
        );
  return [
    section(
      say('page.set.log'),
      form(say('page.set.show'), show, labelled(say('page.set.at_least'), levels)),
      found,
    ),
  ];
}
