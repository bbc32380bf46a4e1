/** Judges a crash run by what was seen from outside and what the tables hold: lost, reordered, done twice. */
import { readQuestion, wholeAnswer } from './script.ts';
import type { Question, Said } from './script.ts';
import type { FinalRows, KillRows, TurnRow } from './rows.ts';

/** A message of the bot that a chat shows. */
export interface ShownMessage {
  id: string;
  text: string;
}

/** What was seen at the moment a process died. */
export interface KillEvidence {
  rows: KillRows;
  /** The bot's messages by chat. */
  screens: Map<string, ShownMessage[]>;
  /** How often each effect had taken place, by `<effect> <call key>`. */
  effects: Map<string, number>;
}

export interface Evidence {
  accepted: readonly Said[];
  refused: readonly string[];
  final: FinalRows;
  /** Questions in the order the model was asked them. */
  asked: readonly Pick<Question, 'session' | 'index'>[];
  effects: Map<string, number>;
  screens: Map<string, ShownMessage[]>;
  kills: readonly KillEvidence[];
}

/** Every list must be empty; `ambiguous` counts first sends whose answer a kill took, which no key could join. */
export interface Verdict {
  lost: string[];
  reordered: string[];
  duplicated: string[];
  toolsTwice: string[];
  /** Visibly failed: not lost, but not expected here either. */
  failed: string[];
  ambiguous: number;
}

export function judge(evidence: Evidence): Verdict {
  const turns = byQuestion(evidence.final.turns);
  const { unexplained, ambiguous } = judgeScreens(evidence);
  return {
    lost: [...evidence.refused, ...evidence.accepted.flatMap((said) => lossOf(said, turns, evidence))],
    reordered: [...judgeRows(evidence.final.turns), ...judgeAsked(evidence), ...judgeScreenOrder(evidence)],
    duplicated: [
      ...[...turns.values()].flatMap((same) =>
        same.length > 1 ? [`${same[0]?.question}: ${same.length} turns`] : [],
      ),
      ...evidence.final.turns.flatMap((turn) =>
        turn.answers.length > 1 ? [`${turn.question}: ${turn.answers.length} answers`] : [],
      ),
      ...unexplained,
    ],
    toolsTwice: [...judgeCounts(evidence), ...judgeKeys(evidence), ...judgeFinished(evidence)],
    failed: evidence.final.turns.flatMap((turn) =>
      isFailed(turn) ? [`${turn.question}: ${turn.reason}`] : [],
    ),
    ambiguous,
  };
}

function byQuestion(turns: readonly TurnRow[]): Map<string, TurnRow[]> {
  return Map.groupBy(turns, (turn) => readQuestion(turn.question)?.id ?? turn.id);
}

function isFailed(turn: TurnRow): boolean {
  return turn.state === 'done' && turn.reason !== 'completed';
}

function lossOf(said: Said, turns: Map<string, TurnRow[]>, { final, screens }: Evidence): string[] {
  const turn = turns.get(said.id)?.[0];
  const question = readQuestion(said.text);
  if (turn === undefined || question === undefined) return [`${said.id}: no turn`];
  if (isFailed(turn)) return [];
  const answer = turn.answers.at(-1);
  if (turn.state !== 'done' || answer === undefined) return [`${said.id}: ${turn.state}, unanswered`];
  const whole = wholeAnswer(question).trim();
  if (answer.trim() !== whole) return [`${said.id}: answered with other words: ${answer}`];
  if (!turn.session.startsWith('telegram:')) return [];
  const parts = final.parts.get(turn.id) ?? [];
  const shown = screens.get(turn.session)?.filter((message) => parts.includes(message.id)) ?? [];
  const text = shown.map((message) => message.text).join('\n');
  return text.trim() === whole ? [] : [`${said.id}: not on screen: ${text}`];
}

/** In each session both what people said and what they were answered stand in the order of saying. */
function judgeRows(turns: readonly TurnRow[]): string[] {
  return [...Map.groupBy(turns, (turn) => turn.session).values()].flatMap((rows) =>
    rows.flatMap((row, at) => {
      const before = rows[at - 1];
      if (before === undefined) return [];
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

/** The model never hears an earlier question of a session after a later one. */
function judgeAsked({ asked }: Evidence): string[] {
  const newest = new Map<string, number>();
  return asked.flatMap(({ session, index }) => {
    const last = newest.get(session) ?? -1;
    newest.set(session, Math.max(last, index));
    return index < last ? [`the model was asked ${session}#${index} after #${last}`] : [];
  });
}

/** On a screen the answers stand in the order of the questions. */
function judgeScreenOrder({ final }: Evidence): string[] {
  let last = { session: '', id: 0 };
  return final.turns.flatMap((turn) => {
    const [first] = turn.session.startsWith('telegram:') ? (final.parts.get(turn.id) ?? []) : [];
    if (first === undefined) return [];
    const before = last;
    last = { session: turn.session, id: Number(first) };
    return before.session === turn.session && before.id > last.id
      ? [`${turn.question}: shown above an earlier answer`]
      : [];
  });
}

/** An unsafe effect takes place once at most. */
function judgeCounts({ effects }: Evidence): string[] {
  return [...effects].flatMap(([key, count]) =>
    key.startsWith('unsafe ') && count > 1 ? [`${key}: ${count} times`] : [],
  );
}

/** A turn has no more call keys of an effect than the script has calls: the same call never gets a second key. */
function judgeKeys({ effects, final }: Evidence): string[] {
  const keys = Map.groupBy(effects.keys(), (key) => key.replace(/\..*$/, ''));
  return final.turns.flatMap((turn) => {
    const planned = readQuestion(turn.question)?.rounds.flat() ?? [];
    return ['pure', 'idempotent', 'unsafe'].flatMap((effect) => {
      const seen = keys.get(`${effect} ${turn.id}`)?.length ?? 0;
      return seen > planned.filter((one) => one === effect).length
        ? [`${turn.question}: ${seen} ${effect} calls`]
        : [];
    });
  });
}

/** What was finished when a process died is not done again, whatever its class. */
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

/** Messages on screen that no row names: excused when a kill took the answer of their sending, else a duplicate. */
function judgeScreens(evidence: Evidence): { unexplained: string[]; ambiguous: number } {
  const named = new Set([...evidence.final.parts.values()].flat());
  const unexplained: string[] = [];
  let ambiguous = 0;
  for (const [chat, messages] of evidence.screens) {
    const own = new Set(
      evidence.final.turns
        .filter((turn) => turn.session === chat)
        .flatMap((turn) => evidence.final.parts.get(turn.id) ?? []),
    );
    for (const message of messages) {
      if (own.has(message.id)) continue;
      if (isAmbiguous(chat, message, evidence)) ambiguous += 1;
      else if (!named.has(message.id) || /#\d+/.test(message.text))
        unexplained.push(`${chat} shows twice: ${message.text}`);
    }
  }
  return { unexplained, ambiguous };
}

/** The first kill after the message appeared struck its turn or its delivery before the id was stored. */
function isAmbiguous(chat: string, message: ShownMessage, { kills, final }: Evidence): boolean {
  const kill = kills.find(({ screens }) => screens.get(chat)?.some(({ id }) => id === message.id));
  const id = /\b(s\d+#\d+)/.exec(message.text)?.[1];
  const turn = final.turns.find((candidate) => readQuestion(candidate.question)?.id === id);
  if (kill === undefined || turn === undefined) return false;
  const open = [
    ...kill.rows.turns.filter((row) => row.id === turn.id),
    ...kill.rows.deliveries.filter((row) => row.ref === turn.id),
  ];
  return open.length > 0 && open.every((row) => row.parts?.includes(message.id) !== true);
}
