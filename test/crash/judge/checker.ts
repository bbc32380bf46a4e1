/** Judges a crash run by what was seen externally and what the tables hold: lost, reordered, done twice. */
import type { ReadTurn } from '../readers.ts';
import { effectsOf, type Question, readQuestion, type TextRef, wholeAnswer } from '../script.ts';
import { bareWords, judgeScreenOrder, judgeScreens, judgeStreams, missingOnScreen } from './seen.ts';
import { type FinalRows, isFailed, type KillRows, type TurnRow } from '../rows.ts';

/** A bot message that a chat shows. */
export interface ShownMessage {
  id: string;
  text: string;
}

/** What was seen at the moment a process died. */
export interface KillEvidence {
  rows: KillRows;
  /** The bot's messages by chat. */
  screens: Map<string, ShownMessage[]>;
  /** How often each effect had happened, by `<effect> <call key>`. */
  effects: Map<string, number>;
}

export interface Evidence {
  accepted: readonly TextRef[];
  refused: readonly string[];
  final: FinalRows;
  /** Questions in the order in which the model was asked. */
  asked: readonly Pick<Question, 'session' | 'index'>[];
  effects: Map<string, number>;
  screens: Map<string, ShownMessage[]>;
  /** What each reader of an event stream saw, by turn id. */
  streams: readonly ReadonlyMap<string, ReadTurn>[];
  /** Sessions whose messages may join a running turn: one answer then covers several messages. */
  joining?: ReadonlySet<string> | undefined;
  kills: readonly KillEvidence[];
  /** What outlived its owner: processes, and lanes that no one will claim. */
  orphans: readonly string[];
  /** Gateways that ended unexpectedly. */
  exits: readonly string[];
}

export interface Verdict {
  lost: string[];
  reordered: string[];
  /** Two turns of one message, or two answers of one turn. */
  storedTwice: string[];
  /** A tool's effect happened again. */
  effectsTwice: string[];
  /** A chat shows an answer again, or part of it, or a stream differs from the stored text. */
  seenTwice: string[];
  /** First sends whose answer was lost to a kill, which no key could match; not among `seenTwice`. */
  ambiguous: string[];
  /** Failed, and the user was notified. */
  failed: string[];
  orphans: string[];
  exits: string[];
}

export function judge(evidence: Evidence): Verdict {
  const turns = byQuestion(evidence.final.turns);
  const { unexplained, ambiguous } = judgeScreens(evidence);
  return {
    lost: [...evidence.refused, ...evidence.accepted.flatMap((said) => lossOf(said, turns, evidence))],
    reordered: [...judgeRows(evidence.final.turns), ...judgeAsked(evidence), ...judgeScreenOrder(evidence)],
    storedTwice: [
      ...[...turns.values()].flatMap((same) =>
        same.length > 1 ? [`${same[0]?.question}: ${same.length} turns`] : [],
      ),
      ...evidence.final.turns.flatMap((turn) =>
        turn.answers.length > 1 ? [`${turn.question}: ${turn.answers.length} answers`] : [],
      ),
    ],
    effectsTwice: [...judgeCounts(evidence), ...judgeKeys(evidence), ...judgeFinished(evidence)],
    seenTwice: [...unexplained, ...judgeStreams(evidence)],
    ambiguous,
    failed: evidence.final.turns.flatMap((turn) =>
      isFailed(turn) ? [`${turn.question}: ${turn.reason}, told: ${turn.answers.at(-1) ?? 'nothing'}`] : [],
    ),
    orphans: [...evidence.orphans],
    exits: [...evidence.exits],
  };
}

function byQuestion(turns: readonly TurnRow[]): Map<string, TurnRow[]> {
  return Map.groupBy(turns, (turn) => readQuestion(turn.question)?.id ?? turn.id);
}

function lossOf(said: TextRef, turns: Map<string, TurnRow[]>, evidence: Evidence): string[] {
  const turn = turns.get(said.id)?.[0];
  const question = readQuestion(said.text);
  if (turn === undefined || question === undefined) return [`${said.id}: no turn`];
  if (isFailed(turn)) return unreported(said, turn, evidence);
  if (turn.state === 'done' && evidence.joining?.has(turn.session) === true) return [];
  const answer = turn.answers.at(-1);
  if (turn.state !== 'done' || answer === undefined) return [`${said.id}: ${turn.state}, unanswered`];
  const whole = wholeAnswer(question).trim();
  if (answer.trim() !== whole) return [`${said.id}: answered with other words: ${answer}`];
  const missing = missingOnScreen(turn, whole, evidence);
  return missing === undefined ? [] : [`${said.id}: ${missing}`];
}

/** A failed turn is also lost, unless its user can read why. */
function unreported({ id }: TextRef, turn: TurnRow, evidence: Evidence): string[] {
  const why = turn.answers.at(-1) ?? '';
  if (why.trim() === '') return [`${id}: failed without a word`];
  const missing = missingOnScreen(turn, why, evidence, bareWords);
  return missing === undefined ? [] : [`${id}: failed, and why is ${missing}`];
}

/** In each session, both the messages and their answers are in sending order. */
function judgeRows(turns: readonly TurnRow[]): string[] {
  return [...Map.groupBy(turns, (turn) => turn.session).values()].flatMap((rows) =>
    rows.flatMap((row, at) => {
      const before = rows[at - 1];
      if (before === undefined || readQuestion(row.question) === undefined) return [];
      const inOrder =
        indexOf(before) < indexOf(row) &&
        before.userSeq < row.userSeq &&
        (before.finalSeq ?? 0) < (row.finalSeq ?? Infinity);
      return inOrder ? [] : [`${row.question} after ${before.question}`];
    }),
  );
}

function indexOf(turn: TurnRow): number {
  return readQuestion(turn.question)?.index ?? -1;
}

/** The model never sees an earlier question of a session after a later one. */
function judgeAsked({ asked }: Evidence): string[] {
  const newest = new Map<string, number>();
  return asked.flatMap(({ session, index }) => {
    const last = newest.get(session) ?? -1;
    newest.set(session, Math.max(last, index));
    return index < last ? [`the model was asked ${session}#${index} after #${last}`] : [];
  });
}

/** An unsafe effect happens at most once. */
function judgeCounts({ effects }: Evidence): string[] {
  return [...effects].flatMap(([key, count]) =>
    key.startsWith('unsafe ') && count > 1 ? [`${key}: ${count} times`] : [],
  );
}

/** A turn has no more call keys of an effect than the script has calls: the same call never gets a second key. */
function judgeKeys({ effects, final, joining }: Evidence): string[] {
  const keys = Map.groupBy(effects.keys(), (key) => key.replace(/\..*$/, ''));
  return final.turns.flatMap((turn) => {
    if (joining?.has(turn.session) === true) return [];
    const question = readQuestion(turn.question);
    const planned = question === undefined ? [] : effectsOf(question);
    return ['pure', 'idempotent', 'unsafe'].flatMap((effect) => {
      const seen = keys.get(`${effect} ${turn.id}`)?.length ?? 0;
      return seen > planned.filter((one) => one === effect).length
        ? [`${turn.question}: ${seen} ${effect} calls`]
        : [];
    });
  });
}

/** What was finished when a process died is not repeated, whatever its class. */
function judgeFinished({ kills, effects }: Evidence): string[] {
  return kills.flatMap((kill) =>
    kill.rows.turns.flatMap((turn) =>
      turn.journal
        .filter((row) => row.kind === 'tool_result')
        .flatMap(({ iteration, part }) => {
          const end = ` ${turn.id}.${iteration}.${part}`;
          const again = [...kill.effects].find(
            ([key, count]) => key.endsWith(end) && effects.get(key) !== count,
          );
          return again === undefined ? [] : [`${again[0]}: again after its result was stored`];
        }),
    ),
  );
}
