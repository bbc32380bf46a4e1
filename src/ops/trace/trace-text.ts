/** Traces as text: for a terminal and for a chat. */
import { costText } from '../../contracts/operator/prices.ts';
import type { Refusal, TimelineLine, TurnExplanation } from '../../contracts/store/traces.ts';
import { inEnglish, type Say } from '../../contracts/texts/say.ts';
import type { SentPrompt } from '../../contracts/store/sent-prompt.ts';
import { escapeControls } from '../../lib/text.ts';
import type { TraceLook } from './traces.ts';
import { duration, isPlainKey, whole } from './format.ts';

/** One refusal in a sentence: what it means, and how to fix it. */
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

/** The complete view for a terminal; with `prompt`, also what the newest model call was sent. */
export function traceText({ turn, refusals }: TraceLook, { prompt = false } = {}): string {
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
          ...(prompt ? ['', ...promptLines(turn.prompt)] : []),
        ]),
  ];
  return parts.map(escapeControls).join('\n');
}

/** What was sent to the model, part by part. */
function promptLines(prompt: SentPrompt | undefined): string[] {
  if (prompt === undefined)
    return ['No prompt is kept: no model was called, or an earlier version ran the turn.'];
  const { iteration, model, messages, omitted, tools } = prompt;
  const parts = messages.flatMap(({ role, tokens, content }) => [
    '',
    `--- ${role}, ≈ ${whole(tokens)} tokens`,
    ...content.split('\n'),
  ]);
  const offered = tools.map(({ name, tokens }) => `${name} (≈ ${whole(tokens)})`).join(', ');
  return [
    `Prompt of model call ${iteration} to ${model === '' ? 'an unknown model' : model}`,
    `Tools: ${offered === '' ? 'none' : offered}`,
    ...(omitted === 0 ? [] : [`${whole(omitted)} messages after the system prompt are not kept.`]),
    ...parts,
  ];
}

/** The short view for a chat: reasons only. */
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
