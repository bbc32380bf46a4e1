/** Words that the code, its tests and its documents do not use, because the field has a term; and the few words of Parley's own. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { listFiles, ROOT } from './imports.ts';

/** The words of our own. Each is explained once, in the glossary of docs/architecture.md. */
export const OWN_WORDS = [
  'lane',
  'head',
  'epoch',
  'fence',
  'sweep',
  'journal',
  'surface',
  'placeholder',
  'taint',
  'park',
  'steer',
  'stop mark',
  'nudge',
] as const;
/** Terms of the field on which everything else is built: in the glossary, too. */
export const FIELD_TERMS = ['turn', 'iteration', 'dead letter'] as const;
export const MAX_OWN_WORDS = 15;

interface Banned {
  /** Matches one word, or several with single spaces between them; identifiers are split into their words first. */
  words: RegExp;
  /** What to write. */
  instead: string;
  /** Where the word means just what it says: the path of a file, or what stands in the line. */
  allowed?: { files?: RegExp; lines?: RegExp };
}

const BANNED: readonly Banned[] = [
  { words: /house(s|hold)?/, instead: 'gateway, Parley' },
  { words: /doors?|doorkeepers?/, instead: 'channel, endpoint, caller' },
  { words: /gatekeepers?|keepers?/, instead: 'access policy' },
  { words: /ground/, instead: 'store, services' },
  { words: /minds?/, instead: 'agent' },
  { words: /roof/, instead: 'composition root' },
  {
    words: /rooms|room s/,
    instead: 'modules',
    // The chats of Matrix.
    allowed: { files: /(^|\/)matrix/, lines: /matrix|\brooms\.\w/i },
  },
  { words: /crews?/, instead: 'worker pool' },
  { words: /crowd(s|ed)?/, instead: 'many, full, slots' },
  { words: /pulses?/, instead: 'ticker, heartbeat' },
  { words: /sights?/, instead: 'event, view' },
  { words: /mend(s|ed|ing)?/, instead: 'repair, fix, correct' },
  { words: /untold/, instead: 'unreported' },
  { words: /errands?/, instead: 'task' },
  { words: /seats?/, instead: 'participant' },
  { words: /cast/, instead: 'scripted provider' },
  {
    words: /worlds?/,
    instead: 'scenario, fixture',
    // The protocol of MCP has the other one.
    allowed: { lines: /(Hello|dear|the|') \**world|openWorldHint/ },
  },
  {
    words: /bubbles?/,
    instead: 'message',
    // On the page a bubble is the shape around a person's message.
    allowed: { files: /^channels\/http\/page\//, lines: /'\.bubble|bubbles: true/ },
  },
  { words: /faults?/, instead: 'error, failure' },
  { words: /bury|buries|buried/, instead: 'dead letter' },
  {
    words: /whisper(s|ed)?/,
    instead: 'system note',
    // Names of speech-to-text models and of a server.
    allowed: { lines: /whisper-1|whisper\.cpp|faster-whisper/ },
  },
  {
    words: /words of (others|strangers|a stranger|the gateway|this chat)/,
    instead: 'text of, what … wrote',
    allowed: { lines: /words of (our|its|Parley's) own/ },
  },
  { words: /carriers?/, instead: 'runner' },
  { words: /patien(ce|tly)/, instead: 'timeout, retry' },
  { words: /believed?/, instead: 'cached, trusted' },
  {
    words: /standings?/,
    instead: 'creator access, visibility',
    allowed: { lines: /\bstanding approval/i },
  },
  {
    words: /announce/,
    instead: 'sendSystemMessage, emit',
    // With an object it says what of, and "Buttons announce it" is plain English.
    allowed: { lines: /announce[A-Z]|\bannounce [a-z]/ },
  },
  {
    words: /wish(es|ed)?/,
    instead: 'request, options',
    allowed: { lines: /as you wish|Wish a happy new year|where that is wished/ },
  },
  {
    words: /carry out/,
    instead: 'apply, run',
    // Only as a name, and the model's tool has kept its own.
    allowed: { lines: /\bcarry out\b|carry_out_plan/i },
  },
  { words: /surroundings/, instead: 'context, environment' },
  {
    words: /told/,
    instead: 'reported, notified',
    // Only in a name.
    allowed: {
      lines: /^(?!.*([Tt]old[A-Z]|[a-z]Told\b|TOLD_|_TOLD|told-[a-z]|\b(const|type|interface|class) Told\b))/,
    },
  },
  { words: /side costs?/, instead: 'usage' },
  { words: /resting/, instead: 'cooling down, pause' },
  {
    words: /hand over/,
    instead: 'start, pass',
    // Only as a name.
    allowed: { lines: /\bhand[ _]over\b/i },
  },
  { words: /last rites|half dead/, instead: 'a plain sentence' },
  {
    words: /(?<!system )nudges?/,
    instead: 'sweep',
    allowed: { files: /prompt\/nudges|^docs\//, lines: /prompt\/nudges/ },
  },
  {
    words: /signs/,
    instead: 'reactions, emoji, markers',
    // Only in a name: a server signs people in, a sender signs what it posts.
    allowed: {
      lines:
        /^(?!.*([a-z]Signs|Signs[A-Z]|\bsigns[A-Z]|SIGNS|[-/#]signs\b|\b(const|new|type|interface|class) [Ss]igns\b))/,
    },
  },
  {
    words:
      /(status|single|question) signs?|is sign(?! (ins?|outs?) )|signs? (at|on) ((a|the|its|their) )?questions?/,
    instead: 'reaction',
  },
  {
    words:
      /words (below|for)|(escape|model|now|personal|channel|health|link|chip|step|todo|greeting|waiting) words/,
    instead: 'text, message, label',
    // Only in a name.
    allowed: { lines: /^(?!.*([a-z]Words|\bwords[A-Z]|[a-z]-words\b|_WORDS))/ },
  },
];

/** The files people read: sources, tests, documents, and what starts and builds the rest. */
const READ =
  /^(src|channels|test|docs)\/.*\.(ts|js|json|css|html|md)$|^[A-Z]+\.md$|^\.ci\/run$|^package\.json$|^Docker|^docker/;

/** Every use of a banned word in the repository, as `path:line: "word", write …`. */
export function bannedWords(): string[] {
  return listFiles()
    .filter((file) => READ.test(file) && !file.startsWith('test/architecture/vocabulary.'))
    .flatMap((file) => bannedWordsIn(file, readFileSync(path.join(ROOT, file), 'utf8')));
}

/** Every use of a banned word in one file, its path included. */
export function bannedWordsIn(file: string, text: string): string[] {
  const lines = [file, ...text.split('\n')];
  return lines.flatMap((line, number) => {
    const words = wordsOf(line);
    return BANNED.filter(
      ({ allowed }) => !(allowed?.files?.test(file) || allowed?.lines?.test(line)),
    ).flatMap(({ words: banned, instead }) => {
      const found = new RegExp(`(?<= )(${banned.source})(?= )`).exec(words)?.[0];
      return found === undefined ? [] : [`${file}:${number}: "${found}", write ${instead}`];
    });
  });
}

/** The words of a line in small letters between single spaces: `GROUP_OF isRunning` is ` group of is running `. */
function wordsOf(line: string): string {
  const parts = line.replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2').replaceAll(/([A-Z])([A-Z][a-z])/g, '$1 $2');
  return ` ${parts.replaceAll(/[^A-Za-z]+/g, ' ').toLowerCase()} `;
}
