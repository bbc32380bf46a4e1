/** The screen about approval rules: the calls that run without a question. */
import { confirmDelete } from '../confirm.js';
import { button, moment, row, rows, section } from './parts.js';

/** @typedef {{ id: string, session: string, tool: string, args: unknown, createdBy: string, createdName: string | null, createdAt: string, uses: number, usedAt: string | null }} Rule */

/** @type {import('./parts.js').Screen} */
export async function rulesScreen(host) {
  /** @type {{ rules: Rule[] }} */
  const { rules } = await host.ask('GET', '/v1/approval-rules');
  const shown = rules.map(({ id, session, tool, args, createdBy, createdName, createdAt, uses, usedAt }) => {
    const call = `${tool} ${JSON.stringify(args)}`;
    const remove = async () => {
      if (!(await confirmDelete(`Ask again before ${call}?`, 'Ask again'))) return;
      await host.act(() => host.ask('DELETE', `/v1/approval-rules/${encodeURIComponent(id)}`));
    };
    const used = uses === 0 ? 'not used yet' : `used ${uses} times, last ${moment(usedAt)}`;
    const about = `in ${session}, by ${createdName ?? createdBy} on ${moment(createdAt)}, ${used}`;
    return row(
      call,
      about,
      button('Remove', call, () => void remove(), 'danger'),
    );
  });
  return [section('Calls that run without a question', rows(shown, 'Every dangerous call is asked about.'))];
}
