/** The screen about the log: its newest lines. */
import { h } from '../dom.js';
import { choice, form, labelled, moment, section, table } from './parts.js';

/** @typedef {{ time: number, level: string, message: string, fields: string }} Line */

/** The least level that is shown; kept while the page is open. */
let level = 'info';

/** @type {import('./parts.js').Screen} */
export async function logScreen(host) {
  /** @type {{ lines: Line[] }} */
  const { lines } = await host.ask('GET', `/v1/log?level=${level}`);
  const levels = choice(
    { debug: 'everything', info: 'information', warn: 'warnings', error: 'errors' },
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
      ? h('p', { class: 'quiet' }, 'The log has no such lines.')
      : table('Lines of the log, the newest first', ['Time', 'Level', 'Event', 'Fields'], cells);
  return [section('Log', form('Show', show, labelled('At least', levels)), found)];
}
