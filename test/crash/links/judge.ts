/** Judges a run with linked chats by their screens and the tables: on each, nothing is lost, duplicated or reordered. */
import { surfaceRef } from '../../../src/protocol/sessions/surfaces.ts';
import type { ShownMessage, Verdict } from '../judge/checker.ts';
import { readQuestion, type TextRef, wholeAnswer } from '../script.ts';
import type { SharedTurn } from './rows.ts';

/** A time in which a chat certainly shared a session: from when the tables said so until it was told to leave. */
export interface Membership {
  address: `${string}:${string}`;
  session: string;
  from: number;
  until: number;
}

export interface LinkEvidence {
  /** What was sent, with the address of its chat, in sending order. */
  said: readonly (TextRef & { address: string })[];
  refused: readonly string[];
  turns: readonly SharedTurn[];
  /** Platform ids by ref. */
  parts: ReadonlyMap<string, readonly string[]>;
  /** The bot's messages by address, as each screen shows them. */
  screens: ReadonlyMap<string, readonly ShownMessage[]>;
  members: readonly Membership[];
  /** By address: ids of messages that appeared right before a kill. */
  struck: ReadonlyMap<string, ReadonlySet<string>>;
}

type Judged = Pick<Verdict, 'lost' | 'reordered' | 'storedTwice' | 'seenTwice' | 'ambiguous' | 'failed'>;

/** Returns every violation; `ambiguous` is not one. */
export function judgeLinks(evidence: LinkEvidence): Judged {
  const turns = Map.groupBy(evidence.turns, ({ question }) => readQuestion(question)?.id ?? '');
  const { seenTwice, ambiguous } = doubled(evidence);
  return {
    lost: [
      ...evidence.refused,
      ...evidence.said.flatMap((said) => lossOf(said, turns.get(said.id), evidence)),
    ],
    reordered: [...reorderedOnScreens(evidence), ...reorderedInSaying(evidence, turns)],
    storedTwice: evidence.said.flatMap(({ id }) => {
      const same = turns.get(id) ?? [];
      const answers = same.flatMap((turn) => turn.answers);
      return same.length > 1 || answers.length > 1
        ? [`${id}: ${same.length} turns, ${answers.length} answers`]
        : [];
    }),
    seenTwice,
    ambiguous,
    failed: evidence.turns.flatMap(({ question, reason, answers }) =>
      reason === 'completed' || reason === null
        ? []
        : [`${question}: ${reason}, told: ${answers.at(-1) ?? 'nothing'}`],
    ),
  };
}

function lossOf(
  { id, text, address }: TextRef & { address: string },
  turns: readonly SharedTurn[] | undefined,
  evidence: LinkEvidence,
): string[] {
  const [turn] = turns ?? [];
  const question = readQuestion(text);
  if (turn === undefined || question === undefined) return [`${id}: no turn`];
  if (turn.state !== 'done') return [`${id}: ${turn.state}`];
  if (turn.reason !== 'completed') return [];
  const whole = wholeAnswer(question).trim();
  if (turn.answers.at(-1)?.trim() !== whole)
    return [`${id}: answered with other words: ${turn.answers.join()}`];
  if (turn.address !== address) return [`${id}: asked in ${address}, taken as of ${turn.address}`];
  return [
    ...missing(evidence, turn.address, turn.id, whole).map((why) => `${id}: ${why}`),
    ...others(evidence, turn)
      .flatMap((other) => [
        ...missing(evidence, other, surfaceRef(turn.id, other), whole),
        ...missing(evidence, other, `${turn.id}:asked@${other}`, `Question ${id}`),
      ])
      .map((why) => `${id}: ${why}`),
  ];
}

/** The chats that certainly shared the session during the whole turn. */
function others(
  { members }: LinkEvidence,
  { session, address, createdAt, endedAt }: SharedTurn,
): Membership['address'][] {
  return members
    .filter((member) => member.session === session && member.address !== address)
    .filter(({ from, until }) => from <= createdAt && (endedAt ?? Infinity) <= until)
    .map((member) => member.address);
}

function missing({ screens, parts }: LinkEvidence, address: string, ref: string, wanted: string): string[] {
  const screen = screens.get(address);
  // Over HTTP the stored message is the delivery.
  if (screen === undefined) return [];
  const ids = new Set(parts.get(ref) ?? []);
  const text = screen
    .filter((message) => ids.has(message.id))
    .map((message) => message.text)
    .join('\n')
    .trim();
  return text === wanted || (wanted.startsWith('Question') && text.includes(wanted))
    ? []
    : [`not in ${address}: "${text}"`];
}

/**
 * On a screen each answer and each question appear once; what appeared right before a kill may be a send whose reply
 * it took.
 */
function doubled({ screens, parts, turns, struck }: LinkEvidence): Pick<Judged, 'seenTwice' | 'ambiguous'> {
  const seenTwice: string[] = [];
  const ambiguous: string[] = [];
  for (const [address, messages] of screens) {
    // Ids are unique per chat only: another chat can have the same.
    const own = turns.flatMap((turn) => (turn.address === address ? (parts.get(turn.id) ?? []) : []));
    const shared = [...parts].flatMap(([ref, ids]) => (ref.endsWith(`@${address}`) ? ids : []));
    const stored = new Set([...own, ...shared]);
    for (const kind of [/answer to (s\d+#\d+):/, /Question (s\d+#\d+) tools=/]) {
      const about = Map.groupBy(messages, ({ text }) => kind.exec(text)?.[1] ?? '');
      about.delete('');
      for (const [id, same] of about) {
        const extra = same.filter((message) => !stored.has(message.id));
        const kept = same.length - extra.length;
        for (const message of extra) {
          const line = `${address} shows ${id} again: ${message.text}`;
          if (struck.get(address)?.has(message.id) === true) ambiguous.push(line);
          else seenTwice.push(line);
        }
        if (kept > 1)
          seenTwice.push(`${address} shows ${id} ${kept} times: ${same.map(({ text }) => text).join(' | ')}`);
      }
    }
  }
  return { seenTwice, ambiguous };
}

/**
 * On each screen the answers of a session are in the order of its turns: as displayed, because ids of some platforms
 * are unordered texts.
 */
function reorderedOnScreens({ screens, parts, turns }: LinkEvidence): string[] {
  return [...screens].flatMap(([address, messages]) => {
    const places = new Map(messages.map(({ id }, at) => [id, at]));
    return [...Map.groupBy(turns, ({ session }) => session).values()].flatMap((inSession) => {
      let last = -1;
      return inSession.flatMap(({ id, address: asked, question }) => {
        const [first = ''] = parts.get(asked === address ? id : `${id}@${address}`) ?? [];
        const at = places.get(first);
        // What is not on the screen is reported as lost.
        if (at === undefined) return [];
        const isEarlier = at < last;
        last = Math.max(last, at);
        return isEarlier ? [`${address}: ${question} is answered above an earlier one`] : [];
      });
    });
  });
}

/** What a chat sent in one session is answered in sending order. */
function reorderedInSaying({ said }: LinkEvidence, turns: ReadonlyMap<string, SharedTurn[]>): string[] {
  return [...Map.groupBy(said, ({ address }) => address).values()].flatMap((own) => {
    const newest = new Map<string, number>();
    return own.flatMap(({ id }) => {
      const [turn] = turns.get(id) ?? [];
      if (turn === undefined) return [];
      const before = newest.get(turn.session) ?? -1;
      newest.set(turn.session, Math.max(before, turn.laneSeq));
      return turn.laneSeq < before ? [`${id}: taken before what was said earlier`] : [];
    });
  });
}
