/** Traces as text: for a terminal and for a chat. */
import type { Refusal, TimelineLine, TurnExplanation } from '../../contracts/store/traces.ts';
import { escapeControls } from '../../lib/text.ts';
import type { TraceLook } from './traces.ts';
import { duration, whole } from './words.ts';

/** What a refusal means, and what corrects it. */
const REFUSED: Record<string, string> = {
  denied: 'its sender or chat has no access (parley pair)',
  pairing: 'its sender has no access yet and was given a pairing code (parley pair approve)',
  forbidden: 'a rule forbids it',
  rate_limited: 'its sender wrote too fast (limits.messagesPerMinute), or used up a day’s tokens',
  queue_full: 'too many messages of the session wait already (/stop drops them)',
  too_large: 'it is too long',
  empty: 'it has neither text nor a file',
  tools_pending: 'its session waits for results of its client’s tools',
  planning_off: 'it asks for a plan where planning is off',
  not_mentioned: 'it did not mention the bot, which a group must (access.<channel>.groups)',
  ignored: 'its channel does not hand over messages of this kind',
};

/** One refusal in a sentence. */
function refusalText({ address, senderId, code, detail, count, lastAt }: Refusal): string {
  const many = count === 1 ? 'A message' : `${whole(count)} messages, the last one`;
  const why = [REFUSED[code] ?? code, ...(detail === '' ? [] : [detail])].join(': ');
  return `${many} of ${senderId || 'somebody'} in ${address} at ${lastAt.toISOString()} did not become a turn (${code}): ${why}.`;
}

/** The whole look for a terminal. */
export function traceText({ turn, refusals }: TraceLook): string {
  const parts = [
    ...refusals.map(refusalText),
    ...(turn === undefined
      ? []
      : [
          `Turn ${turn.turnId} of ${turn.session}, ${turn.acceptedAt.toISOString()}, ${turn.reason ?? turn.state}`,
          turn.why,
          '',
          ...turn.timeline.map(lineText),
        ]),
  ];
  return parts.map(escapeControls).join('\n');
}

/** The short look for a chat: reasons only. */
export function whyText({ turn, refusals }: TraceLook): string {
  const more = (found: TurnExplanation): string =>
    `The last turn: ${found.why}\nAll of it: npx parley trace ${found.turnId}`;
  return [
    ...refusals.slice(0, 3).map(refusalText),
    turn === undefined ? 'No message of this chat has become a turn yet.' : more(turn),
  ].join('\n');
}

function lineText({ atMs, ms, text, isError }: TimelineLine): string {
  const took = ms === undefined ? '' : `[${duration(ms)}] `;
  return `  ${`+${duration(atMs)}`.padStart(12)}  ${isError === true ? '! ' : ''}${took}${text}`;
}
