/** A turn as lines in the order of time: pure, from what the store knows of it. */
import type {
  ModelCallSpan,
  PromptParts,
  TimelineLine,
  TraceAttempt,
  TraceSpan,
  TurnFacts,
} from '../../contracts/store/traces.ts';
import { counted, duration, whole } from './words.ts';

/** The lines of a turn, oldest first. `detail` adds the words of errors, which may name addresses. */
export function timelineOf(facts: TurnFacts, detail: boolean): TimelineLine[] {
  const lines: TimelineLine[] = [{ atMs: 0, kind: 'accepted', text: 'the message was accepted' }];
  for (const [index, attempt] of facts.attempts.entries()) {
    lines.push(...attemptLines(attempt, facts.attempts[index - 1], detail));
  }
  lines.push(...unseenAnswers(facts), ...approvalLines(facts), ...deliveryLines(facts, detail));
  if (facts.endedMs !== undefined) {
    lines.push({ atMs: facts.endedMs, kind: 'ended', text: `the turn ended: ${facts.reason ?? 'unknown'}` });
  }
  return lines.toSorted((a, b) => a.atMs - b.atMs);
}

function attemptLines(
  attempt: TraceAttempt,
  before: TraceAttempt | undefined,
  detail: boolean,
): TimelineLine[] {
  const { afterMs, node, attempts, crashes, profile, live, dropped, outcome, ms } = attempt;
  const { askedAgain } = attempt;
  const again = askedAgain === undefined ? '' : `answers the question of turn ${askedAgain} again, `;
  const waited = before === undefined ? `${again}after ${duration(afterMs)} in the queue` : 'goes on';
  const moved = before !== undefined && before.node !== node ? ', moved from another' : '';
  const failed = attempts + crashes === 0 ? '' : `; before it ${attempts} failed attempts, ${crashes} deaths`;
  const first: TimelineLine = {
    atMs: afterMs,
    kind: 'begun',
    text: `${waited} on node ${node}${moved}, profile ${profile}${failed}`,
  };
  const spans = attempt.spans.map((span) => spanLine(span, afterMs, detail));
  const end = afterMs + ms;
  return [
    first,
    ...spans,
    ...(live === undefined
      ? []
      : [
          {
            atMs: end,
            kind: 'live' as const,
            text: `live on screen: ${counted(live.sent, 'message')} sent, ${counted(live.edited, 'edit')}, ${live.refused} refused as too fast, ${live.failed} failed`,
          },
        ]),
    ...(dropped === undefined
      ? []
      : [{ atMs: end, kind: 'note' as const, text: `${counted(dropped, 'further step')} not kept` }]),
    ...(outcome === 'parked' || outcome === 'released'
      ? [{ atMs: end, kind: outcome, text: ENDS[outcome] } satisfies TimelineLine]
      : []),
  ];
}

const ENDS = {
  parked: 'parked: nothing is held while it waits',
  released: 'released: the node stopped, and another one goes on',
};

function spanLine(span: TraceSpan, fromMs: number, detail: boolean): TimelineLine {
  const atMs = fromMs + span.atMs;
  switch (span.kind) {
    case 'model_call': {
      const isError = span.error === undefined ? {} : { isError: true };
      return { atMs, ms: span.ms, kind: 'model_call', text: callText(span, detail), ...isError };
    }
    case 'tool': {
      const state = span.ms === undefined ? ': running' : span.isError === true ? ': error' : '';
      const isError = span.isError === true ? { isError: true } : {};
      return { atMs, ms: span.ms, kind: 'tool', text: `tool ${span.name}${state}`, ...isError };
    }
    case 'retry':
      return { atMs, ms: span.ms, kind: 'retry', text: `pause before the next try (${span.code})` };
    case 'note':
      return { atMs, kind: 'note', text: [span.code, span.text].filter(Boolean).join(': ') };
    default:
      return span satisfies never;
  }
}

function callText(span: ModelCallSpan, detail: boolean): string {
  const { iteration, title, model, usage, firstTokenMs, prompt, error, ms } = span;
  const about = usage?.estimated === true ? '≈' : '';
  const writes = ms === undefined ? 0 : ms - (firstTokenMs ?? 0);
  const rate = usage === undefined || writes < 1 ? 0 : (usage.completionTokens * 1_000) / writes;
  return [
    title ?? `model call ${iteration}: ${model === '' ? 'no model known' : model}`,
    ...(usage === undefined
      ? []
      : [`${about}${whole(usage.promptTokens)} tokens in, ${about}${whole(usage.completionTokens)} out`]),
    ...(firstTokenMs === undefined ? [] : [`first token after ${duration(firstTokenMs)}`]),
    ...(rate >= 0.1 && firstTokenMs !== undefined ? [`${rate.toFixed(1)} tokens/s`] : []),
    ...(prompt === undefined ? [] : [`sent ${partsText(prompt)}`]),
    ...(error === undefined ? [] : [`failed: ${error.code}${detail ? ` (${error.message})` : ''}`]),
    ...(ms === undefined ? ['running'] : []),
  ].join(', ');
}

/** In the order in which the model reads them. */
const PARTS = ['system', 'tools', 'history', 'message', 'steps', 'note'] as const;

/** The parts of the prompt that are not empty, as estimated. */
function partsText(prompt: PromptParts): string {
  const parts = PARTS.filter((name) => prompt[name] > 0);
  return `≈ ${parts.map((name) => `${name} ${whole(prompt[name])}`).join(' + ')}`;
}

/** Answers of the journal whose attempt left no notes, because its process died. */
function unseenAnswers({ attempts, answers }: TurnFacts): TimelineLine[] {
  const seen = new Set(
    attempts.flatMap(({ spans }) =>
      spans.flatMap((span) => (span.kind === 'model_call' ? [span.iteration] : [])),
    ),
  );
  return answers
    .filter(({ iteration }) => !seen.has(iteration))
    .map(({ iteration, model, usage }) => {
      const tokens =
        usage === undefined
          ? ''
          : `, ${whole(usage.promptTokens)} tokens in, ${whole(usage.completionTokens)} out`;
      const text = `model call ${iteration}: ${model ?? 'unknown model'}${tokens} (from the journal: its attempt left no times)`;
      return { atMs: 0, kind: 'model_call' as const, text };
    });
}

function approvalLines({ approvals }: TurnFacts): TimelineLine[] {
  return approvals.flatMap(({ atMs, decidedMs, state, by, tool }) => [
    { atMs, kind: 'approval' as const, text: `a person is asked about the tool ${tool}` },
    ...(decidedMs === undefined
      ? []
      : [{ atMs: decidedMs, kind: 'approval' as const, text: `${state} by ${by ?? 'somebody'}: ${tool}` }]),
  ]);
}

function deliveryLines({ delivery, nowMs }: TurnFacts, detail: boolean): TimelineLine[] {
  if (delivery === undefined) return [];
  const { sentMs, waitedMs, attempts, error, dead } = delivery;
  const pauses =
    waitedMs === 0 && attempts === 0
      ? ''
      : ` after ${duration(waitedMs)} of pauses, ${attempts} uncertain tries`;
  const words = error !== undefined && detail ? `: ${error}` : '';
  if (dead)
    return [{ atMs: nowMs, kind: 'delivery', text: `delivery given up${pauses}${words}`, isError: true }];
  if (sentMs !== undefined) return [{ atMs: sentMs, kind: 'delivery', text: `delivered${pauses}` }];
  return [{ atMs: nowMs, kind: 'delivery', text: `not delivered yet${pauses}${words}` }];
}
