/** The command `/rules`: what runs here without a question, and an end to it. */
import type { ApprovalRule, Approvals } from '../../contracts/approvals.ts';
import type { Command } from '../../contracts/command.ts';
import { GatewayError } from '../../contracts/errors.ts';
import { oneLine } from '../../lib/text.ts';

/** Characters of a call in the list. */
const MAX_CALL_CHARS = 200;

/** Makes the command. In a group, only an owner uses it: others may read there what was allowed. */
export function rulesCommand(approvals: Pick<Approvals, 'rules' | 'removeRule'>): Command {
  return {
    name: 'rules',
    description: 'Show what runs here without a question, or end it',
    scope: 'approve',
    argument: {
      name: 'remove',
      description: '"remove" and a number of the list, or "remove all"',
      required: false,
    },
    async run({ session, args, owner, place = 'group', tokenId }) {
      if (!owner && place === 'group' && tokenId === undefined) {
        throw new GatewayError('forbidden', 'In a group, only an owner of this bot sees and ends its rules.');
      }
      const rules = await approvals.rules({ session });
      if (args === '') return listed(rules);
      const which = /^remove\s+(?:all|#?(\d{1,4}))$/i.exec(args);
      if (which === null)
        return 'Write /rules, /rules remove and a number of the list, or /rules remove all.';
      const gone = which[1] === undefined ? rules : rules.slice(Number(which[1]) - 1, Number(which[1]));
      for (const { id } of gone) await approvals.removeRule(id, { session });
      if (gone.length === 0) return 'There is no such rule here. /rules lists them.';
      return gone.length === 1
        ? 'Removed: I ask again from now on.'
        : `Removed ${gone.length} rules: I ask again from now on.`;
    },
  };
}

function listed(rules: readonly ApprovalRule[]): string {
  if (rules.length === 0) return 'Nothing that needs an approval runs here without a question.';
  const lines = rules.map(({ tool, args, createdName, createdBy, createdAt, uses }, index) => {
    const call = oneLine(JSON.stringify(args) ?? '')
      .slice(0, MAX_CALL_CHARS)
      .toWellFormed();
    const who = oneLine(createdName ?? createdBy);
    return `${index + 1}. ${quoted(`${tool} ${call}`)}, since ${createdAt.toISOString().slice(0, 10)} by ${quoted(who)}, used ${uses} ${uses === 1 ? 'time' : 'times'}`;
  });
  return `These calls run here without a question (/rules remove and a number ends one):\n\n${lines.join('\n')}`;
}

/** Between backticks: nothing in it is markup. */
function quoted(text: string): string {
  return `\`${text.replaceAll('`', "'")}\``;
}
