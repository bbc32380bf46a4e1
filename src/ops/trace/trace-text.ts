/** Traces as text: for a terminal and for a chat. */
import { costText } from '../../contracts/operator/prices.ts';
import type { Refusal, TimelineLine, TurnExplanation } from '../../contracts/store/traces.ts';
import { inEnglish } from '../../contracts/texts/say.ts';
import type { Say } from '../../contracts/texts/say.ts';
import { escapeControls } from '../../lib/text.ts';
import type { TraceLook } from './traces.ts';
import { duration, isPlainKey, whole } from './words.ts';

/** One refusal in a sentence: what it means, and what corrects it. */
function refusalText({ address, senderId, code, detail, count, lastAt }: Refusal, say: Say): string {
  const known = `why.refused_${code}`;
  const meaning = isPlainKey(known) ? say(known) : code;
  const about = {
    sender: senderId || say('why.somebody'),
    place: address,
    moment: lastAt.toISOString(),
    code,
    why: [meaning, ...(detail === '' ? [] : [detail])].join(': '),
  };
  return count === 1
    ? say('why.refusal', about)
    : say('why.refusals', { ...about, count, number: whole(count) });
}

/** The whole look for a terminal. */
export function traceText({ turn, refusals }: TraceLook): string {
  const parts = [
    ...refusals.map((refusal) => refusalText(refusal, inEnglish)),
    ...(turn === undefined
      ? []
      : [
          `Turn ${turn.turnId} of ${turn.session}, ${turn.acceptedAt.toISOString()}, ${turn.reason ?? turn.state}`,
          turn.why,
          ...(turn.cost === undefined ? [] : [`Cost: ${costText(turn.cost, 'en')}`]),
          '',
          ...turn.timeline.map(lineText),
        ]),
  ];
  return parts.map(escapeControls).join('\n');
}

/** The short look for a chat: reasons only. */
export function whyText({ turn, refusals }: TraceLook, say: Say): string {
  const more = (found: TurnExplanation): string =>
    `${say('why.last', { why: found.why })}\n${say('why.all', { turn: found.turnId })}`;
  return [
    ...refusals.slice(0, 3).map((refusal) => refusalText(refusal, say)),
    turn === undefined ? say('why.none') : more(turn),
  ].join('\n');
}

function lineText({ atMs, ms, text, isError }: TimelineLine): string {
  const took = ms === undefined ? '' : `[${duration(ms)}] `;
  return `  ${`+${duration(atMs)}`.padStart(12)}  ${isError === true ? '! ' : ''}${took}${text}`;
}
