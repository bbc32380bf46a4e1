/** Judges what users saw, on the platforms' screens and in event streams, against what is stored. */
import type { Evidence, KillEvidence, ShownMessage } from './checker.ts';
import { readQuestion } from '../script.ts';
import { isFailed, type TurnRow } from '../rows.ts';

/**
 * The screen of a chat lacks the wanted text, or shows another; undefined = it is there, or the chat has no screen.
 * Texts are compared as `read` reads them.
 */
export function missingOnScreen(
  turn: TurnRow,
  wanted: string,
  evidence: Evidence,
  read = (text: string): string => text.trim(),
): string | undefined {
  const screen = evidence.screens.get(turn.session);
  if (screen === undefined) return undefined;
  const parts = evidence.final.parts.get(turn.id) ?? [];
  const text = screen
    .filter(({ id }) => parts.includes(id))
    .map((message) => message.text)
    .join('\n');
  if (read(text) === read(wanted)) return undefined;
  const others = screen.filter((message) => isOf(message, turn, undefined)).map(({ id }) => id);
  return `not on screen: ${text} (stored as ${parts.join(', ') || 'nothing'}, shown as ${others.join(', ') || 'nothing'})`;
}

/** Only the words of a text: a screen shows no Markdown markup. */
export function bareWords(text: string): string {
  return text.replaceAll(/[^\p{L}\p{N}]+/gu, ' ').trim();
}

/** On a screen, the answers are in the order of the questions. */
export function judgeScreenOrder({ final, screens }: Evidence): string[] {
  let last = { session: '', at: -1 };
  return final.turns.flatMap((turn) => {
    const [first] = final.parts.get(turn.id) ?? [];
    const at = screens.get(turn.session)?.findIndex(({ id }) => id === first) ?? -1;
    // A missing answer is judged elsewhere.
    if (at === -1) return [];
    const before = last;
    last = { session: turn.session, at };
    return before.session === turn.session && before.at > at
      ? [`${turn.question}: shown above an earlier answer`]
      : [];
  });
}

/** Messages on screen that no row names: ambiguous when a kill took the answer to their sending, else a duplicate. */
export function judgeScreens(evidence: Evidence): { unexplained: string[]; ambiguous: string[] } {
  const named = new Set([...evidence.final.parts.values()].flat());
  const unexplained: string[] = [];
  const ambiguous: string[] = [];
  for (const [chat, messages] of evidence.screens) {
    const own = new Set(
      evidence.final.turns
        .filter((turn) => turn.session === chat)
        .flatMap((turn) => evidence.final.parts.get(turn.id) ?? []),
    );
    for (const message of messages) {
      if (own.has(message.id)) continue;
      const line = `${chat} shows twice: ${message.text}`;
      if (isAmbiguous(chat, message, evidence)) ambiguous.push(line);
      else if (!named.has(message.id) || /#\d+/.test(message.text)) unexplained.push(line);
    }
  }
  return { unexplained, ambiguous };
}

/** The first kill after the message appeared struck its turn or its delivery before the id was stored. */
function isAmbiguous(chat: string, message: ShownMessage, { kills, final }: Evidence): boolean {
  const kill = kills.find(({ screens }) => screens.get(chat)?.some(({ id }) => id === message.id));
  const turn = final.turns.find((candidate) => candidate.session === chat && isOf(message, candidate, kill));
  if (kill === undefined || turn === undefined) return false;
  const open = [
    ...kill.rows.turns.filter((row) => row.id === turn.id),
    ...kill.rows.deliveries.filter((row) => row.ref === turn.id),
  ];
  return open.length > 0 && open.every((row) => row.parts?.includes(message.id) !== true);
}

/** A text names its question; a first send may contain too little of it and then belongs to the turn the kill struck. */
function isOf({ text }: ShownMessage, turn: TurnRow, kill: KillEvidence | undefined): boolean {
  const id = /\b(s\d+#\d+)/.exec(text)?.[1];
  if (id !== undefined) return readQuestion(turn.question)?.id === id;
  return kill?.rows.turns.some((row) => row.id === turn.id && row.state === 'running') === true;
}

/** A reader that followed a turn to its end has read exactly the stored answer, and its end once. */
export function judgeStreams({ streams, final }: Evidence): string[] {
  const turns = new Map(final.turns.map((turn) => [turn.id, turn]));
  return streams.flatMap((reader) =>
    [...reader].flatMap(([turnId, { texts, ends }]) => {
      const turn = turns.get(turnId);
      if (turn === undefined || ends === 0) return [];
      const read = plain([...texts.values()].join('\n'));
      const stored = plain(turn.answers.at(-1) ?? '');
      return [
        ...(ends > 1 ? [`${turn.question}: a reader saw its end ${ends} times`] : []),
        ...((turn.reason === 'completed' || isFailed(turn)) && read !== stored
          ? [`${turn.question}: a reader saw "${read}" in place of "${stored}"`]
          : []),
      ];
    }),
  );
}

/** Joined texts of several model calls differ between a stream and the stored answer only in white space. */
function plain(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim();
}
