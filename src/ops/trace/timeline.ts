/** A turn as lines in chronological order: pure, from what the store knows about it. */
import { amountOf, type Cost, costOf, costText, type Prices } from '../../protocol/agent/usage.ts';
import { omissionText } from '../../protocol/agent/omissions.ts';
import type { Usage } from '../../protocol/agent/provider.ts';
import type {
  ModelCallSpan,
  PromptParts,
  TimelineLine,
  TraceAttempt,
  TraceSpan,
  TurnFacts,
} from '../../protocol/store/traces.ts';
import { inEnglish, isTextKey, type Say } from '../../protocol/texts/say.ts';
import { duration, isPlainKey, numbered, whole } from './explain.ts';

/** How a turn is described: `detail` adds the text of errors, which may name addresses; without `say` in English. */
export interface TimelineOptions {
  detail: boolean;
  say?: Say | undefined;
  prices?: Prices | undefined;
}

/** What is the same for all lines. */
type Wording = TimelineOptions & { say: Say };

/** The lines of a turn, oldest first. */
export function timelineOf(
  facts: TurnFacts,
  { say = inEnglish, ...options }: TimelineOptions,
): TimelineLine[] {
  const wording: Wording = { ...options, say };
  const { detail } = options;
  const lines: TimelineLine[] = [{ atMs: 0, kind: 'accepted', text: say('trace.accepted') }];
  for (const [index, attempt] of facts.attempts.entries()) {
    lines.push(...attemptLines(attempt, facts.attempts[index - 1], wording));
  }
  lines.push(
    ...unseenAnswers(facts, wording),
    ...approvalLines(facts, say),
    ...deliveryLines(facts, detail, say),
  );
  if (facts.endedMs !== undefined) {
    const { reason = 'unknown' } = facts;
    const key = `trace.reason_${reason}`;
    const text = say('trace.ended', { reason: isPlainKey(key) ? say(key) : reason });
    lines.push({ atMs: facts.endedMs, kind: 'ended', text });
  }
  return lines.toSorted((a, b) => a.atMs - b.atMs);
}

function attemptLines(
  attempt: TraceAttempt,
  previous: TraceAttempt | undefined,
  wording: Wording,
): TimelineLine[] {
  const { say } = wording;
  const { afterMs, live, dropped: droppedCount, outcome, ms } = attempt;
  const spans = attempt.spans.map((span) => spanLine(span, afterMs, wording));
  const end = afterMs + ms;
  return [
    { atMs: afterMs, kind: 'begun', text: begunText(attempt, previous, say) },
    ...spans,
    ...livePoints(attempt, wording),
    ...(live === undefined ? [] : [{ atMs: end, kind: 'live' as const, text: liveText(live, say) }]),
    ...(droppedCount === undefined
      ? []
      : [{ atMs: end, kind: 'note' as const, text: say('trace.dropped', numbered(droppedCount)) }]),
    ...(outcome === 'parked' || outcome === 'released'
      ? [{ atMs: end, kind: outcome, text: say(`trace.${outcome}`) } satisfies TimelineLine]
      : []),
  ];
}

function begunText(attempt: TraceAttempt, previous: TraceAttempt | undefined, say: Say): string {
  const { afterMs, node, attempts, crashes, profile, askedAgain } = attempt;
  const tries = {
    attempts: say('why.attempts', numbered(attempts)),
    crashes: say('why.crashes', numbered(crashes)),
  };
  const failures = attempts + crashes === 0 ? '' : say('trace.failed_before', tries);
  const where = { node, profile, failed: failures };
  if (previous !== undefined) return say(previous.node === node ? 'trace.continued' : 'trace.moved', where);
  const rest = say('trace.started', { ...where, time: duration(afterMs) });
  return askedAgain === undefined ? rest : say('trace.asked_again', { turn: askedAgain, rest });
}

/** The first calls of the live message, each with its time. */
function livePoints({ afterMs, live }: TraceAttempt, { say }: Wording): TimelineLine[] {
  return (live?.points ?? []).map(({ atMs, kind, code = '', retryAfterMs = 0 }) => {
    const text =
      kind === 'refused'
        ? say('trace.live_refused', { pause: duration(retryAfterMs) })
        : kind === 'failed'
          ? say('trace.live_failed', { code })
          : say(`trace.live_${kind}`);
    const isError = kind === 'refused' || kind === 'failed';
    return { atMs: afterMs + atMs, kind: 'live' as const, text, isError: isError || undefined };
  });
}

function liveText(
  { sent: sendCount, edited, refused: refusalCount, failed: failures }: NonNullable<TraceAttempt['live']>,
  say: Say,
): string {
  const edits = say('trace.edits', numbered(edited));
  return say('trace.live', {
    sent: say('trace.sent', numbered(sendCount)),
    edits,
    refused: refusalCount,
    failed: failures,
  });
}

function spanLine(span: TraceSpan, fromMs: number, wording: Wording): TimelineLine {
  const { say } = wording;
  const atMs = fromMs + span.atMs;
  switch (span.kind) {
    case 'model_call': {
      const isError = span.error === undefined ? undefined : true;
      return { atMs, ms: span.ms, kind: 'model_call', text: callText(span, wording), isError };
    }
    case 'tool': {
      const key =
        span.ms === undefined
          ? 'trace.tool_running'
          : span.isError === true
            ? 'trace.tool_error'
            : 'trace.tool';
      return { atMs, ms: span.ms, kind: 'tool', text: say(key, { tool: span.name }), isError: span.isError };
    }
    case 'retry':
      return { atMs, ms: span.ms, kind: 'retry', text: say('trace.pause', { code: span.code }) };
    case 'note':
      return { atMs, kind: 'note', text: noteText(span, say) };
    default:
      return span satisfies never;
  }
}

/** Each event has its own text; a notice was already worded for its reader. */
function noteText({ code, text, values }: Extract<TraceSpan, { kind: 'note' }>, say: Say): string {
  const key = `trace.note_${code}`;
  if (text === '' && isTextKey(key)) return say.text({ key, values });
  return [code, text].filter(Boolean).join(': ');
}

function callText(span: ModelCallSpan, wording: Wording): string {
  const { detail, say } = wording;
  const { iteration: number, title, model, usage, firstTokenMs, prompt, omissions, error, ms } = span;
  const about = usage?.estimated === true ? '≈' : '';
  const writes = ms === undefined ? 0 : ms - (firstTokenMs ?? 0);
  const rate = usage === undefined || writes < 1 ? 0 : (usage.completionTokens * 1_000) / writes;
  return [
    title ??
      say('trace.call', {
        number,
        model: model === '' ? say('trace.no_model') : model,
      }),
    ...(usage === undefined ? [] : [tokensText(usage, say, about), ...priceText(model, usage, wording)]),
    ...(firstTokenMs === undefined ? [] : [say('trace.first_token', { time: duration(firstTokenMs) })]),
    ...(rate >= 0.1 && firstTokenMs !== undefined ? [say('trace.rate', { rate: rate.toFixed(1) })] : []),
    ...(prompt === undefined ? [] : [say('trace.prompt', { parts: partsText(prompt, say) })]),
    ...(omissions === undefined
      ? []
      : [
          say('trace.omissions', { parts: omissions.map((part) => say.text(omissionText(part))).join('; ') }),
        ]),
    ...(error === undefined
      ? []
      : [`${say('trace.call_failed', { code: error.code })}${detail ? ` (${error.message})` : ''}`]),
    ...(ms === undefined ? [say('trace.call_running')] : []),
  ].join(', ');
}

function tokensText({ promptTokens, completionTokens }: Usage, say: Say, about = ''): string {
  const read = `${about}${whole(promptTokens)}`;
  return say('trace.tokens', {
    read,
    written: `${about}${whole(completionTokens)}`,
  });
}

/** What a call cost, if its model has a price. */
function priceText(model: string, usage: Usage, { say, prices }: Wording): string[] {
  const cost = prices && costOf(prices, [amountOf(prices, model, usage)]);
  return cost === undefined ? [] : [costText(cost, say.language)];
}

/** What the calls of a turn cost, for those that have a price. */
export function costOfTurn({ attempts, answers }: TurnFacts, prices: Prices): Cost | undefined {
  const calls = attempts.flatMap(({ spans }) => spans.filter((span) => span.kind === 'model_call'));
  const traced = new Set(calls.map(({ iteration }) => iteration));
  const all = [...calls, ...answers.filter(({ iteration }) => !traced.has(iteration))];
  return costOf(
    prices,
    all.map(({ model = '', usage }) => usage && amountOf(prices, model, usage)),
  );
}

/** In the order in which the model reads them. */
const PARTS = ['system', 'tools', 'history', 'message', 'steps', 'note'] as const;

/** The parts of the prompt that are not empty, as estimated. */
function partsText(prompt: PromptParts, say: Say): string {
  const parts = PARTS.filter((name) => prompt[name] > 0);
  return `≈ ${parts.map((name) => `${say(`trace.part_${name}`)} ${whole(prompt[name])}`).join(' + ')}`;
}

/** Answers of the journal whose attempt left no notes, because its process died. */
function unseenAnswers({ attempts, answers }: TurnFacts, wording: Wording): TimelineLine[] {
  const { say } = wording;
  const iterations = new Set(
    attempts.flatMap(({ spans }) =>
      spans.flatMap((span) => (span.kind === 'model_call' ? [span.iteration] : [])),
    ),
  );
  return answers
    .filter(({ iteration }) => !iterations.has(iteration))
    .map(({ iteration: number, model, usage }) => {
      const call = say('trace.call', {
        number,
        model: model ?? say('trace.no_model'),
      });
      const details =
        usage === undefined ? [] : [tokensText(usage, say), ...priceText(model ?? '', usage, wording)];
      const text = [call, ...details].join(', ');
      return {
        atMs: 0,
        kind: 'model_call' as const,
        text: `${text} ${say('trace.from_journal')}`,
      };
    });
}

function approvalLines({ approvals }: TurnFacts, say: Say): TimelineLine[] {
  return approvals.flatMap(({ atMs, decidedMs, state, by = say('why.somebody'), tool }) => [
    { atMs, kind: 'approval' as const, text: say('trace.asks', { tool }) },
    ...(decidedMs === undefined || state === 'pending'
      ? []
      : [{ atMs: decidedMs, kind: 'approval' as const, text: say(`trace.${state}`, { by, tool }) }]),
  ]);
}

function deliveryLines({ delivery, nowMs }: TurnFacts, detail: boolean, say: Say): TimelineLine[] {
  if (delivery === undefined) return [];
  const { sentMs, waitedMs, attempts, error, dead } = delivery;
  const paused = waitedMs > 0 || attempts > 0;
  const uncertain = say('trace.uncertain', numbered(attempts));
  const pauses = {
    pauses: paused ? say('trace.pauses', { time: duration(waitedMs), attempts: uncertain }) : '',
  };
  const reason = error !== undefined && detail ? `: ${error}` : '';
  if (dead) {
    const text = `${say('trace.delivery_dead', pauses)}${reason}`;
    return [{ atMs: nowMs, kind: 'delivery', text, isError: true }];
  }
  if (sentMs !== undefined) return [{ atMs: sentMs, kind: 'delivery', text: say('trace.delivered', pauses) }];
  return [{ atMs: nowMs, kind: 'delivery', text: `${say('trace.not_delivered', pauses)}${reason}` }];
}
