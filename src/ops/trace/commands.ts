/** `parley trace` and `/why`: what happened to a message. */
import type { Command } from '../../protocol/command.ts';
import { GatewayError, readerOf } from '../../protocol/errors.ts';
import { inEnglish, type Say, textRef } from '../../protocol/texts/say.ts';
import { escapeControls, oneLine } from '../../lib/text.ts';
import type { RefusalNotes, TraceView, Traces } from './traces.ts';
import { costText } from '../../protocol/agent/usage.ts';
import type { Refusal, SentPrompt, TimelineLine, TurnExplanation } from '../../protocol/store/traces.ts';
import { duration, isPlainKey, whole } from './explain.ts';
import { PARLEY } from '../../protocol/texts/parley.ts';

/** Runs `parley trace`. Throws `GatewayError`: `usage`, `unknown_turn`; and `StoreError`. */
export async function traceCommand(traces: Traces, args: readonly string[]): Promise<string> {
  const prompt = args.includes('--prompt');
  const [id = 'last', ...more] = args.filter((argument) => argument !== '--prompt');
  if (more.length > 0 || id.startsWith('--'))
    throw new GatewayError(
      'usage',
      `Expected: trace [TURN | SESSION | last] [--prompt]. See: ${PARLEY} --help`,
    );
  const trace = await traces.view(id === 'last' ? undefined : id, true);
  if (trace.turn !== undefined || trace.refusals.length > 0) return traceText(trace, prompt);
  throw new GatewayError(
    'unknown_turn',
    id === 'last'
      ? 'No message has come in yet, or its traces are older than a week.'
      : `Nothing is known about ${oneLine(id)}: no turn, session or chat has this id.`,
  );
}

/** `/why`: tells owners why the last message of the chat got no answer, or which one it got. */
export function createWhyCommand(traces: Traces, refusals: RefusalNotes): Command {
  return {
    name: 'why',
    owners: true,
    description: 'about.why',
    personal: true,
    async run(call) {
      if (!call.owner) {
        throw new GatewayError('forbidden', textRef('why.owners_only'));
      }
      await refusals.flush();
      const detail = readerOf(call) === 'operator';
      const [chat, session] = await Promise.all([
        traces.view(call.address, detail, call.say),
        traces.view(call.session, detail, call.say),
      ]);
      const { turn } = session;
      const since = turn?.acceptedAt.getTime() ?? 0;
      const fresh = chat.refusals.filter(({ lastAt }) => lastAt.getTime() >= since);
      return whyText({ turn, refusals: fresh }, call.say);
    },
  };
}

/** One refusal in a sentence: what it means, and how to fix it. */
function refusalText({ address, senderId, code, detail, count, lastAt }: Refusal, say: Say): string {
  const key = `why.refused_${code}`;
  const meaning = isPlainKey(key) ? say(key) : code;
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
function traceText({ turn, refusals }: TraceView, prompt: boolean): string {
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
    return ['No prompt was stored: no model was called, or an earlier version ran the turn.'];
  const { iteration, model, messages, omitted, tools } = prompt;
  const parts = messages.flatMap(({ role, tokens, content }) => [
    '',
    `--- ${role}, ≈ ${whole(tokens)} tokens`,
    // Indented, so that no text can pass for the head of another part.
    ...content.split('\n').map((line) => `  ${line}`),
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
export function whyText({ turn, refusals }: TraceView, say: Say): string {
  const more = ({ why: reason, turnId }: TurnExplanation): string =>
    `${say('why.last', { why: reason })}\n${say('why.all', { turn: turnId })}`;
  return [
    ...refusals.slice(0, 3).map((refusal) => refusalText(refusal, say)),
    turn === undefined ? say('why.none') : more(turn),
  ].join('\n');
}

function lineText({ atMs, ms, text, isError }: TimelineLine): string {
  const took = ms === undefined ? '' : `[${duration(ms)}] `;
  return `  ${`+${duration(atMs)}`.padStart(12)}  ${isError === true ? '! ' : ''}${took}${text}`;
}
