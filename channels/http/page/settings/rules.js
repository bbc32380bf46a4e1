/** The screen about approval rules: the calls that run without a question. */
import { confirmDelete } from '../confirm.ts';
import { h } from '../dom.ts';
import { button, moment, row, rows, section } from './parts.js';
import { say, sayParts } from '../texts.ts';

/** @typedef {{ id: string, session: string, tool: string, args: unknown, createdBy: string, createdName: string | null, createdAt: string, uses: number, usedAt: string | null }} Rule */

/** @type {import('./parts.js').Screen} */
export async function rulesScreen(host) {
  /** @type {{ rules: Rule[] }} */
  const { rules } = await host.ask('GET', '/v1/approval-rules');
  const ruleRows = rules.map(
    ({ id, session, tool, args, createdBy, createdName, createdAt, uses, usedAt }) => {
      const call = `${tool} ${JSON.stringify(args)}`;
      const remove = async () => {
        if (!(await confirmDelete(say('page.set.ask_again_of', { call }), say('page.set.ask_again')))) return;
        await host.act(() => host.ask('DELETE', `/v1/approval-rules/${encodeURIComponent(id)}`));
      };
      const usage =
        uses === 0
          ? say('page.set.unused')
          : h('span', {}, ...sayParts('page.set.used_times', { count: uses, moment: moment(usedAt) }));
      const about = sayParts('page.set.rule_about', {
        session,
        who: createdName ?? createdBy,
        moment: moment(createdAt),
        used: usage,
      });
      return row(
        call,
        about,
        button(say('page.set.remove'), call, () => void remove(), 'danger'),
      );
    },
  );
  return [section(say('page.set.rules_title'), rows(ruleRows, say('page.set.rules_none')))];
}
