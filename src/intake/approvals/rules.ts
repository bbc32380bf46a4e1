/** The command `/rules`: the standing approvals of a session, and their end. */
import type { ApprovalRule, Approvals } from '../../protocol/agent/approvals.ts';
import type { Command } from '../../protocol/command.ts';
import { type Say, textRef } from '../../protocol/texts/say.ts';
import { GatewayError } from '../../protocol/errors.ts';
import { oneLine } from '../../lib/text.ts';

/** Characters of a call in the list. */
const MAX_CALL_CHARS = 200;

/** Makes the command. In a group, only owners may use it: others could read there what was allowed. */
export function rulesCommand(approvals: Approvals): Command {
  return {
    name: 'rules',
    description: 'about.rules',
    scope: 'approve',
    argument: { name: 'remove', label: 'word.remove', description: 'argument.rules', required: false },
    async run({ session, args, owner, place = 'group', tokenId, say }) {
      if (!owner && place === 'group' && tokenId === undefined) {
        throw new GatewayError('forbidden', textRef('rules.owners_only'));
      }
      const rules = await approvals.rules({ session });
      if (args === '') return listed(rules, say);
      const which = /^remove\s+(?:all|#?(\d{1,4}))$/i.exec(args);
      if (which === null) return say('rules.usage');
      const removals = which[1] === undefined ? rules : rules.slice(Number(which[1]) - 1, Number(which[1]));
      for (const { id } of removals) await approvals.removeRule(id, { session });
      if (removals.length === 0) return say('rules.unknown');
      return say('rules.removed', { count: removals.length });
    },
  };
}

function listed(rules: readonly ApprovalRule[], say: Say): string {
  if (rules.length === 0) return say('rules.none');
  const lines = rules.map(({ tool, args, createdName, createdBy, createdAt, uses }, index) => {
    const call = oneLine(JSON.stringify(args) ?? '')
      .slice(0, MAX_CALL_CHARS)
      .toWellFormed();
    const who = oneLine(createdName ?? createdBy);
    return say('rules.line', {
      number: index + 1,
      call: quoted(`${tool} ${call}`),
      since: createdAt.toISOString().slice(0, 10),
      who: quoted(who),
      count: uses,
    });
  });
  return `${say('rules.list')}\n\n${lines.join('\n')}`;
}

/** In backticks, so that nothing in it is markup. */
function quoted(text: string): string {
  return `\`${text.replaceAll('`', "'")}\``;
}
