/** Judges a run with questions by what the people in private chats saw: asked once, answered once, nothing left open. */
import type { Verdict } from '../judge/checker.ts';
import { type ShownCard, type Way, wayOf } from './chats.ts';

/** A person's chat. */
export interface ChatEvidence {
  chat: string;
  shown: readonly ShownCard[];
}

export interface AskEvidence {
  /** Names of the messages whose turn asks another person. */
  wanted: readonly string[];
  answered: ReadonlyMap<string, Way>;
  friends: readonly ChatEvidence[];
  owners: readonly ChatEvidence[];
  worker: ChatEvidence;
  /** Subagents that were asked for. */
  cards: number;
  /** The results of the calls that asked, as the model read them. */
  results: readonly string[];
  /** `performance.now()` of each kill. */
  deaths: readonly number[];
}

/** A kill this soon after a send may have come before its reply was read and its id stored, on a busy machine, in milliseconds. */
const STRUCK_MS = 1_000;
/** The time of a kill is measured this exactly, in milliseconds. */
const EXACT_MS = 50;

type Judged = Pick<Verdict, 'lost' | 'storedTwice' | 'seenTwice' | 'ambiguous'>;

/** Each question is on one screen once, without buttons in the end, and its answer was read once; no card is left open. */
export function judgeAsks(evidence: AskEvidence): Judged {
  const all = [
    judgeAnswers(evidence),
    ...evidence.wanted.map((name) => judgeQuestion(evidence, name)),
    ...evidence.owners.map((chat) => judgeOwner(evidence, chat)),
    judgeWorker(evidence),
    ...[...evidence.friends, ...evidence.owners, evidence.worker].map((chat) => judgeOpen(evidence, chat)),
  ];
  const of = (kind: keyof Judged): string[] => all.flatMap((one) => one[kind] ?? []);
  return {
    lost: of('lost'),
    storedTwice: of('storedTwice'),
    seenTwice: of('seenTwice'),
    ambiguous: of('ambiguous'),
  };
}

/** What a person has answered is the result of one call, and no one read that it was not passed on. */
function judgeAnswers({ answered, results, friends }: AskEvidence): Partial<Judged> {
  const lost: string[] = [];
  const storedTwice: string[] = [];
  for (const [name, way] of answered) {
    if (way === 'refuse') continue;
    const reads = results.filter((text) => text.includes(`Answer to ${name}.`)).length;
    if (reads === 0) lost.push(`${name}: the answer was not read`);
    if (reads > 1) storedTwice.push(`${name}: the answer was read ${reads} times`);
  }
  for (const { chat, shown } of friends)
    for (const { text } of shown)
      if (text.includes('Nothing was passed on')) lost.push(`${chat} read: ${text.slice(0, 80)}`);
  return { lost, storedTwice };
}

function judgeQuestion(evidence: AskEvidence, name: string): Partial<Judged> {
  const copies = evidence.friends.flatMap((chat) =>
    chat.shown.filter(({ text }) => text.includes(`has me ask you`) && text.includes(`Asked for ${name}:`)),
  );
  if (copies.length === 0) return { lost: [`${name}: nobody was asked`] };
  const end = wayOf(name) === 'refuse' ? 'You did not want to answer.' : 'You have answered.';
  const lost = copies.some(({ text }) => text.includes(end)) ? [] : [`${name}: its question has not ended`];
  return { lost, ...copiesOf(evidence, `${name}: its question`, copies) };
}

/** Requests that nobody had answered reach each owner once. */
function judgeOwner(evidence: AskEvidence, chat: ChatEvidence): Partial<Judged> {
  const requests = chat.shown.filter(({ text }) => /^(May I do this|Approved|Denied|Not run)/.test(text));
  const byCall = Map.groupBy(
    requests,
    ({ text }) => /"(?:word|question)": "([^"]*)"/.exec(text)?.[1] ?? text,
  );
  const judged = [...byCall].map(([call, same]) =>
    copiesOf(evidence, `${chat.chat}: the request about ${call}`, same),
  );
  return {
    seenTwice: judged.flatMap(({ seenTwice }) => seenTwice ?? []),
    ambiguous: judged.flatMap(({ ambiguous }) => ambiguous ?? []),
  };
}

/** One card for each subagent, which has ended: a second one whose send a kill left unanswered stays as it is. */
function judgeWorker(evidence: AskEvidence): Partial<Judged> {
  const { worker, cards, deaths } = evidence;
  const shown = worker.shown.filter(({ text }) => text.startsWith('◆'));
  const judged = Array.from({ length: cards }, (_, at): Partial<Judged> => {
    const own = shown.filter(({ text }) => text.includes(`Look after s90#${at} `));
    if (own.length === 0) return { lost: [`the subagent of s90#${at} has no card`] };
    return copiesOf(evidence, `the card of s90#${at}`, own);
  });
  const hasEnded = (task: string): boolean =>
    shown.some(({ text }) => text.endsWith(task) && !text.includes('is working'));
  const open = shown.filter(({ sentAt, text }) => {
    const isCopy = isStruck(deaths, sentAt) && hasEnded(/: .*/.exec(text)?.[0] ?? '');
    return text.includes('is working') && !isCopy;
  });
  return {
    lost: [...judged.flatMap(({ lost }) => lost ?? []), ...open.map(({ text }) => `left open: ${text}`)],
    seenTwice: judged.flatMap(({ seenTwice }) => seenTwice ?? []),
    ambiguous: judged.flatMap(({ ambiguous }) => ambiguous ?? []),
  };
}

/** Nothing waits for a press once everything is done, but for copies whose sends a kill left unanswered: no one knows of those. */
function judgeOpen({ deaths }: AskEvidence, { chat, shown }: ChatEvidence): Partial<Judged> {
  const open = shown.filter(({ sentAt, buttons }) => buttons > 0 && !isStruck(deaths, sentAt));
  return { lost: open.map(({ text }) => `${chat}: left open: ${text.slice(0, 80)}`) };
}

/** True if a kill may have taken the reply to a message that was sent then. */
function isStruck(deaths: readonly number[], at: number): boolean {
  return deaths.some((death) => at > death - STRUCK_MS && at < death + EXACT_MS);
}

/** A second copy counts, unless a kill may have taken the reply to the first send of one. */
function copiesOf({ deaths }: AskEvidence, what: string, copies: readonly ShownCard[]): Partial<Judged> {
  if (copies.length < 2) return {};
  const struck = copies.filter(({ sentAt }) => isStruck(deaths, sentAt));
  const line = `${what} is shown ${copies.length} times`;
  return struck.length >= copies.length - 1 ? { ambiguous: [line] } : { seenTwice: [line] };
}
